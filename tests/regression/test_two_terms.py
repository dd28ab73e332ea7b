import numpy as np
import pytest

from arithmos.regression.ladder import divided, shifted, whole
from arithmos.regression.peel import differences_of
from arithmos.regression.pool import Pool
from arithmos.regression.power_laws import power_law
from arithmos.regression.terms import Column, TermSum, used
from arithmos.regression.two_terms import two_terms

RNG = np.random.default_rng(0)
LOW, HIGH = [1, 1, 2, 0.1, 0.5], [2, 5, 6, 0.5, 3]


def pool_of(function, noise=0.0):
    x = RNG.uniform(LOW, HIGH, (300, 5))
    y = function(*x.T)
    return Pool(x, y + noise * y.std() * RNG.normal(size=300), np.ones(300), np.inf)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b, c, d, e: a * b / (c - d) - e / c**2,
        lambda a, b, c, d, e: 2.5 * a / np.sqrt(b + c) + 0.3 * e * c,
        lambda a, b, c, d, e: b**3 - 4 * d / e,
    ],
    ids=["gas", "root", "monomials"],
)
def test_finds_sums_of_two_terms(function):
    pool = pool_of(function)
    two_terms(pool, whole(pool, range(5)))
    assert pool.residual < 1e-12


def test_finds_sums_of_two_terms_in_noise():
    pool = pool_of(lambda a, b, c, d, e: a * b / (c - d) - e / c**2, noise=0.01)
    two_terms(pool, whole(pool, range(5)))
    assert used(pool.best.node) == {0, 1, 2, 3, 4}
    assert pool.best.complexity <= 10


def test_large_values_give_no_warning():
    x = RNG.uniform(1e90, 1e100, (50, 3))
    pool = Pool(x, x[:, 0] + x[:, 1], np.ones(50), np.inf)
    two_terms(pool, whole(pool, range(3)))


def test_a_difference_has_the_sign_of_the_target():
    pool = pool_of(lambda a, b, c, d, e: (b - c) / np.sqrt(a + d * e), noise=0.01)
    (node,) = differences_of(pool, (0, 1, 2, 3, 4), most=1)
    assert node == TermSum((1.0, -1.0), (Column(1), Column(2)))
    rest = divided(pool, whole(pool, range(5)), node, used(node))
    assert rest.columns == (0, 3, 4)


def test_a_law_beside_a_one():
    pool = pool_of(lambda a, b, c, d, e: (a / b) ** (1 / 3) - 1)
    power_law(pool, shifted(whole(pool, range(5)), -1.0), most=0)
    assert pool.residual < 1e-12
