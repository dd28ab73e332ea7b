"""Draw the figures of docs/concepts/second-order.md, and print the numbers that it states. Takes a few minutes."""

from pathlib import Path

import altair as alt
import pandas as pd
import torch
from torch import Tensor, nn

import arithmos
from arithmos.nn import NAU, NMU
from arithmos.optim.damped import Iterate, iterate
from arithmos.optim.products import ProductsOfSums
from arithmos.optim.starts import start
from arithmos.report.charts.files import save
from arithmos.report.charts.style import styled

FOLDER = Path(__file__).parents[1] / "docs/findings"
INPUTS, SUBSET = 100, 25
RANGES = ((-2.0, 2.0), (1.0, 2.0), (1.1, 1.2))
PUBLISHED = 1_400_000
"""Median steps of the published NMU to the product of two sums."""


def data(low: float, high: float, rows: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return inputs, targets and the true weights of a product of two sums."""
    weights = torch.zeros(2, INPUTS, dtype=torch.float64)
    weights[0, :SUBSET], weights[1, SUBSET // 2 : SUBSET // 2 + SUBSET] = 1, 1
    x = torch.rand(rows, INPUTS, dtype=torch.float64, generator=generator) * (high - low) + low
    return x, (x @ weights.T).prod(1), weights


def curvatures() -> pd.DataFrame:
    """Return the eigenvalues of the normal equations at the formula, as shares of the largest."""
    found = []
    for low, high in RANGES:
        x, t, weights = data(low, high, 4096, torch.Generator().manual_seed(0))
        problem = ProductsOfSums(x.unsqueeze(0), t.unsqueeze(0), (1.0, 1.0))
        _, jacobian = problem.linearize(weights.flatten().unsqueeze(0))
        values = torch.linalg.svdvals(jacobian[0]).square()[:-1]  # the last is the scale that a product leaves open
        shares = (values / values[0]).tolist()
        print(f"U[{low:g},{high:g}]: largest over smallest curvature {1 / shares[-1]:.2g}")
        found += [{"range": f"U[{low:g},{high:g}]", "rank": n + 1, "curvature": v} for n, v in enumerate(shares)]
    return pd.DataFrame(found)


def errors(steps: int = 20_000) -> pd.DataFrame:
    """Return the error of Adam and of Levenberg-Marquardt by step, on U[1,2]."""
    generator = torch.Generator().manual_seed(0)
    x, t, _ = data(1.0, 2.0, 1024, generator)
    scale = t.var()
    torch.manual_seed(0)
    model = nn.Sequential(NAU(INPUTS, 2), NMU(2, 1)).double()

    def batch(step: int) -> tuple[Tensor, Tensor]:
        rows, targets, _ = data(1.0, 2.0, 128, generator)
        return rows, targets.unsqueeze(1)

    found = []
    history = arithmos.train(model, batch, steps, validation=(x, t.unsqueeze(1)), every=10).history
    for step, error in history:
        if step % 500 == 0 or step in (10, 20, 50, 100, 200):
            found.append({"method": "Adam", "step": max(step, 1), "error": error / scale.item()})

    problem = ProductsOfSums(x.unsqueeze(0), t.unsqueeze(0), (1.0, 1.0))
    state = Iterate.start(start((1.0, 1.0), x, t, generator, 3).flatten().unsqueeze(0))
    for step in range(1, 40):
        state = iterate(problem, state)
        error = problem.residuals(state.point).square().mean().item() * t.square().mean().item() / scale.item()
        found.append({"method": "Levenberg-Marquardt", "step": step, "error": error})
        if error < 1e-25:
            break
    print(f"Adam after {steps:,} steps: {found[len(found) - step - 1]['error']:.1e}; LM after {step}: {error:.1e}")
    return pd.DataFrame(found)


def factors(seeds: int = 10, steps: int = 4000) -> pd.DataFrame:
    """Return the smaller of the two NMU weights by step of Adam, on U[-2,2], where both have to become 1."""
    found = []
    for seed in range(seeds):
        generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        model = nn.Sequential(NAU(INPUTS, 2), NMU(2, 1)).double()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        arithmos.constrain(optimizer, model)
        for step in range(steps + 1):
            if step % 50 == 0:
                found.append({"seed": seed, "step": step, "weight": model[1].weight.min().item()})
            x, t, _ = data(-2.0, 2.0, 128, generator)
            loss = (model(x) - t.unsqueeze(1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(
            f"U[-2,2], Adam, seed {seed}: weights of the factors {model[1].weight.detach().round(decimals=2).tolist()}"
        )
    return pd.DataFrame(found)


def minima(rows: int = 300, more: int = 3000, points: int = 141) -> pd.DataFrame:
    """Return the error on the line from a local minimum of few rows on U[-2,2] to the formula, on few and more rows."""
    generator = torch.Generator().manual_seed(0)
    x, t, weights = data(-2.0, 2.0, rows, generator)
    problem = ProductsOfSums(x.unsqueeze(0), t.unsqueeze(0), (1.0, 1.0))
    state = Iterate.start(start((1.0, 1.0), x, t, generator, 3).flatten().unsqueeze(0))
    for _ in range(300):
        state = iterate(problem, state)
    ends = _aligned(state.point[0].view(2, INPUTS), weights)
    wide = data(-2.0, 2.0, more, generator)

    def error(w: Tensor, x: Tensor = x, t: Tensor = t) -> Tensor:
        return ((w.view(2, INPUTS) @ x.T).prod(0) - t).square().mean() / t.var()

    curvature = torch.linalg.eigvalsh(torch.func.hessian(error)(ends.flatten()))
    gradient = torch.func.grad(error)(ends.flatten()).norm()
    print(f"local minimum of {rows} rows: error {error(ends):.2g}, {error(ends, *wide[:2]):.2g} on {more:,} rows")
    print(f"gradient {gradient:.0e}, smallest curvatures {curvature[:2].tolist()}, largest {curvature[-1]:.2g}")
    found = []
    for s in torch.linspace(-0.2, 1.2, points).tolist():
        for count, own in ((rows, (x, t)), (more, wide[:2])):
            found.append({"rows": f"{count:,}", "s": s, "error": error(ends + s * (weights - ends), *own).item()})
    return pd.DataFrame(found)


def _aligned(found: Tensor, weights: Tensor) -> Tensor:
    """Return the factors that were found, in the order and with the scale that bring them closest to the formula."""
    scales = [sign * torch.logspace(-1, 1, 401, dtype=torch.float64) for sign in (1, -1)]
    products = [
        torch.stack([pair[0] * c, pair[1] / c]) for pair in (found, found.flip(0)) for c in torch.cat(scales).tolist()
    ]
    return min(products, key=lambda w: (w - weights).norm().item())


def draw() -> None:
    log = alt.Scale(type="log")
    bars = (
        alt.Chart(curvatures())
        .mark_line()
        .encode(
            x=alt.X("rank", title="direction"),
            y=alt.Y("curvature", title="curvature, relative to the largest", scale=log, axis=alt.Axis(format="~e")),
            color=alt.Color("range", title="inputs", sort=None),
        )
    )
    save(styled(bars.properties(width=420, height=240)), FOLDER / "conditioning.svg")

    table = errors()
    lines = (
        alt.Chart(table)
        .mark_line()
        .encode(
            x=alt.X(
                "step", title="step", scale=alt.Scale(type="log", domain=[1, 2 * PUBLISHED]), axis=alt.Axis(format="~s")
            ),
            y=alt.Y("error", title="error, relative to the variance of t", scale=log, axis=alt.Axis(format="~e")),
            color=alt.Color("method", title=None),
        )
    )
    published = alt.Chart(pd.DataFrame({"step": [PUBLISHED], "text": ["published median"]}))
    rule = published.mark_rule(strokeDash=[4, 3]).encode(x="step")
    text = published.mark_text(align="right", dx=-4, dy=-100).encode(x="step", text="text")
    save(styled((lines + rule + text).properties(width=420, height=240)), FOLDER / "thirty_steps.svg")

    traces = (
        alt.Chart(factors())
        .mark_line(opacity=0.7)
        .encode(
            x=alt.X("step", title="step of Adam"),
            y=alt.Y("weight", title="smaller NMU weight"),
            detail="seed",
        )
    )
    save(styled(traces.properties(width=420, height=200)), FOLDER / "dead_factors.svg")

    line = (
        alt.Chart(minima())
        .mark_line(clip=True)
        .encode(
            x=alt.X("s", title="from the local minimum (0) to the formula (1)", scale=alt.Scale(domain=[-0.2, 1.2])),
            y=alt.Y("error", title="error, relative to the variance of t", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("rows", title="rows", sort=None),
        )
    )
    save(styled(line.properties(width=420, height=240)), FOLDER / "local_minimum.svg")


if __name__ == "__main__":
    torch.set_num_threads(1)
    draw()
