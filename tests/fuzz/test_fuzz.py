"""A few cases of every target in every test run; all of them where there is time, and in `benchmarks/fuzz.py`."""

import pytest

from . import Target, fuzz
from .targets import TARGETS

FEW = {
    "spec": 400,
    "experiment_file": 200,
    "data_file": 100,
    "measured_file": 100,
    "digits_file": 200,
    "unit_file": 100,
    "command_line": 25,
    "store_part": 8,
    "weights_file": 200,
    "formula": 500,
    "paper_folder": 60,
    "traced_unit": 12,
    "second_order_spec": 40,
    "training_data": 25,
    "fitted_file": 6,
}


def tell(record_property, target: Target, outcomes) -> None:
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    record_property("fuzzed", f"{target.__name__}: {counts}")


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_what_comes_in_is_right_or_refused_by_name(target, tmp_path, record_property):
    outcomes = fuzz(target, tmp_path, range(FEW[target.__name__]))
    tell(record_property, target, outcomes)
    assert set(outcomes) == {"accepted", "refused"}


@pytest.mark.slow
@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_all_that_comes_in(target, tmp_path, record_property):
    tell(record_property, target, fuzz(target, tmp_path, range(TARGETS[target])))
