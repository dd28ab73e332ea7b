"""Time strangers' units behind a NAU on the default problem, each on the engine that runs it on this machine.

Both sides run in this process, pinned to one core, alternately; results are medians of several repetitions, in
processor time, which other processes disturb least. Every number is microseconds per iteration of one run (100 inputs,
2 hidden units, batch 128), including its share of the evaluation every 1000 iterations. Compilation is not timed. Rates
on a GPU are those of `cuda.md`. Single steps are compared with torch, by the loop that the tests have.

    python benchmarks/units.py [--quick] [--write]

`--write` writes the table to `units.md`, next to this file.
"""

import argparse
import os
import re
import statistics
import sys
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
    names, err = ("torch", "–") if engine.name == "torch" else ("cpu, cuda", error(spec))
    return [name, names, f"{theirs:.0f}", f"{ours:.1f}", f"{theirs / ours:.0f}", on_gpu(name), err]


def on_gpu(name: str) -> str:
    """Return the rate of a unit in the tables of `cuda.md`."""
    label = "MLP behind a NAU" if name.startswith("MLP") else name
    cells = re.search(rf"^\| {re.escape(label)} \|(.*)", (HERE / "cuda.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert cells, f"{label} is not in cuda.md"
    return cells[1].split("|")[1].strip()


def error(spec: Spec) -> str:
    """Return the error of a step of the cpu engine, as a multiple of float32 torch's: the largest of the arrays."""
    sys.path.insert(0, str(HERE.parent))
    from tests.agreement.conftest import STEPPERS
    from tests.agreement.test_steps import errors

    ours, theirs = errors(STEPPERS["cpu"], spec)
    return f"{(ours / theirs).max():.2f}"


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
        machine.table(
            ["unit", "engines", "torch", "engine's µs", "times faster", "H200, M it/s", "error, times torch's"], rows
        ),
        "Rates on the H200 are those of `cuda.md`; that of the MLP is the torch engine's with 1,024 runs. The error is "
        "that of one step of the cpu engine against the step in float64, over fifty states of a run, divided by "
        "float32 torch's, the largest of those in the parameters and their moments. `test_one_step_of_newer_units` and "
        "`test_one_step_of_strangers_units` in `tests/engines/cuda/test_agreement.py` allow the cuda engine twice "
        "torch's error, and pass on the H200.",
        f"The MLP on the torch engine, {SEEDS} runs side by side, microseconds per iteration of one run:",
        machine.table(STACKS, stacks),
        "With two threads, processor time has that in which they wait for each other.",
    ]
    text = "\n\n".join(sections) + "\n"
    print(text)
    if options.write:
        (HERE / "units.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
