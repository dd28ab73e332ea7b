import numpy as np
import pytest
from scipy import stats

from arithmos.statistics import bootstrap, median_difference
from arithmos.statistics.resample import _resampled_medians


def test_bootstrap_is_scipys_percentile_interval():
    x = np.random.default_rng(0).gamma(2, size=40)
    ours = bootstrap(x, np.mean, rng=np.random.default_rng(1), resamples=50_000)
    assert ours.estimate == x.mean()
    theirs = stats.bootstrap((x,), np.mean, n_resamples=50_000, method="percentile").confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03)


@pytest.mark.parametrize("n", [30, 1_500_000])
def test_one_seed_gives_one_interval(n):
    x = np.random.default_rng(0).random(n)
    one, same, other = (bootstrap(x, np.mean, rng=np.random.default_rng(s), resamples=5) for s in (1, 1, 2))
    assert one == same
    assert one != other


def test_resamples_in_chunks_number_as_asked():
    seen = []

    def count(values, axis):
        seen.append(values.shape)
        return values.mean(axis=axis)

    bootstrap(np.arange(300_000.0), count, rng=np.random.default_rng(0), resamples=8)
    assert seen[:-1] == [(3, 300_000), (3, 300_000), (2, 300_000)]


def test_bootstrap_covers():
    rng = np.random.default_rng(2)
    covered = [1.0 in bootstrap(rng.normal(1, 1, size=60), np.mean, rng=rng, resamples=500) for _ in range(400)]
    assert 0.9 < np.mean(covered) < 0.98


def test_too_few():
    rng = np.random.default_rng(0)
    assert bootstrap([], np.mean, rng=rng).is_empty
    assert bootstrap([3.0], np.mean, rng=rng).estimate == 3
    assert not bootstrap([3.0], np.mean, rng=rng).has_bounds
    assert median_difference([], [1.0], rng=rng).is_empty
    assert median_difference([3.0], [1.0, 2.0], rng=rng).estimate == 1.5
    assert not median_difference([3.0], [1.0, 2.0], rng=rng).has_bounds


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_resampled_medians_are_those_of_resamples(n):
    x = np.arange(n, dtype=float) ** 2
    rng = np.random.default_rng(n)
    ours = _resampled_medians(x, 40_000, rng)
    plain = np.median(rng.choice(x, (40_000, n)), axis=1)
    values = np.unique(np.concatenate([ours, plain]))
    table = [[np.count_nonzero(a == v) for v in values] for a in (ours, plain)]
    assert stats.chi2_contingency(table).pvalue > 0.001


def test_median_difference_names_its_arguments():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="x must hold"):
        median_difference([np.nan], [1.0], rng=rng)
    with pytest.raises(ValueError, match="y must hold"):
        median_difference([1.0], [np.nan], rng=rng)


def test_median_difference_has_one_interval_a_seed_and_widens_with_the_level():
    x, y = np.random.default_rng(0).gamma(2, size=(2, 40))

    def interval(seed, level=0.95):
        return median_difference(x, y, rng=np.random.default_rng(seed), level=level)

    assert interval(1) == interval(1)
    assert interval(1, 0.99).low < interval(1).low < interval(1).estimate < interval(1).high


def test_median_difference_covers():
    rng = np.random.default_rng(3)
    covered = [
        1.0 in median_difference(rng.normal(1, 1, size=61), rng.normal(0, 1, size=80), rng=rng, resamples=1000)
        for _ in range(400)
    ]
    assert 0.91 < np.mean(covered) < 0.985
