"""Samples against moments: mean and variance may differ by so many standard errors and no more."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from arithmos.theory import Moments

Z_BOUND = 4.5  # a right formula fails once in 150,000 comparisons, and the seeds are fixed

AssertSampled = Callable[[NDArray[np.float64], Moments], None]


@pytest.fixture
def assert_sampled() -> AssertSampled:
    return _assert_sampled


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20200116)


def _assert_sampled(samples: NDArray[np.float64], expected: Moments) -> None:
    n, mean = len(samples), samples.mean()
    squares = (samples - mean) ** 2
    variance = squares.mean()
    mean_z = (mean - expected.mean) / np.sqrt(variance / n)
    variance_z = (variance - expected.variance) / np.sqrt(squares.var() / n)
    assert max(abs(mean_z), abs(variance_z)) < Z_BOUND, (
        f"sampled {Moments(float(mean), float(variance))} is {mean_z:.1f} and {variance_z:.1f} "
        f"standard errors from {expected}"
    )
