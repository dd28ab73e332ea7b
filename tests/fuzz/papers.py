"""Papers in folders: a record with a slip of the pen, and printed numbers in a file that is not quite a table."""

import random
import re
from pathlib import Path
from unittest.mock import patch

from arithmos.papers import PAPERS
from arithmos.papers.verdicts import verdicts
from arithmos.store import Store

from . import named
from .files import DOCS, broken_bytes, broken_text

BLOCK = re.search(
    r"^```python\n(.*?)^```$", (DOCS.parent / "howto/own-paper.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
HEAD, RECORD = BLOCK[1].split("\n\ntask = ", 1)  # imports are left as they are: who knows what else could be imported
NUMBERS = "model,operation,n,k,solved_at_median\nNALU,mul,100,24,\nNMU,mul,100,94,12000\n"
WORDS = ["", "NMU", "x", "-1", "0", "1e999", "nan", "101", "9.5", '"', "é", "\0", "model,k"]


def paper_folder(rng: random.Random, folder: Path) -> str:
    """Is loaded, and its numbers are read and compared, or is refused with its folder or file."""
    record, numbers = f"task = {RECORD}", NUMBERS
    if rng.random() < 0.6:
        record = broken_text(rng, record)
    else:
        numbers = broken_table(rng, numbers)
    (folder / "__init__.py").write_bytes(f"{HEAD}\n\n{record}".encode("utf-8", "surrogateescape"))
    data = numbers.encode("utf-8", "surrogateescape")
    (folder / "products.csv").write_bytes(broken_bytes(rng, data) if rng.random() < 0.05 else data)
    try:
        with patch.dict(PAPERS._papers):
            paper = PAPERS.find(str(folder))
            frame = verdicts(Store(folder / "none"), paper.experiments)
    except FileNotFoundError:  # whose name was changed; the error has it
        return "refused"
    except ValueError as error:
        return named(error, [str(folder)])
    tables = [one.published.table for one in paper.experiments if one.published]
    for table in tables:
        assert (table["k"].dropna() <= table["n"][table["k"].notna()]).all()
    assert {*frame["verdict"]} <= {"not run"}
    return "accepted"


def broken_table(rng: random.Random, text: str) -> str:
    """The same table with another word in some fields, or broken as a text."""
    if rng.random() < 0.4:
        return broken_text(rng, text)
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(rng.choice([0, 1, 1, 2])):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice(WORDS)
    return "\n".join(map(",".join, rows)) + "\n"
