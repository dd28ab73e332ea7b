"""Find a formula in a CSV file: the function behind `arithmos fit`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..formula.expression import quoted
from .regressor import ArithmeticRegressor, ParetoFormula
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
        y, predicted = self.table.y[self.far], self.model.formula_.numpy()(self.table.x[self.far])
        return max(_rms(p - t) / (_rms(t) or 1.0) for p, t in zip(predicted.T, y.T, strict=True))

    @property
    def cells(self) -> list[str]:
        """Cells of the input columns in the first row of numbers, if the file is opened as a spreadsheet."""
        from ..export.excel import cells_of

        return cells_of(self.table.places)

    def frame(self, chosen: bool = True) -> pd.DataFrame:
        """Return measured and predicted values, one line per row and formula; residuals are in standard deviations.

        Args:
            chosen: whether to use the chosen formula of each target only, rather than the whole Pareto front.
        """
        parts = []
        for number, one in enumerate(self.model.formulas_):
            if chosen and not one.chosen:
                continue
            measured, predicted = self.table.y[:, one.output], one.formula.numpy()(self.table.x)[:, 0]
            part = {
                "target": self.table.targets[one.output],
                "formula": number,
                "measured": measured,
                "predicted": predicted,
                "residual": (predicted - measured) / (measured.std() or 1.0),
                "distance": self.distance,
                "rows": np.where(self.far, "set aside", "learned from"),
            }
            parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)

    @property
    def formulas(self) -> list[str]:
        """Chosen formulas, one line per target."""
        return [self.line(one) for one in self.model.formulas_ if one.chosen]

    def line(self, one: ParetoFormula) -> str:
        """Return a formula with its target in front."""
        return f"{quoted(self.table.targets[one.output])} = {one.formula}"

    def plain(self) -> dict[str, Any]:
        """Return the fit in plain values, as `arithmos fit --json` prints it."""
        from ..export.excel import excel

        return {
            "formulas": [
                {
                    "target": self.table.targets[one.output],
                    "formula": str(one.formula),
                    "latex": one.formula.latex(),
                    "excel": excel(one.formula, self.cells)[0],
                    "complexity": one.complexity,
                    "residual": one.residual,
                    "r2": one.r2,
                    "chosen": one.chosen,
                }
                for one in self.model.formulas_
            ],
            "certificates": [
                {"target": target} | asdict(one)
                for target, one in zip(self.table.targets, self.model.certificates_, strict=True)
            ],
            "rows_set_aside": int(self.far.sum()),
            "residual_set_aside": None if np.isnan(self.far_residual) else self.far_residual,
            "columns": dict(zip(self.table.names, self.cells, strict=True)),
            "left_out": [*self.table.left_out],
            "notes": [*self.table.notes],
        }

    def export(self, path: str | Path, format: str | None = None) -> Path:
        """Save the formula for another program; see `arithmos.export.save`. Cells are those of the file's columns."""
        from ..export.save import save

        return save(self.model.formula_, path, format, cells=self.cells)

    def __str__(self) -> str:
        lines = [*self.formulas, ""]
        for target, certificate in zip(self.table.targets, self.model.certificates_, strict=True):
            lines += [f"{quoted(target)}:"] if len(self.table.targets) > 1 else []
            lines += str(certificate).splitlines()
        if self.far.any():
            rows = f"{self.far.sum()} rows furthest from the center, which were set aside"
            lines.append(f"extrapolation     {self.far_residual:.2g} of the target, on the {rows}")
        if len(self.model.formulas_) > len(self.table.targets):
            lines += ["", "formulas by size, with their residuals relative to the target; * is chosen:"]
            for one in self.model.formulas_:
                mark = "*" if one.chosen else " "
                lines.append(f" {mark} {one.complexity:3}  {one.residual:7.2g}  {self.line(one)}")
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
    model = ArithmeticRegressor(**options)
    y = pd.DataFrame(table.y[~far], columns=table.targets)
    model.fit(pd.DataFrame(table.x[~far], columns=table.names), y.iloc[:, 0] if y.shape[1] == 1 else y)
    return Fit(model, table, far, distance)


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def rms_rows(values: Floats) -> Floats:
    """Return the root mean square of each row."""
    return np.asarray(np.sqrt(np.square(values).mean(1)))
