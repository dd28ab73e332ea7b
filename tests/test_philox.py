import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arithmos import philox

ONES = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)

# The known answers that come with Random123.
KNOWN = [
    (7, (0, 0, 0, 0), (0, 0), "5f6fb709 0d893f64 4f121f81 4f730a48"),
    (7, (ONES,) * 4, (ONES,) * 2, "5207ddc2 45165e59 4d8ee751 8c52f662"),
    (7, PI, (0xA4093822, 0x299F31D0), "4dfccaba 190a87f0 c47362ba b6b5242a"),
    (10, (0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (10, (ONES,) * 4, (ONES,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (10, PI, (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


@pytest.mark.parametrize(("rounds", "counter", "key", "answer"), KNOWN)
def test_known_answers(rounds, counter, key, answer):
    words = philox.philox(np.array(counter, np.uint32), key, rounds)
    assert " ".join(f"{word:08x}" for word in words) == answer


@given(st.integers(0, ONES), st.integers(0, 4), st.integers(0, ONES), st.integers(1, 9), st.integers(1, 9))
def test_a_word_depends_on_its_place_alone(seed, stream, step, rows, columns):
    words = philox.words((seed, philox.RUN), stream, step, rows, columns)
    assert words.shape == (rows, columns)
    more = philox.words((seed, philox.RUN), stream, step, rows + 3, columns + 5)
    np.testing.assert_array_equal(words, more[:rows, :columns])
    counter = np.array([rows - 1, (columns - 1) // 4, step, stream], np.uint32)
    assert words[-1, -1] == philox.philox(counter, (seed, philox.RUN))[(columns - 1) % 4]


def test_numbers_fill_their_range_and_no_more():
    words = philox.words((3, philox.RUN), philox.TRAIN, 0, 20_000, 5)
    for low, high in [(1.0, 2.0), (-2.0, 2.0), (0.1, 0.2), (1.1, 1.2), (10.0, 20.0)]:
        x = philox.uniform(words, ((low, high),))
        assert x.dtype == np.float32
        assert np.float32(low) <= x.min() <= low + 0.001 * (high - low)
        assert high - 0.001 * (high - low) <= x.max() <= np.float32(high)
        z = (x.mean() - (low + high) / 2) / ((high - low) / np.sqrt(12 * x.size))
        assert abs(z) < 4.5


def test_two_parts_are_taken_equally_often_and_independently_of_the_place_within():
    words = philox.words((5, philox.RUN), philox.TRAIN, 1, 20_000, 5)
    x = philox.uniform(words, ((-6.0, -2.0), (2.0, 6.0)))
    assert ((np.abs(x) >= 2) & (np.abs(x) <= 6)).all()
    assert abs((x < 0).mean() - 0.5) < 4.5 * 0.5 / np.sqrt(x.size)
    assert abs(np.corrcoef(np.sign(x).ravel(), np.abs(x).ravel())[0, 1]) < 4.5 / np.sqrt(x.size)


def test_one_rounding_as_a_fused_multiply_add_has_it():
    words = philox.words((7, philox.RUN), philox.TRAIN, 2, 500, 4)
    low, high = np.float32(0.1), np.float32(0.2)
    u = (words >> 9).astype(np.longdouble) / 2**23
    exact = np.longdouble(low) + np.longdouble(high - low) * u
    np.testing.assert_array_equal(philox.uniform(words, ((0.1, 0.2),)), exact.astype(np.float32))
