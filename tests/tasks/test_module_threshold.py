"""Thresholds of single modules: the published ones, and a simulation."""

import math

import numpy as np
import pytest

from arithmos.tasks import Arithmetic, module_threshold

RANGES = {
    ((-40.0, -20.0),): (3.66667e-7, 3.48441e-4, 4.66657e-10),
    ((-6.1, -1.2),): (5.72917e-9, 9.39209e-8, 8.37324e-10),
    ((-2.0, -0.2),): (5.38e-10, 8.76151e-10, 1.47997e-9),
    ((-6.0, -2.0), (2.0, 6.0)): (6.66667e-9, 1.20177e-7, 5.77766e-10),
    ((1.2, 6.0),): (5.568e-9, 8.85649e-8, 8.2665e-10),
}
"""Thresholds of sum, product and quotient of two inputs, as published."""


@pytest.mark.parametrize(("range_", "published"), RANGES.items())
def test_published_values(range_, published):
    for operation, value in zip(("add", "mul", "div"), published, strict=True):
        assert module_threshold(operation, 2, range_) == pytest.approx(value, rel=1e-5)
    assert module_threshold("sub", 2, range_) == module_threshold("add", 2, range_)


@pytest.mark.parametrize("operation", ["add", "mul", "div", "squared", "reciprocal", "root"])
@pytest.mark.parametrize("range_", [((2.0, 6.0),), ((-6.0, -2.0), (2.0, 6.0))])
def test_simulation_with_unused_inputs(operation, range_):
    rng, e, n = np.random.default_rng(1), 1e-5, 10
    low, high = np.array(range_).T
    part = rng.integers(0, len(range_), (200_000, n))
    x = low[part] + (high - low)[part] * rng.random((200_000, n))
    a, b, unused = x[:, 0], x[:, 1], np.prod(1 - e * np.abs(x[:, 2:]), axis=1)
    error = {
        "add": e * np.abs(x).sum(axis=1),
        "mul": a * b * ((1 - e) ** 2 * unused - 1),
        "div": a / b * ((1 - e) / (1 + e) * unused - 1),
        "squared": a * a * ((1 - e) ** 2 * unused * (1 - e * np.abs(b)) - 1),
        "reciprocal": 1 / a * (1 / (1 + e) * unused * (1 - e * np.abs(b)) - 1),
        "root": np.sqrt(np.abs(a)) * (np.sqrt(1 - e) * unused * (1 - e * np.abs(b)) - 1),
    }[operation]
    assert module_threshold(operation, n, range_) == pytest.approx(np.mean(error**2), rel=0.02)


def test_a_quotient_by_zero_has_no_threshold():
    assert module_threshold("div", 2, ((-1.0, 1.0),)) == math.inf
    assert module_threshold("reciprocal", 2, ((-1.0, 1.0),)) == math.inf


def test_the_rule_of_a_task():
    two = {"input_size": 2, "subset_ratio": 0.5, "overlap_ratio": 0.0}
    task = Arithmetic(operation="mul", rule="module", **two)
    assert task.criteria == ("epsilon", "absolute")
    assert task.thresholds() == {"epsilon": pytest.approx(1.20177e-7, rel=1e-5), "absolute": 1e-5}
    assert Arithmetic.from_plain(task.plain()) == task
    assert "rule" not in Arithmetic(operation="mul", **two).plain()
    assert Arithmetic(operation="mul", **two) != task


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"input_size": 4},
            r"^rule 'module' is for two subsets of one input each, got lengths \[2, 2\] "
            r"by input_size 4 and subset_ratio 0\.5$",
        ),
        ({"rule": "modul"}, "rule"),
    ],
)
def test_a_rule_that_does_not_fit(change, message):
    task = {"operation": "mul", "rule": "module", "input_size": 2, "subset_ratio": 0.5, "overlap_ratio": 0.0}
    with pytest.raises(ValueError, match=message):
        Arithmetic(**task | change)
