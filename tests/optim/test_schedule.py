import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arithmos


class TestSparsitySchedule:
    @given(st.floats(0, 100), st.integers(0, 1000), st.integers(1, 1000), st.integers(0, 3000))
    def test_is_a_clipped_line(self, strength, start, length, step):
        schedule = arithmos.SparsitySchedule(strength, start, start + length)
        expected = strength * np.clip((step - start) / length, 0, 1)
        assert schedule(step) == pytest.approx(expected)

    def test_without_length_is_a_step(self):
        schedule = arithmos.SparsitySchedule(2.0, 5, 5)
        assert [schedule(step) for step in (0, 4, 5, 6)] == [0, 0, 2, 2]

    @pytest.mark.parametrize("strength", [-1.0, math.inf, math.nan])
    def test_refuses_a_bad_strength(self, strength):
        with pytest.raises(ValueError, match=f"strength must (be a finite number|not be negative), got {strength}"):
            arithmos.SparsitySchedule(strength, 0, 1)

    @pytest.mark.parametrize(("start", "end"), [(2, 1), (-1, 1), (0, math.inf), (0, math.nan), (math.nan, 1)])
    def test_refuses_a_bad_range(self, start, end):
        with pytest.raises(ValueError, match=f"got start={start}, end={end}|(start|end) must be a finite number"):
            arithmos.SparsitySchedule(1.0, start, end)
