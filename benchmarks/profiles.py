"""Measure where the time of the cpu engine goes: each function that an iteration calls is left out in turn.

The source of a kernel is text, so a kernel without a call is that text without a line. Its time, subtracted from that
of the whole kernel, is the time of the call. Calls overlap in the processor, so their times do not add up to the whole.
They are times of the process, on one core, for runs of the default problem (100 inputs, 2 hidden units, batch 128);
each is the least of several, with all kernels in turns.

    python benchmarks/profiles.py [--models NMU NALU] [--turns 9] [--write]

`--write` writes the tables to `profiles.md`, next to this file.
"""

import argparse
import ast
from collections import defaultdict
from pathlib import Path
from unittest import mock

import machine

from arithmos.engines.cpu import kernel
from arithmos.engines.cpu.run import Group, program_of
from arithmos.spec import MODELS
from engines import Timed, spec_of

THOUSANDS = 1
GENERATOR = "draw_inputs"
"""The random inputs, which are most of the floor of an iteration."""
EVALUATION = " and evaluate(runs, setting) == 0"


def calls(text: str) -> dict[str, list[ast.Expr]]:
    """Return the calls of an iteration of a kernel that do not regularize, by function."""
    [train] = (node for node in ast.parse(text).body if getattr(node, "name", "") == "train")
    [loop] = (node for node in ast.walk(train) if isinstance(node, ast.For) and ast.unparse(node.target) == "step")
    found = defaultdict(list)

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                found[ast.unparse(node.value.func)].append(node)
            elif isinstance(node, ast.For):
                visit(node.body)
            elif isinstance(node, ast.If) and "modes" in ast.unparse(node.test):
                visit(node.orelse)

    visit(loop.body)
    return found


def without(text: str, left_out: list[ast.Expr]) -> str:
    """Return a kernel without some calls."""
    lines = text.splitlines()
    for call in reversed(left_out):
        lines[call.lineno - 1 : call.end_lineno] = [f"{' ' * call.col_offset}pass"]
    return "\n".join(lines) + "\n"


def compiled(timed: Timed, text: str) -> Group:
    """Return the runs of a stretch with another kernel."""
    with mock.patch.object(kernel, "source", return_value=text):
        group = timed.group()
    group.runs[0].kernel.compile()
    return group


def profile(model: str, turns: int) -> str:
    """Return the table of a model."""
    spec = spec_of(model)
    timed = Timed(spec, THOUSANDS)
    text = kernel.source(program_of(spec), spec).replace("= any_nan(p)", "= 0")  # all run on, whatever they compute
    texts = {"": text, "an evaluation every 1000 iterations": text.replace(EVALUATION, " and False")}
    texts |= {f"`{name}`": without(text, found) for name, found in calls(text).items()}
    groups = {name: compiled(timed, text) for name, text in texts.items()}
    least = dict.fromkeys(groups, float("inf"))
    for _ in range(turns):
        for name, group in groups.items():
            least[name] = min(least[name], timed.seconds(group) * 1e6)
    whole = least.pop("")
    times = {name: whole - rest for name, rest in least.items()}
    rows = sorted(((name, value) for name, value in times.items() if value >= 0.01), key=lambda row: -row[1])
    rows += [("overlap", whole - sum(value for _, value in rows)), ("whole", whole)]
    shares = [[name, f"{value:.2f}", f"{value / whole:.0%}"] for name, value in rows]
    generator = times[f"`{GENERATOR}`"]
    floor = f"{model}: {whole:.2f} µs per iteration; the random inputs alone take {generator:.2f}."
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
        "Functions named `layer…` are generated from the units. *Overlap* is what is left: small calls, and what calls "
        "take together more than alone.",
        *(profile(model, options.turns) for model in options.models),
    ]
    written = "\n\n".join(sections) + "\n"
    print(written)
    if options.write:
        (Path(__file__).parent / "profiles.md").write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
