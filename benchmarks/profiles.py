"""Measure where the time of the cpu engine goes: each call of a kernel is left out in turn.

The source of a kernel is text, so a kernel without one of its calls is that text without a line. Its time, subtracted
from that of the whole kernel, is the time of the call. Calls overlap in the processor, so their times add up to more
than the whole. They are times of the process, on one core, for the default problem (100 inputs, 2 hidden units, batch
128); each is the least of several, with all kernels in turns.

    python benchmarks/profiles.py [--models NMU NALU] [--turns 9] [--write]

`--write` writes the tables to `profiles.md`, next to this file.
"""

import argparse
import ast
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import machine

from arithmos.engines.contract import Control
from arithmos.engines.cpu import kernel
from arithmos.engines.cpu.run import RunState
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

ITERATIONS = 4000
NEVER = 10**9
GENERATOR = "draw_inputs"
"""The random inputs, which are most of the floor of an iteration."""


def spec_of(model: str, evaluate_every: int) -> Spec:
    return Spec(task=Arithmetic(operation="mul"), model=MODELS[model], evaluate_every=evaluate_every)


def calls(text: str) -> Iterator[tuple[str, ast.Expr]]:
    """Yield the calls of an iteration of a kernel that neither evaluate nor regularize, with their names."""
    function = ast.parse(text).body[-1]
    [loop] = (node for node in ast.walk(function) if isinstance(node, ast.For) and ast.unparse(node.target) == "step")

    def visit(body: list[ast.stmt]) -> Iterator[tuple[str, ast.Expr]]:
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                yield ast.unparse(node.value.func), node
            elif isinstance(node, ast.For):
                yield from visit(node.body)
            elif isinstance(node, ast.If) and "modes" in ast.unparse(node.test):
                yield from visit(node.orelse)

    return visit(loop.body)


def without(text: str, call: ast.Expr) -> str:
    """Return a kernel without a call."""
    lines = text.splitlines()
    indent = " " * call.col_offset
    return "\n".join([*lines[: call.lineno - 1], f"{indent}pass", *lines[call.end_lineno :]]) + "\n"


class Timed:
    """A stretch of a run, with the source of its kernel, to be timed again and again."""

    def __init__(self, spec: Spec, text: str) -> None:
        with mock.patch.object(kernel, "source", return_value=text):
            self.run = RunState(spec, 0, Control())
        self.run.kernel.compile()
        self.least = float("inf")

    def turn(self) -> None:
        begun = time.process_time()
        self.run.kernel.function(self.run._table, self.run.setting, 1, 1 + ITERATIONS)
        self.least = min(self.least, (time.process_time() - begun) / ITERATIONS * 1e6)


def profile(model: str, turns: int) -> str:
    """Return the table of a model."""
    spec = spec_of(model, NEVER)
    text = kernel.source(RunState(spec, 0, Control()).program, spec)
    found = list(calls(text))
    whole, judged = Timed(spec, text), Timed(spec_of(model, 1000), text)
    parts = [(name, Timed(spec, without(text, call))) for name, call in found]
    for _ in range(turns):
        for timed in (whole, judged, *(timed for _, timed in parts)):
            timed.turn()
    times = {"an evaluation every 1000 iterations": judged.least - whole.least}
    for name, timed in parts:
        times[name] = times.get(name, 0.0) + whole.least - timed.least
    rows = [(f"`{name}`", value) for name, value in sorted(times.items(), key=lambda item: -item[1]) if value >= 0.01]
    rows += [("overlap", judged.least - sum(value for _, value in rows)), ("whole", judged.least)]
    shares = [[name, f"{value:.2f}", f"{value / judged.least:.0%}"] for name, value in rows]
    floor = f"{model}: {judged.least:.2f} µs per iteration; the random inputs alone take {times[GENERATOR]:.2f}."
    return f"{floor}\n\n{machine.table(['call', 'µs', 'share'], shares)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["NMU", "NACMul", "NALU", "GatedNAUNMU"], choices=MODELS)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--write", action="store_true", help="write profiles.md")
    options = parser.parse_args()
    sections = [
        "# Where the time of the cpu engine goes",
        f"{machine.describe('numba')} Made by `benchmarks/profiles.py`, whose head says how.",
        "Functions named `layer…` are generated from the units. *Overlap* is what calls take together less than alone.",
        *(profile(model, options.turns) for model in options.models),
    ]
    written = "\n\n".join(sections) + "\n"
    print(written)
    if options.write:
        (Path(__file__).parent / "profiles.md").write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
