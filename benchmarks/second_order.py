"""Compare ways to train one network on one data set: the search of `arithmos.train`, SciPy, LBFGS, SOAP and Adam.

    python benchmarks/second_order.py > benchmarks/second_order.md

The network is NAU(100, 2), NMU(2, 1); the data are 1,280 rows of a product of two sums of 25 inputs, half of them in
both. "as built" trains all 202 weights from their initial values; "told" holds the two weights of the NMU at 1 and
clips nothing, which helps every method but needs the form of the answer. A run is exact if its rounded weights are the
formula, whatever the scale of a factor. SOAP is that of the package pytorch_optimizer, if it is installed.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import machine
import numpy as np
import scipy.optimize
import torch
from torch import Tensor, nn
from torch.func import functional_call

import arithmos
from arithmos.engines.contract import Job
from arithmos.engines.cpu import CpuEngine
from arithmos.nn import NAU, NMU, RealNPU
from arithmos.optim import LevenbergMarquardt
from arithmos.optim._jacobian import jacobian
from arithmos.optim.forms import whole_powers
from arithmos.optim.products import rounded
from arithmos.optim.search import FormulaSearch
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

INPUTS, ROWS, HELD, SUBSET = 100, 1024, 256, 25
RANGES = ((1.0, 2.0), (-2.0, 2.0))
PUBLISHED_RANGES = ((-2.0, -1.0), (-2.0, 2.0), (0.0, 1.0), (0.1, 0.2), (1.0, 2.0), (1.1, 1.2), (10.0, 20.0))
ADAM_STEPS = 1_436_000
"""Median iteration at which the NMU has the default product, of 1,600 runs with Adam in `results/`."""


@dataclass(frozen=True)
class Problem:
    model: nn.Sequential
    x: Tensor
    t: Tensor
    truth: Tensor

    def residual(self) -> Tensor:
        return (self.model(self.x) - self.t) / self.t.std()

    def exact(self) -> bool:
        """Whether the weights, rounded up to the scale of each factor, are the formula."""
        with torch.no_grad():
            if not torch.equal(self.model[1].weight.clamp(0, 1).round(), torch.ones(1, 2, dtype=torch.float64)):
                return False
            weights = self.model[0].weight.detach().unsqueeze(0)
            found, _ = rounded(weights, (1.0, 1.0), self.x.unsqueeze(0), self.t.mT)
        return any(torch.equal(found[0], self.truth[order]) for order in ([0, 1], [1, 0]))


def problem(seed: int, low: float, high: float, told: bool) -> Problem:
    torch.manual_seed(seed)
    model = nn.Sequential(NAU(INPUTS, 2, clip=not told, project=not told), NMU(2, 1)).double()
    if told:
        nn.init.ones_(model[1].weight).requires_grad_(False)
    x = torch.rand(ROWS + HELD, INPUTS, dtype=torch.float64) * (high - low) + low
    truth = torch.zeros(2, INPUTS, dtype=torch.float64)
    truth[0, :SUBSET], truth[1, SUBSET // 2 : SUBSET // 2 + SUBSET] = 1, 1
    return Problem(model, x, (x @ truth.T).prod(1, keepdim=True), truth)


def by_search(given: Problem) -> Iterator[int]:
    yield arithmos.train(given.model, (given.x, given.t), method="auto").iterations


def by_lm(given: Problem) -> Iterator[int]:
    optimizer = LevenbergMarquardt(given.model)
    while not optimizer.account.stopped:
        optimizer.step(given.residual)
        yield optimizer.account.iterations


def by_scipy(given: Problem) -> Iterator[int]:
    """Trust-region reflective, with Jacobians by torch; in steps of evaluations, so that it can be stopped."""
    names = [name for name, p in given.model.named_parameters() if p.requires_grad]
    parameters = [given.model.get_parameter(name) for name in names]

    def set_(point: Tensor) -> dict[str, Tensor]:
        pieces = torch.split(point, [p.numel() for p in parameters])
        return {name: v.view_as(p) for name, v, p in zip(names, pieces, parameters, strict=True)}

    def residual(point: Tensor) -> Tensor:
        return ((functional_call(given.model, set_(point), (given.x,)) - given.t) / given.t.std()).flatten()

    point, count = torch.cat([p.detach().flatten() for p in parameters]).numpy(), 0
    bounded = len(parameters) > 1
    low = np.concatenate([np.full(2 * INPUTS, -1.0), np.zeros(2)]) if bounded else -np.inf
    high = np.concatenate([np.full(2 * INPUTS, 1.0), np.ones(2)]) if bounded else np.inf
    while True:
        found = scipy.optimize.least_squares(
            lambda p: residual(torch.from_numpy(p)).detach().numpy(),
            point,
            lambda p: jacobian(residual, torch.from_numpy(p))[1].detach().numpy(),
            bounds=(low, high),
            max_nfev=20,
            ftol=1e-15,
            xtol=1e-15,
            gtol=1e-15,
        )
        point, count = found.x, count + found.nfev
        with torch.no_grad():
            for parameter, value in zip(parameters, set_(torch.from_numpy(point)).values(), strict=True):
                parameter.copy_(value)
        yield count
        if found.status > 0:
            return


def by_torch(make: Callable[[nn.Module], torch.optim.Optimizer]) -> Callable[[Problem], Iterator[int]]:
    def run(given: Problem) -> Iterator[int]:
        optimizer = make(given.model)
        if given.model[1].weight.requires_grad:
            arithmos.constrain(optimizer, given.model)

        def loss() -> Tensor:
            optimizer.zero_grad()
            value = given.residual().square().mean()
            value.backward()
            return value

        step = 0
        while True:
            optimizer.step(loss)
            step += 1
            yield step

    return run


def methods() -> dict[str, Callable[[Problem], Iterator[int]]]:
    found = {
        "`arithmos.train`, auto": by_search,
        "`LevenbergMarquardt`": by_lm,
        "SciPy `least_squares`, trf": by_scipy,
        "torch `LBFGS`, strong Wolfe": by_torch(
            lambda model: torch.optim.LBFGS(_trained(model), max_iter=20, line_search_fn="strong_wolfe")
        ),
        "torch `Adam`, 1e-2": by_torch(lambda model: torch.optim.Adam(_trained(model), lr=1e-2)),
    }
    if find_spec("pytorch_optimizer"):
        from pytorch_optimizer import SOAP

        found["`SOAP`, 1e-2"] = by_torch(lambda model: SOAP(_trained(model), lr=1e-2, weight_decay=0.0))
    return found


def _trained(model: nn.Module) -> list[nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad]


def measure(method: Callable[[Problem], Iterator[int]], given: Problem, limit: float) -> tuple[bool, int, float]:
    """Whether a run became exact, its iterations, and its core-seconds, which end at the limit."""
    count, began, asked = 0, time.process_time(), 0.0
    for iterations in method(given):
        count = iterations
        used = time.process_time() - began
        if used > limit:
            break
        if used > 1.1 * asked:  # asking is not part of training: ask rarely
            asked = used
            if given.exact():
                break
    return given.exact(), count, time.process_time() - began


def comparison(seeds: int, limit: float) -> str:
    rows = []
    for low, high in RANGES:
        for told in (False, True):
            for name, method in methods().items():
                if told and method is by_search:
                    continue
                runs = [measure(method, problem(seed, low, high, told), limit) for seed in range(seeds)]
                good = [run for run in runs if run[0]]
                last = f"{statistics.median(run[1] for run in good or runs):,.0f}"
                spent = f"{statistics.median(run[2] for run in good or runs):.2f}"
                label = f"U[{low:g},{high:g}]"
                rows.append([label, "told" if told else "as built", name, f"{len(good)} of {seeds}", last, spent])
    return machine.table(["range", "weights", "method", "exact", "iterations", "core-seconds"], rows)


def stacked(count: int) -> str:
    """Core-seconds per seed of the search, alone and stacked."""
    rows = []
    for size in (1, 8, 32):
        given = [problem(seed, 1.0, 2.0, told=False) for seed in range(count)]
        began, solved, iterations = time.process_time(), 0, []
        for first in range(0, count, size):
            x = torch.stack([each.x for each in given[first : first + size]])
            t = torch.stack([each.t[:, 0] for each in given[first : first + size]])
            search = FormulaSearch(whole_powers(2), range(len(x)), INPUTS)
            while not all(run.ended for run in search.progress):
                search.step(x[:, :ROWS], t[:, :ROWS], (x[:, ROWS:], t[:, ROWS:]))
            solved += sum(run.found for run in search.progress)
            iterations += [run.iterations for run in search.progress]
        seconds = (time.process_time() - began) / count
        rows.append([size, f"{solved} of {count}", f"{statistics.median(iterations):.0f}", f"{seconds:.3f}"])
        rows[-1].append(f"{120 / seconds:,.0f}")
    return machine.table(["stack", "exact", "iterations", "core-seconds per seed", "seeds per two core-minutes"], rows)


def whole_calls(count: int) -> tuple[str, float]:
    """Core-seconds of whole calls of `train` on products of several sizes, and the median of the first."""
    rows, first = [], 0.0
    for inputs, given in ((INPUTS, ROWS + HELD), (INPUTS, 150), (300, 2912), (1000, 8512)):
        spent, exact, iterations = [], 0, []
        for seed in range(count if inputs == INPUTS else max(1, count // 10)):
            torch.manual_seed(seed)
            x = torch.rand(given, inputs, dtype=torch.float64) + 1
            t = x[:, : inputs // 4].sum(1, keepdim=True) * x[:, inputs // 8 : inputs // 8 + inputs // 4].sum(
                1, keepdim=True
            )
            began = time.process_time()
            result = arithmos.train(nn.Sequential(NAU(inputs, 2), NMU(2, 1)).double(), (x, t), method="auto")
            spent.append(time.process_time() - began)
            exact, iterations = exact + result.exact, [*iterations, result.iterations]
        median = statistics.median(spent)
        first = first or median
        rows.append([inputs, given, f"{exact} of {len(spent)}", f"{statistics.median(iterations):.0f}"])
        rows[-1] += [f"{median:.3f}", f"{60 / statistics.mean(spent):,.0f}", f"{120 / statistics.mean(spent):,.0f}"]
    header = ["inputs", "rows", "exact", "iterations, median", "core-seconds, median"]
    return machine.table([*header, "per core-minute", "per two core-minutes"], rows), first


def adam_seconds(steps: int = 20_000) -> float:
    """Core-seconds of Adam on the cpu engine for the default product, by the time of its first steps."""

    def spend(steps: int) -> float:
        spec = Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"], iterations=steps)
        began = time.process_time()
        list(CpuEngine(1).run([Job(spec, (0,))]))
        return time.process_time() - began

    spend(1000)
    return ADAM_STEPS * (spend(5 * steps) - spend(steps)) / (4 * steps)


def reciprocals(count: int) -> str:
    """Runs in which 1 / Σ is found among 100 inputs, by range."""
    rows = []
    for low, high in PUBLISHED_RANGES:
        exact, began = 0, time.process_time()
        for seed in range(count):
            torch.manual_seed(seed)
            x = torch.rand(ROWS, INPUTS, dtype=torch.float64) * (high - low) + low
            model = nn.Sequential(NAU(INPUTS, 2), RealNPU(2, 1)).double()
            exact += arithmos.train(model, (x, 1 / x[:, :SUBSET].sum(1, keepdim=True)), method="auto").exact
        rows.append([f"U[{low:g},{high:g}]", f"{exact} of {count}", f"{(time.process_time() - began) / count:.3f}"])
    return machine.table(["range", "exact", "core-seconds"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limit", type=float, default=1.0, help="core-seconds per run")
    parser.add_argument("--stack", type=int, default=32, help="seeds of the stacked search")
    parser.add_argument("--calls", type=int, default=100, help="calls of train")
    options = parser.parse_args()
    torch.set_num_threads(1)
    by_lm(problem(0, 1.0, 2.0, told=False)).__next__()  # loads what torch.func needs
    packages = ["torch", "scipy", *(["pytorch_optimizer"] if find_spec("pytorch_optimizer") else [])]
    print("# Second-order training\n")
    print(f"Made by `benchmarks/second_order.py`. {machine.describe(*packages)}\n")
    print(" ".join((__doc__ or "").split("\n\n")[-1].split()) + "\n")
    print(
        f"A run ends when it is exact, when its method stops, or after {options.limit:g} core-seconds. Iterations and"
    )
    print("core-seconds are medians over the exact runs, or over all where none is. A step of LBFGS is up to 20 inner")
    print("iterations, and SciPy is asked after every 20 evaluations.\n")
    print(comparison(options.seeds, options.limit))
    calls, median = whole_calls(options.calls)
    print("\n## Whole calls\n\n`arithmos.train` on products of sums of a quarter of the inputs, U[1,2].\n")
    print(calls)
    adam = adam_seconds()
    print(
        f"\nAdam on the cpu engine takes {adam:.1f} core-seconds for the {ADAM_STEPS:,} iterations that it needs on the"
    )
    print(f"first of these: {adam / median:,.0f} times as long.")
    print("\n## Reciprocals\n\n1 / Σ by NAU(100, 2), RealNPU(2, 1).\n")
    print(reciprocals(options.calls))
    print("\n## Stacked\n\nThe search on U[1,2] with 1,024 rows, several seeds at once.\n")
    print(stacked(options.stack))


if __name__ == "__main__":
    main()
