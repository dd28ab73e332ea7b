"""Experiment files, and the tables and units that lie beside them, with mistakes of all sizes in them."""

import gzip
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from tests.digits import idx

from arithmos import bench
from arithmos.data import BadFile, read_idx
from arithmos.engines import Engines
from arithmos.nn import CELLS
from arithmos.papers import EXPERIMENTS, load, to_toml
from arithmos.papers.files.schema import tables
from arithmos.papers.files.write import written
from arithmos.regression.table import read_columns
from arithmos.store import Store
from arithmos.tasks import Rows

from . import named
from .values import json_like, near

DOCS = Path(__file__).parents[2] / "docs" / "experiment-files.md"
KEYS = sorted({key.name for keys in tables().values() for key in keys})
IMPORTS = "import torch\nfrom torch import nn\n"  # left as they are: who knows what else could be imported
UNIT = """
class Own(nn.Module):
    def __init__(self, in_features, out_features, *, scale=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(out_features, in_features))
        self.scale = scale

    def forward(self, x):
        return self.scale * (self.weight * x.unsqueeze(-2) + 1 - self.weight).prod(-1)
"""
TABLE = "a,b,c\n" + "\n".join(f"{row},{row / 7:.3f},{row * row}" for row in range(1, 20)) + "\n"
FILES = [
    *re.findall(r"^```toml\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL),
    *(path.read_text(encoding="utf-8") for path in (DOCS.parents[1] / "examples").glob("*.toml")),
    *map(to_toml, EXPERIMENTS.values()),
    'models = {name = "own", layers = ["NAU", {unit = "own.py:Own", scale = 2.0}]}\ntask.rows = "measured.csv"\n',
]


def experiment_file(rng: random.Random, folder: Path) -> str:
    """A file with a mistake: a character, a line, a value or a key."""
    lay_out(folder)
    text, names = rng.choice(FILES), [*KEYS, "is not valid TOML"]
    if rng.random() < 0.6:
        text, names = broken_values(rng, text)
    else:
        text = broken_text(rng, text)
    path = folder / "own.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    try:
        experiment = load(path)
    except ValueError as error:
        named(error, [str(path)])
        return named(error, names)
    ids = [spec.id for spec in experiment.specs]
    assert ids
    if not any(isinstance(spec.task, Rows) for spec in experiment.specs):
        path.write_text(to_toml(experiment), encoding="utf-8")
        assert [spec.id for spec in load(path).specs] == ids
    return "accepted"


def data_file(rng: random.Random, folder: Path) -> str:
    """Rows of data in a file that is not quite a table."""
    path = folder / rng.choice(["measured.csv", "measured.npy"])
    if path.suffix == ".csv":
        data = broken_text(rng, TABLE).encode("utf-8", "surrogateescape")
    else:
        np.save(path, np.random.default_rng(rng.randrange(99)).normal(size=(9, 3)))
        data = path.read_bytes()
    path.write_bytes(broken_bytes(rng, data) if rng.random() < 0.5 else data)
    (folder / "own.toml").write_text(f'models = "NMU"\ntask.rows = "{path.name}"\n')
    try:
        [spec] = load(folder / "own.toml").specs
    except ValueError as error:
        return named(error, ["task.rows: ", "task.inputs", "task.targets"])
    x, t = spec.task.batch(0, 0, 4)
    assert np.isfinite(x).all()
    assert np.isfinite(t).all()
    return "accepted"


def measured_file(rng: random.Random, folder: Path) -> str:
    """Columns of a file to find a formula in."""
    path = folder / "measured.csv"
    data = broken_text(rng, TABLE.replace(",", rng.choice(",;\t"))).encode("utf-8", "surrogateescape")
    path.write_bytes(broken_bytes(rng, data) if rng.random() < 0.3 else data)
    try:
        table = read_columns(path, ["c"], rng.choice([None, ["a"], ["a", "b"]]))
    except ValueError as error:
        return named(error, [str(path), "column '"])
    assert table.x.shape == (len(table.y), len(table.names))
    assert np.isfinite(table.x).all()
    assert np.isfinite(table.y).all()
    return "accepted"


def digits_file(rng: random.Random, folder: Path) -> str:
    """Images in an IDX file, gzipped or not."""
    path = folder / "images"
    data = idx(np.random.default_rng(rng.randrange(99)).integers(0, 256, (2, 3, 4), np.uint8))
    packed = rng.random() < 0.5
    data = broken_bytes(rng, gzip.compress(data, mtime=0) if packed else data)
    path.write_bytes(gzip.compress(data, mtime=0) if rng.random() < 0.2 else data)
    try:
        images = read_idx(path, 3)
    except BadFile as error:
        return named(error, [str(path)])
    held = path.read_bytes()
    assert idx(images) == (gzip.decompress(held) if held.startswith(b"\x1f\x8b") else held)
    return "accepted"


def unit_file(rng: random.Random, folder: Path) -> str:
    """A user's unit with a slip of the pen."""
    path = folder / "own.py"
    path.write_bytes((IMPORTS + broken_text(rng, UNIT)).encode("utf-8", "surrogateescape"))
    name = f"NAU>{path}:Own"
    try:
        [part] = bench.select(["table-1"], models=[name])
        bench.load_units([part])
        bench.plan([part], Store(folder / "none"), Engines("torch", say=lambda line: None))
    except (ValueError, KeyError) as error:
        return named(error, [str(path)])
    assert [layer.record.name in CELLS for layer in part.specs[0].model.layers] == [True, False]
    assert part.specs[0].id
    return "accepted"


def lay_out(folder: Path) -> None:
    """What the files speak of."""
    (folder / "own.py").write_text(IMPORTS + UNIT)
    for name in ("measured.csv", "far-away.csv"):
        (folder / name).write_text(TABLE)


def broken_values(rng: random.Random, text: str) -> tuple[str, list[str]]:
    """The same document with another value or another key in some places, and the keys of these places."""
    document = tomllib.loads(text)
    names = ["twice", "models"]  # what is the same but for the value that changed, or is gone with the rest
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        table, key, path = place(rng, document)
        other = rng.choice([*KEYS, "x", "é", "a b"])
        change = rng.random()
        if change < 0.1:
            del table[key]
        elif change < 0.3 and isinstance(table, dict):
            table[other] = table.pop(key) if change < 0.2 else writable(json_like(rng))
            names.append(other)
        elif change < 0.6:
            table[key] = writable(near(rng, table[key]))
        else:
            table[key] = writable(json_like(rng))
        names.append(path[-1])
        if not document:
            break
    return "\n".join(written({key: value})[1:-1] for key, value in document.items()), names


def place(rng: random.Random, document: Any) -> tuple[Any, Any, list[str]]:
    """Some place in a document: the table or list, the key or index in it, and the keys that lead there."""
    table, path = document, []
    while True:
        key = rng.choice([*table] if isinstance(table, dict) else range(len(table)))
        path += [key] if isinstance(key, str) else []
        if not isinstance(table[key], dict | list) or not table[key] or rng.random() < 0.3:
            return table, key, path
        table = table[key]


def writable(value: Any) -> Any:
    """A value that TOML has a form for."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, np.generic):
        return value.item()
    return value if value is not None and value != 10**5000 else 0


CHARACTERS = "\0\n\r\t \"'[]{}=,.#:>-+_09eaZ\\\x7f\u202eé𝔘\udcff"


def broken_text(rng: random.Random, text: str) -> str:
    """The same text with characters or lines lost, doubled, swapped, or put in."""
    lines = text.splitlines(keepends=True)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change = rng.randrange(6)
        at = rng.randrange(len(text) + 1)
        if change == 0:
            text = text[:at] + rng.choice(CHARACTERS) + text[at:]
        elif change == 1:
            text = text[:at] + text[at + rng.randrange(1, 5) :]
        elif change == 2:
            text = text[:at] + rng.choice(CHARACTERS) + text[at + 1 :]
        elif change == 3 and lines:
            text = text.replace(line := rng.choice(lines), line * 2, 1)
        elif change == 4 and lines:
            text = text.replace(rng.choice(lines), "", 1)
        else:
            text = text[:at]
    return text


def broken_bytes(rng: random.Random, data: bytes) -> bytes:
    """The same bytes with some of them other ones, or gone."""
    broken = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        if broken:
            broken[rng.randrange(len(broken))] = rng.randrange(256)
    return bytes(broken[: rng.randrange(len(broken) + 1)] if rng.random() < 0.2 else broken)
