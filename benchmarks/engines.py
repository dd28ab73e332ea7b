"""Time the cpu engine against a lean eager torch loop, and measure its cost by size.

Both sides run in this process, pinned to one core, alternately; results are medians of several repetitions, in
processor time, which other processes disturb least. Every number is microseconds per iteration of one run of the
default problem (100 inputs, 2 hidden units, batch 128), including its share of the evaluation every 1000 iterations;
the engine's runs are a group, as those of many seeds are.
Compilation is not timed; it is reported separately.

    python benchmarks/engines.py [--quick] [--write]

`--write` writes the tables to `engines.md` and the figure to `engines.svg`, next to this file.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import machine
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from arithmos.engines import kernel_cache
from arithmos.engines.contract import Control, Job, State
from arithmos.engines.cpu import TOGETHER, CpuEngine
from arithmos.engines.cpu.run import Group, RunState
from arithmos.nn._product import plain_products
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

HERE = Path(__file__).parent
EVALUATION = 10_000
MODEL_NAMES = [name for name in MODELS if not name.startswith("Gate") or name == "GatedNAUNMU"]
INPUTS = (4, 10, 25, 50, 100, 200, 300)
HIDDEN = (2, 4, 8, 16, 32, 64)


class Lean:
    """A training loop in eager torch with little in it but the mathematics: no checks of ranges, no records.

    Products are the formula in one line, and weights that are projected are not clipped besides.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec, self.network = spec, spec.network(0)
        for layer in self.network:
            if hasattr(layer, "clip"):
                layer.clip = False
        self.ranges = [
            (layer.get_parameter(name), *ends)
            for layer in self.network
            for name, ends in getattr(layer, "bounds", dict)().items()
        ]
        self.optimizer = torch.optim.Adam(self.network.parameters())
        (self.a, self.b), (self.c, self.d) = spec.task.subsets(0)
        self.fixed = torch.rand(EVALUATION, spec.sizes[0]) + 1

    def target(self, x: Tensor) -> Tensor:
        return (x[:, self.a : self.b].sum(1) * x[:, self.c : self.d].sum(1)).unsqueeze(1)

    def train(self, iterations: int) -> None:
        self.network.train()
        with plain_products():
            for _ in range(iterations):
                x = torch.rand(128, self.spec.sizes[0]) + 1
                loss = F.mse_loss(self.network(x), self.target(x))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                with torch.no_grad():
                    for p, low, high in self.ranges:
                        p.clamp_(low, high)

    @torch.no_grad()
    def evaluate(self) -> None:
        self.network.eval()
        with plain_products():
            for _ in range(2):
                float(F.mse_loss(self.network(self.fixed), self.target(self.fixed)))


def spec_of(model: str, inputs: int = 100, hidden: int = 2) -> Spec:
    task = Arithmetic(operation="mul", input_size=inputs)
    return Spec(task=task, model=MODELS[model], hidden_size=hidden)


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


class Timed:
    """A stretch of runs after their first 3000 iterations, to be timed again and again; whole evaluations included.

    They are those of the first seeds that do not meet NaN there.
    """

    def __init__(self, spec: Spec, thousands: int) -> None:
        self.spec, self.iterations = spec, 1000 * thousands
        self.compilation = 0.0
        self.states: dict[int, State] = {}
        for seed in count():
            run = RunState(spec, seed, Control())
            self.compilation += seconds(lambda run=run: run.kernel.compile())
            run.train(3000)
            state = {name: array.copy() for name, array in run.state().items()}
            run.train(3000 + self.iterations)
            if not run.judge.ended[0]:
                self.states[seed] = state
            if len(self.states) == TOGETHER:
                break

    def group(self) -> Group:
        """Return the runs at the beginning of the stretch."""
        control = Control(resume=lambda spec, seed: self.states[seed])
        return Group([RunState(self.spec, seed, control) for seed in self.states])

    def seconds(self, group: Group | None = None) -> float:
        """Return seconds per iteration of a run of a group, by default a new one."""
        group = group or self.group()
        return seconds(lambda: group.train(group.step + self.iterations)) / self.iterations / TOGETHER


def compare(spec: Spec, turns: int, thousands: int) -> tuple[float, float, float]:
    """Return microseconds per iteration of torch and of the engine, and seconds of compilation."""
    lean = Lean(spec)
    timed = Timed(spec, thousands)
    lean.train(50)
    theirs, evaluation, ours = [], [], []
    for _ in range(turns):
        theirs.append(seconds(lambda: lean.train(200)) / 200)
        evaluation.append(seconds(lean.evaluate) / spec.evaluate_every)
        ours.append(timed.seconds())
    torch_s = statistics.median(theirs) + statistics.median(evaluation)
    return torch_s * 1e6, statistics.median(ours) * 1e6, timed.compilation


def growth(specs: list[Spec], turns: int) -> list[float]:
    """Return microseconds per iteration of each spec."""
    stretches = [Timed(spec, 2) for spec in specs]
    times: list[list[float]] = [[] for _ in stretches]
    for _ in range(turns):
        for timed, found in zip(stretches, times, strict=True):
            found.append(timed.seconds())
    return [statistics.median(found) * 1e6 for found in times]


