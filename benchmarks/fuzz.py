"""How many fuzzed cases of every public entry are accepted and right, and how many refused with a message.

    python benchmarks/fuzz.py > benchmarks/fuzz.md

A case that is neither ends the program with its number; `--cases` gives another number of cases for each target.
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
    "experiment_file": "experiment files, wrong in a character, a line, a key or a value",
    "data_file": "CSV and NPY files of rows",
    "measured_file": "CSV files to find a formula in",
    "digits_file": "IDX files, gzipped or not",
    "unit_file": "files of units",
    "command_line": "command lines of all verbs",
    "store_part": "parts of a store with a sound digest: columns, types, nulls, bounds, metadata, foreign files",
    "weights_file": "safetensors, wrong in a byte, in the header, in what it says of its network, or in its tensors",
    "formula": "formulas as text, wrong in a name, a sign, a parenthesis, or out of bounds",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, help="so many of each target")
    cases = parser.parse_args().cases
    print("# Fuzzed entries\n")
    print("Each case was accepted and right, or refused with a message that names the argument, the key or the file.")
    print("None ended in a traceback, hung, or left a file behind that it should not have.\n")
    print("| target | what | accepted | refused | cases | seconds |")
    print("|---|---|---|---|---|---|")
    for target, count in TARGETS.items():
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
