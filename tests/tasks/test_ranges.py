import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arithmos import philox
from arithmos.spec import NO_SCHEDULE, Layer, Model, Spec
from arithmos.tasks import Arithmetic, from_plain
from arithmos.tasks.ranges import CELLS, has_zero, without_zero

SIZES = st.floats(2**-20, 1000, width=32)


def around_zero(range_):
    """Numbers that are drawn from a range near 0: those of some cells to both sides."""
    (low, high), *_ = range_
    first = int(-low / (high - low) * CELLS) - 4
    cells = np.clip(np.arange(first, first + 9), 0, CELLS - 1)
    return philox.uniform((cells << 9).astype(np.uint32), range_)


@given(st.just(0.0) | SIZES, SIZES)
def test_a_range_without_zero_has_no_zero(below, high):
    low = -below
    range_ = ((low, high),)
    assert has_zero(range_) == (0 in around_zero(range_))
    moved = without_zero(range_)
    assert not has_zero(moved)
    assert 0 not in around_zero(moved)
    assert np.allclose(moved, range_, rtol=0, atol=(high - low) / CELLS)


@pytest.mark.parametrize("range_", [((1.0, 2.0),), ((-6.0, -2.0), (2.0, 6.0)), ((-1.0, 2.0),)])
def test_other_ranges_stay_as_they_are(range_):
    assert without_zero(range_) == range_


def quotient(**settings):
    ranges = {"interpolation": ((-2, 2),), "extrapolation": ((-6, -2), (2, 6)), **settings}
    return Arithmetic(operation="div", input_size=2, subset_ratio=0.5, overlap_ratio=0, rule="module", **ranges)


def test_quotients_that_could_meet_zero_have_a_version_of_their_own():
    assert (quotient().version, quotient(interpolation=((1, 2),)).version) == (2, 1)
    assert from_plain(quotient().plain()) == quotient()
    with pytest.raises(ValueError, match="version of the task 'arithmetic' must be 2 in this arithmos, got 1"):
        from_plain({**quotient().plain(), "version": 1})


def test_ids_of_other_specs_are_those_of_before():
    model = Model("NMRU", (Layer("NMRU"),), NO_SCHEDULE)
    ids = [Spec(task=quotient(interpolation=((low, 2),)), model=model).id for low in (1, -2)]
    assert ids[0] == "1f49715ecfed9d40"
    assert ids[1] != "f6c64c7305137027"


def test_no_target_of_a_quotient_is_infinite():
    """The first version drew a divisor of 0 at this place."""
    seed, step, row = 0, 23059, 73
    assert philox.uniform(philox.words((seed, philox.RUN), philox.TRAIN, step, row + 1, 2), ((-2, 2),))[row, 1] == 0
    assert np.isfinite(quotient().batch(seed, step, 128)[1]).all()
