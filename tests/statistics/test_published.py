"""The estimators against the published numbers, on the published runs."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from arithmos.statistics import (
    beta_mean,
    beta_mean_as_released,
    gamma_mean,
    gamma_mean_as_released,
    median,
    wilson,
)

PUBLISHED = Path(__file__).parents[2] / "../shared/paper/published"

pytestmark = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published numbers are not at hand")

CELLS = [("add", "NAC_add"), ("add", "NAU"), ("mul", "NMU"), ("squared", "NAC_mul_sigma"), ("sub", "Linear")]


def rows(name):
    with open(PUBLISHED / name, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module", params=CELLS, ids="/".join)
def cell(request):
    """What the paper's runs give, recomputed; their solved-at steps; their sparsity errors."""
    here = [dict(zip(("operation", "model"), request.param, strict=True))]
    (table,) = [r for r in rows("static_recomputed.csv") if r.items() >= here[0].items()]
    runs = [r for r in rows("estimator_check.csv") if r.items() >= here[0].items() and r["solved"] == "1"]
    return (
        {name: float(value) for name, value in table.items() if name not in here[0] and value},
        np.array([float(r["first_solved_step"]) for r in runs]),
        np.array([float(r["sparsity_error"]) for r in runs]),
    )


def test_counts_medians_and_means(cell):
    table, steps, sparsity = cell
    assert len(steps) == table["k"]
    assert median(steps).estimate == pytest.approx(table["solved_at_median"], rel=5e-5)
    assert median(sparsity).estimate == pytest.approx(table["sparsity_median"], rel=5e-5)
    assert gamma_mean(steps).estimate == pytest.approx(table["solved_at_sample_mean"], rel=5e-5)
    assert sparsity.mean() == pytest.approx(table["sparsity_sample_mean"], rel=5e-5)


def test_solved_at_corrected(cell):
    table, steps, _ = cell
    interval = gamma_mean(steps)
    assert interval.low == pytest.approx(table["solved_at_gamma_lower"], rel=5e-5)
    assert interval.high == pytest.approx(table["solved_at_gamma_upper"], rel=5e-5)


def test_solved_at_as_released(cell):
    table, steps, _ = cell
    interval = gamma_mean_as_released(steps)
    assert interval.estimate == pytest.approx(table["solved_at_mean_as_published_code"], rel=5e-5)
    # The released bounds are read off a spline through some ten points of the profile.
    assert interval.low == pytest.approx(table["lower_as_published_code"], rel=5e-4)
    assert interval.high == pytest.approx(table["upper_as_published_code"], rel=5e-4)


def test_sparsity_corrected_is_the_mean(cell):
    table, _, sparsity = cell
    assert beta_mean(sparsity).estimate == pytest.approx(table["sparsity_sample_mean"], rel=5e-4)


def test_sparsity_as_released(cell):
    table, _, sparsity = cell
    interval = beta_mean_as_released(sparsity)
    # The released optimizer stopped early in v for NAC•,σ, z².
    assert interval.estimate == pytest.approx(table["sparsity_mean_as_published_code"], rel=6e-4)
    assert interval.low == pytest.approx(table["sparsity_lower_as_published_code"], rel=2e-4)
    assert interval.high == pytest.approx(table["sparsity_upper_as_published_code"], rel=2e-4)


def test_all_published_success_intervals_are_wilsons():
    printed = [r for name in ("10param", "static", "all_models", "gate") for r in rows(f"table_{name}.csv")]
    assert len(printed) == 86
    for r in printed:
        n = int(r["n_seeds"])
        interval = wilson(round(float(r["success_rate"]) * n), n)
        # Printed in percent: the rate, and the differences of the bounds from it, each rounded.
        assert interval.estimate == float(r["success_rate"])
        assert math.isclose(interval.low, float(r["success_lower"]), abs_tol=0.005 + 1e-9), r
        assert math.isclose(interval.high, float(r["success_upper"]), abs_tol=0.005 + 1e-9), r


def test_figure_success_intervals_are_wilsons():
    points = [
        r for path in sorted(PUBLISHED.glob("figure_*.csv")) for r in rows(path.name) if r["panel"] == "success_rate"
    ]
    assert points
    for r in points:
        interval = wilson(int(r["k"]), int(r["n"]))
        for ours, theirs in [(interval.estimate, "y"), (interval.low, "lower"), (interval.high, "upper")]:
            assert ours == pytest.approx(float(r[theirs]), abs=1e-4), r
