import mpmath
import numpy as np
import pytest

from arithmos.statistics._stirling import digamma_rest, log_gamma_rest


@pytest.mark.parametrize("z", [*np.logspace(-6, 18, 49), 19.999999, 20.0])
def test_rests_against_sixty_digits(z):
    with mpmath.workdps(60):
        x = mpmath.mpf(float(z))
        rest, slope = mpmath.loggamma(x) - x * mpmath.log(x) + x, mpmath.log(x) - mpmath.digamma(x)
        assert log_gamma_rest(z) == pytest.approx(float(rest), rel=1e-13, abs=1e-13)
        assert digamma_rest(z) == pytest.approx(float(slope), rel=1e-13, abs=1e-14 if z < 20 else 0)
