"""Figures of Madsen & Johansen (2020) that need no training."""

from functools import partial

from ... import theory
from ..surface import Axis, Surface

SURFACES = (
    Surface(
        name="loss-surface",
        item="Figure: loss curvature",
        title="Squared error of NAC₊ → NAC• with one weight per layer, for three values of ε",
        x=Axis("w₁", -1.0, 1.0, 41),
        y=Axis("w₂", -1.0, 1.0, 41),
        label="Squared error",
        panels=tuple(
            (f"ε = {text}", partial(theory.loss_surface, epsilon=float(text))) for text in ("1e-7", "0.1", "1")
        ),
        levels=(10.0, 50.0, 100.0, 150.0, 250.0, 500.0),
        limit=500.0,
    ),
    Surface(
        name="expectation-error",
        item="Figure: expectation error (appendix)",
        title="Difference between the expansion of E[z] for NAC• and the expectation",
        x=Axis("r_w", 0.001, 0.496, 46),
        y=Axis("r_z", 1.0, 50.0, 50),
        label="Error",
        panels=(("", theory.nac_mul_expectation_error_limit),),
        levels=tuple(round(0.01 * step, 2) for step in range(-7, 1)),
    ),
)
"""Surfaces in the order of the paper."""
