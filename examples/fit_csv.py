"""Recover the formula behind a CSV file that has noise and irrelevant columns."""

from pathlib import Path

import numpy as np
import pandas as pd

from arithmos.regression.from_csv import Fit, fit_csv
from arithmos.report.page.fit import save_fit


def make(path: Path) -> None:
    """Write the daily profits of a shop."""
    rng = np.random.default_rng(0)
    names = ["visitors", "buyers", "price", "cost", "rain", "staff"]
    frame = pd.DataFrame(rng.uniform(1, 2, (500, len(names))), columns=names)
    frame["profit"] = frame["buyers"] * (frame["price"] - frame["cost"])
    frame["profit"] += rng.normal(0, 0.01 * frame["profit"].std(), len(frame))
    frame.insert(0, "day", [f"day {number}" for number in range(len(frame))])
    frame.to_csv(path, index=False)


def main(folder: str | Path = "shop") -> Fit:
    """Write the file, find the formula, print it, write its page, and return the fit.

    In a shell: arithmos fit shop.csv --target profit --export profit.txt
    """
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    make(folder / "shop.csv")
    fit = fit_csv(folder / "shop.csv", "profit", random_state=0)
    print(fit)
    print(f"\nignored: {'; '.join(fit.table.left_out)}")
    print(f"for a spreadsheet: {fit.export(folder / 'profit.txt').read_text(encoding='utf-8').splitlines()[0]}")
    print(f"page: {save_fit(fit, folder / 'shop.html', 'shop.csv')}")
    return fit


if __name__ == "__main__":
    main()