def cores(iterations: int, cores: list[int]) -> dict[int, float]:
    """Return the seconds that sixteen runs take on one core and on two."""
    spec = spec_of("NMU")
    job = Job(replace(spec, iterations=iterations), tuple(range(16)))
    took = {}
    for used in (1, 2):
        os.sched_setaffinity(0, cores[:used])
        took[used] = seconds(lambda used=used: list(CpuEngine(used).run([job])))
    return took


def memory(spec: Spec) -> float:
    """Megabytes of a run."""
    arrays = RunState(spec, 0, Control()).arrays
    return sum(a.nbytes for a in arrays.values()) / 1e6


def figure(curves: dict[str, tuple[tuple[int, ...], list[float]]]) -> str:
    """Microseconds against size, both on logarithmic axes, as SVG."""
    colors = ("#1b6ca8", "#c8553d", "#588157")
    width, height, left, bottom = 560, 360, 60, 50
    x_range, y_range = (1.5, 400.0), (1.0, 400.0)

    def place(value: float, bounds: tuple[float, float], length: float) -> float:
        return float(np.log(value / bounds[0]) / np.log(bounds[1] / bounds[0]) * length)

    def x(value: float) -> float:
        return left + place(value, x_range, width - left - 20)

    def y(value: float) -> float:
        return height - bottom - place(value, y_range, height - bottom - 20)

    font = 'font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {font}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for tick in (2, 4, 10, 25, 50, 100, 200, 300):
        parts.append(f'<path d="M{x(tick):.1f} 20V{height - bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{height - bottom + 18}" text-anchor="middle">{tick}</text>')
    for tick in (1, 3, 10, 30, 100, 300):
        parts.append(f'<path d="M{left} {y(tick):.1f}H{width - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick}</text>')
    for row, (color, (name, (sizes, times))) in enumerate(zip(colors, curves.items(), strict=True)):
        points = [(x(size), y(value)) for size, value in zip(sizes, times, strict=True)]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{color}"/>' for a, b in points]
        parts.append(f'<text x="{left + 12}" y="{38 + 18 * row}" fill="{color}">{name}</text>')
    parts.append(
        f'<text x="{(left + width) / 2}" y="{height - 10}" text-anchor="middle">inputs, or hidden units</text>'
    )
    parts.append(
        f'<text transform="translate(16 {height / 2}) rotate(-90)" text-anchor="middle">µs an iteration</text></svg>'
    )
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer turns, fewer sizes")
    parser.add_argument("--write", action="store_true", help="write engines.md and engines.svg")
    options = parser.parse_args()
    turns, thousands = (3, 2) if options.quick else (9, 10)
    inputs, hidden = (INPUTS[::3], HIDDEN[::3]) if options.quick else (INPUTS, HIDDEN)
    where = machine.describe("numba", "torch")
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[:1])
    torch.set_num_threads(1)
    kernel_cache.load = lambda name: None  # every kernel is compiled

    rows = []
    for name in MODEL_NAMES:
        theirs, ours, compilation = compare(spec_of(name), turns, thousands)
        rows.append([name, f"{theirs:.0f}", f"{ours:.2f}", f"{theirs / ours:.0f}", f"{compilation:.1f}"])
        print("  ".join(rows[-1]), flush=True)
    curves = {
        "NMU, inputs": (inputs, growth([spec_of("NMU", n) for n in inputs], turns)),
        "NALU, inputs": (inputs, growth([spec_of("NALU", n) for n in inputs], turns)),
        "NMU, hidden units": (hidden, growth([spec_of("NMU", hidden=h) for h in hidden], turns)),
    }
    sections = [
        "# Engines",
        f"{where} Made by `benchmarks/engines.py{' --quick' if options.quick else ''}`.",
        f"Microseconds of processor time per iteration of one run on one core, including evaluation, in a group of "
        f"{TOGETHER} runs; torch is a lean eager loop in the same process. Compilation is in seconds, once per "
        "process; the first kernel also compiles the functions that all kernels share.",
        machine.table(["model", "torch", "cpu", "times faster", "compilation"], rows),
        "Cost by size:",
        *[
            machine.table([name, *map(str, sizes)], [["µs", *(f"{value:.2f}" for value in times)]])
            for name, (sizes, times) in curves.items()
        ],
        "![Cost by size](engines.svg)",
    ]
    if len(allowed) > 1:
        took = cores(40_000 if options.quick else 400_000, allowed)
        sections.append(
            f"Sixteen runs on two cores take {took[2] / took[1]:.2f} times the processor time they take on one."
        )
    sections.append(
        f"Memory per run in flight: {memory(spec_of('NMU')):.1f} MB for the default problem, "
        f"{memory(spec_of('NALU', 300, 10)):.1f} MB for a NALU with 300 inputs and 10 hidden units."
    )
    text = "\n\n".join(sections) + "\n"
    print(text)
    if options.write:
        (HERE / "engines.md").write_text(text, encoding="utf-8")
        (HERE / "engines.svg").write_text(figure(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
