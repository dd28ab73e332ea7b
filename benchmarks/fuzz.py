"""Count how many fuzzed cases of every public entry point are accepted and how many are refused with a message.

    python benchmarks/fuzz.py > benchmarks/fuzz.md

Any other outcome ends the program with the number of the case; `--cases` sets the number of cases per target.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import machine

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz import fuzz
from tests.fuzz.targets import TARGETS

MEANING = {
    "spec": "specs from Python values: tasks, models, options, optimizer",
    "experiment_file": "experiment files with a wrong character, line, key or value",
    "data_file": "CSV and NPY files of rows",
    "measured_file": "CSV files for `arithmos fit`",
    "digits_file": "IDX files, gzipped or not",
    "unit_file": "files that define units",
    "command_line": "command lines of all commands",
    "store_part": "parts of a store with a valid digest: columns, types, nulls, bounds, metadata, foreign files",
    "weights_file": "safetensors with a wrong byte, header, description of the network, or tensor",
    "formula": "formulas as text with a wrong name, sign or parenthesis, or out of bounds",
    "paper_folder": "papers from folders: a record with a mistake in it, or printed numbers in a broken table",
    "traced_unit": "units of random operations: generated loops against torch, outputs and gradients",
    "second_order_spec": "specs with the second-order optimizer, every tenth of them run",
    "training_data": 'rows for `train(method="auto")`: shapes, types, NaN, noise, too few',
    "fitted_file": "tables with a formula in them for `arithmos fit`: separators, decimal commas, gaps, mistakes",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, help="Number of cases per target.")
    parser.add_argument("--only", choices=MEANING, nargs="+", default=[*MEANING], help="Targets [default: all].")
    cases, only = (given := parser.parse_args()).cases, given.only
    print("# Fuzzed entries\n")
    print(
        "Each case was accepted with a correct result, or refused with a message that names the argument, key or file."
    )
    print("No case ended in a traceback, hung, or left an unwanted file.\n")
    print("| target | what | accepted | refused | cases | seconds |")
    print("|---|---|---|---|---|---|")
    for target, count in ((target, count) for target, count in TARGETS.items() if target.__name__ in only):
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            outcomes = fuzz(target, Path(folder), range(cases or count))
        elapsed, total = time.perf_counter() - begun, sum(outcomes.values())
        name = target.__name__
        row = [name, MEANING[name], *(f"{n:,}" for n in (outcomes["accepted"], outcomes["refused"], total))]
        print(f"| {' | '.join(row)} | {elapsed:.0f} |", flush=True)
    print(f"\n{machine.describe('numpy', 'pandas', 'pyarrow')} Made by `benchmarks/fuzz.py`.")


if __name__ == "__main__":
    main()
