"""Find a formula in a CSV file: the function behind `arithmos fit`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .regressor import ArithmeticRegressor
from .table import DataTable, read_columns
from .terms import Floats

FAR_SHARE = 0.1
FAR_ROWS = 50
"""With fewer rows, none are set aside."""


@dataclass(frozen=True)
class Fit:
    """Formula found in a file, with its errors on the rows set aside.

    Args:
        model: the fitted estimator.
        table: the data.
        far: mask of the rows set aside, those furthest from the center.
        distance: distance of each row from the center, in standard deviations per column.
    """

    model: ArithmeticRegressor
    table: DataTable
    far: NDArray[np.bool_]
    distance: Floats

    @property
    def far_residual(self) -> float:
        """Relative root-mean-square residual on the rows set aside."""
        if not self.far.any():
            return float("nan")
        y = self.table.y[self.far]
        return max(_rms(r) / (_rms(t) or 1.0) for r, t in zip(self._residual()[self.far].T, y.T, strict=True))

    def _residual(self) -> Floats:
        return self._predicted() - self.table.y

    def _predicted(self) -> Floats:
        return self.model.predict(pd.DataFrame(self.table.x, columns=self.table.names)).reshape(self.table.y.shape)

    def frame(self) -> pd.DataFrame:
        """Return measured and predicted values, one line per row and target; residuals are in standard deviations."""
        predicted = self._predicted()
        parts = [
            pd.DataFrame(
                {
                    "target": name,
                    "measured": self.table.y[:, o],
                    "predicted": predicted[:, o],
                    "residual": (predicted[:, o] - self.table.y[:, o]) / (self.table.y[:, o].std() or 1.0),
                    "distance": self.distance,
                    "rows": np.where(self.far, "set aside", "learned from"),
                }
            )
            for o, name in enumerate(self.table.targets)
        ]
        return pd.concat(parts, ignore_index=True)

    @property
    def formulas(self) -> list[str]:
        """Return one line per target."""
        lines = str(self.model.formula_).splitlines()
        found = [line.partition(" = ")[2] for line in lines] if len(lines) > 1 else lines
        return [f"{name} = {text}" for name, text in zip(self.table.targets, found, strict=True)]

    def __str__(self) -> str:
        lines = [*self.formulas, "", *str(self.model.certificate_).splitlines()]
        if self.far.any():
            rows = f"{self.far.sum()} rows furthest from the center, which were set aside"
            lines.append(f"extrapolation     {self.far_residual:.2g} of the target, on the {rows}")
        others = [other for other in self.model.formulas_ if not other.chosen]
        if others:
            lines += ["", "simpler and better formulas, with their residuals relative to the target:"]
            for other in others:
                lines.append(f"  {other.residual:7.2g}  {self.table.targets[other.output]} = {other.formula}")
        return "\n".join(lines)


def fit_csv(path: str | Path, target: str | Sequence[str], columns: Sequence[str] | None = None, **options: Any) -> Fit:
    """Find a formula that explains columns of a CSV file by others.

    The tenth of the rows furthest from the center is set aside and shows how the formula extrapolates.

    Args:
        path: the file.
        target: name or names of the columns to explain.
        columns: names of the columns to explain them by; by default, all other columns of numbers.
        options: arguments of `ArithmeticRegressor`.
    """
    table = read_columns(path, [target] if isinstance(target, str) else target, columns)
    distance = rms_rows((table.x - table.x.mean(0)) / table.x.std(0))
    far = np.zeros(len(table.x), bool)
    if len(far) >= FAR_ROWS:
        far[np.argsort(distance, kind="stable")[len(far) - round(FAR_SHARE * len(far)) :]] = True
    y = table.y[~far]
    model = ArithmeticRegressor(**options)
    model.fit(pd.DataFrame(table.x[~far], columns=table.names), y[:, 0] if y.shape[1] == 1 else y)
    return Fit(model, table, far, distance)


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def rms_rows(values: Floats) -> Floats:
    """Return the root mean square of each row."""
    return np.asarray(np.sqrt(np.square(values).mean(1)))
