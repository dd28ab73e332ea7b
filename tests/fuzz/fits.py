"""Tables with a formula in them, as spreadsheets write them, and with mistakes: what is called exact is the formula."""

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from arithmos.regression.from_csv import fit_csv

from . import named
from .files import broken_text

Arrays = list[np.ndarray]
FORMULAS: list[Callable[..., np.ndarray]] = [
    lambda a, b, c: a * b,
    lambda a, b, c: a * (b - c),
    lambda a, b, c: a / b,
    lambda a, b, c: 2 * a + 3 * b,
    lambda a, b, c: a * b / c,
    lambda a, b, c: np.sqrt(a * b),
    lambda a, b, c: a**2 - b,
    lambda a, b, c: np.sin(3 * a) + c,
]


def fitted_file(rng: random.Random, folder: Path) -> str:
    """Is fitted, and called exact only with the formula behind it, or is refused by name."""
    draws = np.random.default_rng(rng.randrange(10**6))
    formula, rows = rng.choice(FORMULAS), rng.choice([0, 1, 3, 12, 40, 40, 60])
    x = draws.uniform(1, 3, (3, rows))
    y = formula(*x)
    if noisy := rng.random() < 0.3:
        y = y * (1 + 0.01 * draws.normal(size=rows))
    text = written(rng, [*x, y])
    if broken := rng.random() < 0.4:
        text = broken_text(rng, text)
    path = folder / "table.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    try:
        with warnings.catch_warnings(action="ignore"):
            fit = fit_csv(path, "y", budget_s=2.0, random_state=0)
    except ValueError as error:
        return named(error, [str(path), "column '", "rows"])
    assert fit.model.certificate_.verdict in ("exact", "noise", "not found")
    if fit.model.certificate_.verdict == "exact" and not broken:
        assert not noisy, f"{fit.model.formula_} is called exact on noise"
        fresh = draws.uniform(4, 9, (3, 20))
        names = [*fit.table.names]
        found = fit.model.predict(np.stack([fresh["abc".index(name)] for name in names], 1))
        np.testing.assert_allclose(np.ravel(found), formula(*fresh), rtol=1e-3, err_msg=f"{fit.model.formula_}")
    return "accepted"


def written(rng: random.Random, columns: Arrays) -> str:
    """The columns as text: with a separator, a decimal mark, and perhaps marks of gaps and text beside the numbers."""
    separator, comma = rng.choice([(",", "."), (";", "."), (";", ","), ("\t", ".")])
    gap = rng.choice(["", "NA", "-", "?"])
    lines = [["id", "a", "b", "c", "y"]]
    for number, row in enumerate(zip(*columns, strict=True)):
        fields = [f"{value:.9g}".replace(".", comma) for value in row]
        if rng.random() < 0.02:
            fields[rng.randrange(4)] = gap
        lines.append([f"row {number}", *fields])
    return "\n".join(map(separator.join, lines)) + "\n"
