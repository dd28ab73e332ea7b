"""Time strangers' units behind a NAU on the default problem, each on the engine that runs it on this machine.

Both sides run in this process, pinned to one core, alternately; results are medians of several repetitions, in
processor time, which other processes disturb least. Every number is microseconds per iteration of one run (100 inputs,
2 hidden units, batch 128), including its share of the evaluation every 1000 iterations. Compilation is not timed.

    python benchmarks/units.py [--quick] [--write]

`--write` writes the table to `units.md`, next to this file.
"""

import argparse
import os
import statistics
import time
from dataclasses import replace
from pathlib import Path

import machine
import torch

from arithmos.engines import Engines
from arithmos.engines.contract import Control
from arithmos.engines.torch import _Stack
from arithmos.spec import Layer, Model, Spec
from arithmos.tasks import Arithmetic
from engines import Lean, compare, seconds

HERE = Path(__file__).parent
UNITS = {
    "DividingNMU of `examples/own_unit.py`": f"{HERE.parent / 'examples' / 'own_unit.py'}:DividingNMU",
    "iNALU": "INALU",
    "RealNPU": "RealNPU",
    "NPU": "NPU",
    "NRU": "NRU",
    "NMRU": "NMRU",
    "stochastic NMU": "SNMU",
    "two matrices and a sigmoid gate": f"{HERE / 'strangers.py'}:GatedPair",
    "MLP with one hidden layer": f"{HERE / 'strangers.py'}:MLP",
}
SEEDS = 64
"""Runs of a stack of the torch engine."""

_PAIRS = [f"{how}, {clock}" for clock in ("elapsed", "processor") for how in ("eager", "compiled")]
STACKS = ["threads", *_PAIRS, "times faster, elapsed", "times faster, processor"]
"""Columns of the table of stacks."""


def spec_of(unit: str, **changes: int) -> Spec:
    return Spec(task=Arithmetic(operation="mul"), model=Model("unit", (Layer("NAU"), Layer(unit))), **changes)


def stack(spec: Spec, iterations: int, turns: int) -> tuple[float, float]:
    """Return microseconds of elapsed and of processor time per iteration and run of a stack of the torch engine."""
    made = _Stack(spec, tuple(range(SEEDS)), torch.device("cpu"), Control())

    def advance() -> None:
        for _ in range(iterations):
            made.iterate()

    made.iterate()  # compiles, if it is worth it
    took = []
    for _ in range(turns):
        begun = time.perf_counter()
        busy = seconds(advance)
        took.append((time.perf_counter() - begun, busy))
    elapsed, busy = (statistics.median(column) / iterations / SEEDS for column in zip(*took, strict=True))
    return 1e6 * elapsed, 1e6 * busy


def row(name: str, unit: str, turns: int, thousands: int) -> list[str]:
    spec = spec_of(unit)
    engine = Engines(say=print).choose(spec)
    if engine.name == "cpu":
        theirs, ours, _ = compare(spec, turns, thousands)
    else:
        lean = Lean(spec)
        lean.train(50)
        took = [seconds(lambda: lean.train(200)) / 200 for _ in range(turns)]
        theirs = 1e6 * statistics.median(took)
        ours = stack(spec, 20, turns)[1]
    return [name, engine.name, f"{theirs:.0f}", f"{ours:.1f}", f"{theirs / ours:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--write", action="store_true", help="write units.md")
    options = parser.parse_args()
    turns, thousands = (3, 2) if options.quick else (9, 4)
    where = machine.describe("numba", "torch")
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[:1])
    torch.set_num_threads(1)
    rows = []
    for name, unit in UNITS.items():
        rows.append(row(name, unit, turns, thousands))
        print("  ".join(rows[-1]), flush=True)
    mlp, stacks = spec_of(UNITS["MLP with one hidden layer"]), []
    for threads in (1, 2):
        os.sched_setaffinity(0, allowed[:threads])
        torch.set_num_threads(threads)
        eager, compiled = (stack(replace(mlp, iterations=n), 20, turns) for n in (10_000, mlp.iterations))
        both = [f"{value:.0f}" for pair in zip(eager, compiled, strict=True) for value in pair]
        stacks.append([threads, *both, *(f"{a / b:.1f}" for a, b in zip(eager, compiled, strict=True))])
    sections = [
        "# Strangers' units",
        f"{where} Made by `benchmarks/units.py{' --quick' if options.quick else ''}`.",
        "Each unit behind a NAU on the default problem, on the engine that runs it on this machine. Microseconds of "
        "processor time per iteration of one run on one core, including evaluation; torch is a lean eager loop in the "
        f"same process. The torch engine's iterations are compiled, in a stack of {SEEDS} runs, without evaluation.",
        machine.table(["unit", "engine", "torch", "engine's µs", "times faster"], rows),
        "`tests/agreement/test_steps.py::test_one_step_of_strangers_units` compares one step of each with torch in "
        "float64 on the cpu engine; `test_one_step_of_newer_units` and `test_one_step_of_strangers_units` in "
        "`tests/engines/cuda/test_agreement.py` compare the kernels of the cuda engine, on a processor. No GPU was "
        "measured.",
        f"The MLP on the torch engine, {SEEDS} runs side by side, microseconds per iteration of one run:",
        machine.table(STACKS, stacks),
        "Other processes used the machine, so elapsed time, and with two threads processor time too, in which threads "
        "wait for each other, are those of a busy machine.",
    ]
    text = "\n\n".join(sections) + "\n"
    print(text)
    if options.write:
        (HERE / "units.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
