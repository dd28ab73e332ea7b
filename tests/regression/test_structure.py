import numpy as np
import pytest

from arithmos.regression.structure import structure

RNG = np.random.default_rng(0)


def found(residual, x, columns):
    weight = np.ones(len(x))
    return structure(residual, x, weight, columns, x[:, columns].sum(1))


def test_sees_a_product_of_three_columns():
    x = RNG.uniform(-3, 3, (400, 9))
    residual = x[:, 0] * x[:, 4] * x[:, 8] + RNG.normal(size=400)
    dependence = found(residual, x, [0, 1, 2, 3, 4, 5])
    assert dependence.test == "products"
    assert dependence.columns == (0, 4, 8)


def test_sees_a_square_of_many_columns():
    x = RNG.uniform(1, 2, (300, 40))
    difference = x[:, :6].sum(1) - x[:, 6:12].sum(1)
    assert found(difference**2 / 4 + 0.45 * RNG.normal(size=300), x, [*range(12)]) is not None


@pytest.mark.parametrize("seed", range(20))
def test_noise_has_no_structure(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 2, (200, 12))
    assert found(rng.normal(size=200), x, [*range(12)]) is None


def test_columns_that_occur_in_products_only_are_relevant():
    from arithmos.regression.pool import Pool
    from arithmos.regression.screen import relevant

    x = RNG.uniform(-3, 3, (400, 12))
    a, b, c, d, e, f, g, h, i = x.T[:9]
    y = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    assert sorted(relevant(Pool(x, y, np.ones(400), np.inf))) == [*range(9)]
