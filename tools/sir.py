"""Draw docs/findings/sir.svg from results/, and print what the text says about the fractional SIR model."""

from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from arithmos.nn.euler import places
from arithmos.papers.heim2020.sir import NETWORKS, SIR, exponents, large
from arithmos.report.charts.files import save
from arithmos.report.charts.style import styled
from arithmos.store import Store
from arithmos.tasks.sir import ALPHA, BETA, ETA, GAMMA, KAPPA, START

ROOT = Path(__file__).parents[1]
TASK = SIR.specs[0].task


def by_euler(constants: np.ndarray) -> np.ndarray:
    """Return the trajectory of the true equations with some constants, by the solver of the networks."""
    alpha, beta, eta, gamma, kappa = constants
    steps, found = places(TASK.times, TASK.dt)
    u = [np.array(START)]
    for _ in range(steps):
        s, i, r = np.maximum(u[-1], 0)
        rate = beta * i**gamma * s**kappa
        u.append(u[-1] + TASK.dt * np.array([-rate + eta * r, rate - alpha * i, alpha * i - eta * r]))
    return np.array([(1 - share) * u[k] + share * u[k + 1] for k, share in found])


def runs() -> pd.DataFrame:
    """Return the runs with their parameters that count, and exponents."""
    specs = {spec.id: spec for spec in SIR.specs}
    columns = ["model", "hidden_size", "end_test", "end_weights", "ended_early"]
    frame = Store(ROOT / "results").load(specs=SIR.specs, columns=columns)
    frame["unit"] = frame["model"].str.rpartition("-")[0]
    frame["parameters"] = frame["end_weights"].map(large)
    real = [
        exponents(specs[row.spec_id], row.end_weights) if row.unit == "RealNPU" else (np.nan, np.nan)
        for row in frame.itertuples()
    ]
    frame[["gamma", "kappa"]] = real
    return frame.drop(columns="end_weights")


def best(part: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that no other beats in both error and parameters."""
    part = part.sort_values(["parameters", "end_test"])
    return part[part["end_test"] < part["end_test"].cummin().shift(fill_value=np.inf)]


def main() -> None:
    reference = TASK.trajectory()
    true = np.array([ALPHA, BETA, ETA, GAMMA, KAPPA])
    print(f"true constants by Euler: {np.square(by_euler(true) - reference).mean():.3f}")
    fit = least_squares(lambda constants: (by_euler(constants) - reference).ravel(), true, x_scale=true)
    print(f"best constants by Euler: {fit.x.round(4)}, {np.square(fit.fun).mean():.4f}")
    frame = runs()
    front = pd.concat([best(part).assign(front=True) for _, part in frame.groupby("unit")])
    for unit in NETWORKS:
        part = frame[frame["unit"] == unit]
        if len(part):
            errors = part["end_test"].fillna(np.inf)
            print(
                f"{unit}: {len(part)} runs, median {errors.median():.3g}, least {errors.min():.3g}, "
                f"below 0.1: {(errors < 0.1).sum()}, above 1000: {(errors > 1000).sum()}"
            )
    print(front[["unit", "model", "hidden_size", "seed", "parameters", "end_test", "gamma", "kappa"]].to_string())
    log = alt.Scale(type="log")
    base = alt.Chart(frame[frame["end_test"].between(0, 1e4)]).encode(
        x=alt.X("parameters:Q", scale=log, title="parameters above 0.001"),
        y=alt.Y("end_test:Q", scale=log, title="mean squared error"),
        color=alt.Color("unit:N", title=None),
    )
    chart = base.mark_point(opacity=0.5) + base.mark_line(interpolate="step-after").properties(data=front)
    save(styled(chart.properties(width=480, height=280)), ROOT / "docs/findings/sir.svg")


if __name__ == "__main__":
    main()
