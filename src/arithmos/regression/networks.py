"""Networks trained by Levenberg-Marquardt: products of powers of sums, grown factor by factor."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import torch

from ..optim.damped import Iterate, iterate
from ..optim.products import ProductsOfSums, rounded
from ..optim.starts import start
from .pool import Pool
from .terms import Column, Floats, Node, TermSum, constant, product, scaled, values

FORMS: tuple[tuple[float, ...], ...] = (
    (1.0, 1.0),
    (1.0, 1.0, 1.0),
    (1.0, -1.0),
    (1.0,) * 4,
    (1.0,) * 5,
    (1.0, 1.0, -1.0),
    (2.0, 1.0),
)
"""Exponents of the factors, in the order in which they are tried."""
STARTS = 4
ITERATIONS = 60
SETTLED = 1e-7
SMALL = 0.02
"""Weights below this share of the largest in their sum are left out."""
MOST_WEIGHTS = 600


def products_of_sums(pool: Pool, columns: Sequence[int]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield steps that train networks which multiply powers of sums of the columns and a constant."""
    for number in range(STARTS):
        for form in FORMS:
            weights = len(form) * (len(columns) + 1)
            if columns and weights <= min(len(pool.y) * 2 // 3, MOST_WEIGHTS):
                yield "networks", partial(_train, pool, columns, form, number)


def _train(pool: Pool, columns: Sequence[int], form: tuple[float, ...], number: int) -> None:
    """Train one network and offer the formulas next to it."""
    part = pool.x[:, list(columns)]
    size = np.sqrt((part**2).mean(0))
    inputs = torch.from_numpy(np.column_stack([part / size, np.ones(len(part))]))[None]
    scale = float(np.sqrt(np.mean(pool.y**2)))
    problem = ProductsOfSums(inputs, torch.from_numpy(pool.y / scale)[None], form)
    generator = torch.Generator().manual_seed(pool.seed + 1000 * number + len(form))
    with torch.no_grad():
        state = Iterate.start(start(form, inputs[0], problem.t[0], generator, number + 2).flatten()[None])
        for _ in range(ITERATIONS):
            state = iterate(problem, state)
            if pool.over() or not state.loss.item() < np.inf or state.decrease.item() <= SETTLED:
                break
        if not state.loss.item() < np.inf:
            return
        units = torch.from_numpy(np.append(size, 1.0))
        weights = state.point.view(1, len(form), -1) / units
        whole, _ = rounded(weights, form, inputs * units, problem.t)
    _offer(pool, columns, form, weights[0].numpy())
    _offer(pool, columns, form, whole[0].numpy())


def _offer(pool: Pool, columns: Sequence[int], form: tuple[float, ...], weights: Floats) -> None:
    """Offer the product with the given weights, each sum divided by its largest weight."""
    factors: list[tuple[Node, float]] = []
    for row, power in zip(weights, form, strict=True):
        largest = float(row[np.argmax(np.abs(row))])
        if not largest:
            return
        unit = row / largest
        kept = [i for i in np.flatnonzero(np.abs(unit) > SMALL).tolist() if i < len(columns)]
        offset = float(unit[-1]) if abs(unit[-1]) > SMALL else 0.0
        node: Node = TermSum(tuple(unit[kept].tolist()), tuple(Column(columns[i]) for i in kept), offset)
        factors.append((node if kept else constant(offset), power))
    law = product(factors)
    fitted = values(law, pool.x)
    outer = float((pool.w * fitted) @ pool.y / ((pool.w * fitted) @ fitted))
    if np.isfinite(outer) and outer:
        pool.offer(scaled(outer, law), steps=30)
