"""Why solved-at steps in print are late: a merge that does not keep rows of one key in their order."""

import numpy as np
from tools.merge_order import merged


def test_a_merge_over_several_thresholds_puts_records_out_of_order():
    order = merged(models=4, operations=6, seeds=10, records=101)
    assert np.array_equal(np.sort(order, axis=1), np.broadcast_to(np.arange(101), order.shape))  # none is lost
    assert 0 < (np.diff(order, axis=1) < 0).any(axis=1).sum() < len(order) / 2
    assert order[:, 0].max() > 50  # "the first row below the threshold" of a run may be a late one


def test_with_one_threshold_no_row_moves():
    assert (merged(models=4, operations=1, seeds=60, records=101) == np.arange(101)).all()
