r"""Fractional SIR model: the trajectory of a differential equation, whose right-hand side a network is to be.

.. math::

    \dot S = -r + \eta R, \qquad \dot I = r - \alpha I, \qquad \dot R = \alpha I - \eta R, \qquad
    r = \beta I^\gamma S^\kappa

There is one observation, the state at time 0, and its target is the state at later times. It is training, validation
and test set in one, as in the publication.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._keys import NUMBER, REQUIRED, WHOLE, Key
from .._keys import fields as keys
from .task import Columns, Observations, values

ALPHA, BETA, ETA, GAMMA, KAPPA = 0.05, 0.06, 0.01, 0.5, 0.5
START = (100.0, 0.01, 0.0)
"""Susceptible, infected and recovered at time 0."""
TOLERANCE = 1e-10
"""Relative and absolute tolerance of the reference."""

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def derivative(u: Doubles) -> Doubles:
    """Return the derivative of states `[..., 3]`."""
    s, i, r = np.moveaxis(u, -1, 0)
    rate = BETA * np.maximum(i, 0) ** GAMMA * np.maximum(s, 0) ** KAPPA
    return np.stack([-rate + ETA * r, rate - ALPHA * i, ALPHA * i - ETA * r], axis=-1)


@dataclass(frozen=True, kw_only=True)
class FractionalSIR(Observations):
    """Trajectory of the fractional SIR model.

    Args:
        end: last time; the first is 0.
        points: number of times, at equal distances.
        dt: step of the solver that the network is part of.
        absolute: mean squared error below which a run is solved.

    Example:
        >>> FractionalSIR(points=3).trajectory().round(1)
        array([[100. ,   0. ,   0. ],
               [  7.7,  16.6,  75.7],
               [ 10.5,  14.9,  74.6]])
    """

    kind = "sir"
    version = 1
    """Version, which changes when the same task gives other numbers."""
    operation = "sir"
    input_size = 3
    output_size = 3

    end: float = 200.0
    points: int = 40
    dt: float = 1.0
    absolute: float = 0.1

    def __post_init__(self) -> None:
        for name in ("end", "dt", "absolute"):
            object.__setattr__(self, name, float(_checks.positive(name, _checks.number(name, getattr(self, name)))))
        object.__setattr__(self, "points", _checks.whole("points", self.points, 2))

    def plain(self) -> dict[str, Any]:
        """Return the task as values that JSON can hold."""
        return {"kind": self.kind, "version": self.version, **asdict(self)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "FractionalSIR":
        """Return the task with this plain form."""
        return cls(**values(cls, plain, [field.name for field in fields(cls)]))

    @staticmethod
    def keys() -> tuple[Key, ...]:
        """Return the keys of the task in an experiment file."""
        return (
            Key("sir", WHOLE, "Number of observed times of the fractional SIR model.", REQUIRED, sweep=True),
            *keys(
                FractionalSIR,
                ("end", NUMBER, "Last time."),
                ("dt", NUMBER, "Step of the solver that the network is part of."),
                ("absolute", NUMBER, "Mean squared error below which a run is solved."),
            ),
        )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], folder: Path) -> "FractionalSIR":
        """Return the task with these settings of an experiment file."""
        return cls(points=settings["sir"], **{name: settings[name] for name in settings if name != "sir"})

    def settings(self) -> dict[str, Any]:
        """Return the settings of an experiment file for this task."""
        return {"sir" if name == "points" else name: value for name, value in asdict(self).items()}

    @staticmethod
    def sizes(plain: Mapping[str, Any]) -> tuple[int, int]:
        """Return the width of input and output."""
        return FractionalSIR.input_size, FractionalSIR.output_size

    @staticmethod
    def columns() -> Columns:
        """Return the columns of a store."""
        return {"operation": (str, "sir")}

    @staticmethod
    def column_values(plain: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a plain form of any version."""
        return {"operation": FractionalSIR.operation}

    @staticmethod
    def words(plain: Mapping[str, Any]) -> str:
        """Describe a plain form of any version in a few words."""
        return f"fractional SIR model, {plain['points']} times up to {plain['end']:g}"

    def thresholds(self) -> dict[str, float]:
        """Return the error below which a run is solved, by name."""
        return {"absolute": self.absolute}

    @property
    def times(self) -> tuple[float, ...]:
        """Times at which the state is observed."""
        return tuple(np.linspace(0, self.end, self.points).tolist())

    def trajectory(self) -> Doubles:
        """Return the states at all times, `[times, 3]`."""
        return _solved(self)

    def batch(self, seed: int, step: int, size: int) -> tuple[Floats, Floats]:
        """Return the one observation: the state at time 0, and those at all times in a row."""
        return np.array([START], np.float32), self.trajectory().astype(np.float32).reshape(1, -1)

    def validation(self, seed: int) -> tuple[Floats, Floats]:
        """Return the same observation."""
        return self.batch(seed, 0, 1)

    def test(self, seed: int) -> tuple[Floats, Floats]:
        """Return the same observation."""
        return self.batch(seed, 0, 1)


@lru_cache(maxsize=8)
def _solved(task: FractionalSIR) -> Doubles:
    from scipy.integrate import solve_ivp

    solution = solve_ivp(
        lambda time, u: derivative(u),
        (0.0, task.end),
        START,
        t_eval=task.times,
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )
    states: Doubles = np.ascontiguousarray(solution.y.T)
    states.flags.writeable = False
    return states
