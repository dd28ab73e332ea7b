import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arithmos.tasks import Rows

RNG = np.random.default_rng(0)


def _rows(n=50, **options):
    x = RNG.uniform(1, 2, (n, 3)).astype(np.float32)
    return Rows(x, x[:, 0] * x[:, 1], **options)


@given(st.integers(3, 200), st.floats(0.01, 0.4), st.floats(0.01, 0.4))
def test_every_row_goes_to_one_part(n, validation_share, test_share):
    assume(max(1, round(validation_share * n)) + max(1, round(test_share * n)) < n)
    x = np.arange(n, dtype=np.float32)[:, None]
    rows = Rows(x, x, validation_share=validation_share, test_share=test_share)
    parts = [part[0][:, 0] for part in (rows.training(), rows.validation(0), rows.test(0))]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), x[:, 0])
    assert len(parts[1]) == max(1, round(validation_share * n))


def test_batches_take_training_rows_evenly_and_by_seed_and_step_alone():
    rows = _rows()
    chosen = np.concatenate([rows.indices(3, step, 128) for step in range(200)])
    counts = np.bincount(chosen, minlength=len(rows.training()[0]))
    expected = len(chosen) / len(counts)
    assert ((counts - expected) ** 2 / expected).sum() < 29 + 4.5 * np.sqrt(2 * 29)  # chi-squared, 29 degrees
    x, t = rows.batch(3, 7, 128)
    np.testing.assert_array_equal(x, rows.training()[0][rows.indices(3, 7, 128)])
    np.testing.assert_allclose(t[:, 0], x[:, 0] * x[:, 1])
    assert (rows.indices(4, 7, 128) != rows.indices(3, 7, 128)).any()


def test_digest_knows_the_data():
    x = np.ones((5, 2), np.float32)
    digests = {
        Rows(x, x[:, 0]).digest,
        Rows(x * 2, x[:, 0]).digest,
        Rows(x, x[:, 0] * 2).digest,
        Rows(x, x).digest,
        Rows(x, x[:, 0], test=(x, x[:, 0])).digest,
    }
    assert len(digests) == 5
    assert Rows(x.tolist(), x[:, 0].tolist()).digest == Rows(x, x[:, 0]).digest


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**64 - 1])
def test_integers_that_float64_does_not_hold_are_refused(number):
    with pytest.raises(ValueError, match=rf"inputs must have integers within ±2\^53, .* got {number}$"):
        Rows([[number], [0], [1]], [1, 2, 3])
    assert Rows([[2**53], [-(2**53)], [1]], [1, 2, 3]).input_size == 1


def test_own_test_set_is_kept_whole():
    x = np.ones((5, 2), np.float32)
    rows = Rows(x, x[:, 0], test=(x * 3, x[:, 1]))
    np.testing.assert_array_equal(rows.test(0)[0], x * 3)
    assert len(rows.training()[0]) == 4


@pytest.mark.parametrize(
    ("inputs", "targets", "options", "message"),
    [
        ([[1, 2], [3, 4]], [1, 2], {}, "inputs must have a training row .*got 2 rows"),
        ([[1, 2]] * 5, [1] * 4, {}, "inputs and targets must have as many rows, got 5 and 4"),
        ([[1, np.nan]] * 5, [1] * 5, {}, "inputs must be finite, got nan in row 0, column 1"),
        ([[1, 2]] * 5, [1, 1, np.inf, 1, 1], {}, "targets must be finite, got inf in row 2, column 0"),
        ([1, 2, 3], [1, 2, 3], {}, r"inputs must be a table .*got shape \(3,\)"),
        (
            [[1, 2]] * 5,
            [1] * 5,
            {"validation_share": 0},
            "validation_share must be above 0 and below 1, got 0",
        ),
        ([[1, 2]] * 5, [1] * 5, {"test": ([[1]], [1])}, "test must have 2 columns, as the data has, got 1"),
    ],
)
def test_bad_data_is_refused_by_name(inputs, targets, options, message):
    with pytest.raises(ValueError, match=message):
        Rows(inputs, targets, **options)
