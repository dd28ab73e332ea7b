"""Files of weights that are not quite those of a network."""

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import nn

from arithmos.export import load_safetensors, save_safetensors
from arithmos.nn import UNITS, Recurrent

from . import named
from .files import broken_bytes, place, writable
from .values import json_like, near

KEY = "arithmos.network"
DTYPES = ["F32", "F64", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "F4", "X", "", 1, None]


def weights_file(rng: random.Random, folder: Path) -> str:
    """A network that computes something and can be saved again, or a message that names the file."""
    path = folder / "network.safetensors"
    save_safetensors(network(rng), path, {"spec": "{}"})
    path.write_bytes(rng.choice([broken_bytes, header, said, tensors])(rng, path.read_bytes()))
    try:
        found, about = load_safetensors(path)
    except ValueError as error:
        return named(error, [str(path)])
    first = found[0]
    width = first.input_size if isinstance(first, Recurrent) else first.in_features
    with torch.no_grad():
        outputs = found(torch.ones(2, 3, width, dtype=next(found.parameters()).dtype))
    assert outputs.shape[:2] == (2, 3)
    save_safetensors(found, folder / "again.safetensors", about)
    again, _ = load_safetensors(folder / "again.safetensors")
    assert repr(again) == repr(found)
    for name, tensor in again.state_dict().items():
        assert tensor.equal(found.state_dict()[name]) or tensor.isnan().any()
    return "accepted"


def network(rng: random.Random) -> nn.Sequential:
    """Two layers of any units, the first of them maybe a cell."""
    first, second = (UNITS[name].module for name in rng.choices([*UNITS], k=2))
    layers = [Recurrent(first(5, 2)) if rng.random() < 0.3 else first(3, 2), second(2, 1)]
    return nn.Sequential(*layers).to(rng.choice([torch.float32, torch.float64]))


def parted(data: bytes) -> tuple[Any, bytes]:
    """The header of a file and its numbers."""
    [length] = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(head: Any, numbers: bytes) -> bytes:
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + numbers


def header(rng: random.Random, data: bytes) -> bytes:
    """Another type, shape or place of a tensor; or sizes that no file has."""
    head, numbers = parted(data)
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice([name for name in head if name != "__metadata__"] or ["x"])
        tensor = head.setdefault(name, {})
        change = rng.randrange(6)
        if change == 0:
            tensor["dtype"] = rng.choice(DTYPES)
        elif change == 1:
            tensor["shape"] = [size * rng.choice([0, 1, 2, -1, 2**31, 2**62]) for size in tensor.get("shape", [1])]
        elif change == 2:
            tensor["data_offsets"] = [rng.choice([0, 1, 8, 2**40, 2**63, -1]) for _ in range(2)]
        elif change == 3:
            head[rng.choice(["0.weight", "9.weight", "é", "__metadata__"])] = head.pop(name)
        elif change == 4:
            tensor["shape"] = tensor.get("shape", [1])[::-1]
        else:
            return struct.pack("<Q", rng.choice([0, 1, 7, 2**20, 2**40, 2**64 - 1])) + data[8:]
    return joined(head, numbers[: rng.choice([0, 1, len(numbers)])] if rng.random() < 0.2 else numbers)


def said(rng: random.Random, data: bytes) -> bytes:
    """What the file says of its network."""
    head, numbers = parted(data)
    metadata = head["__metadata__"]
    plain = json.loads(metadata[KEY])
    for _ in range(rng.choice([0, 1, 1, 2])):
        table, key, _ = place(rng, plain)
        table[key] = writable(near(rng, table[key]) if rng.random() < 0.5 else json_like(rng))
        if rng.random() < 0.1:
            del table[key]
        if not plain:
            break
    whole = [json.dumps(plain)] * 8 + ["", "{", "null", "[" * 100_000, '[{"unit": "x.py:X", "version": 1}]']
    metadata[KEY] = rng.choice(whole)
    if rng.random() < 0.1:
        del metadata[KEY]
    return joined(head, numbers)


def tensors(rng: random.Random, data: bytes) -> bytes:
    """Other tensors than the network has: of another type or shape, one too many, none."""
    head, _ = parted(data)
    names = [name for name in head if name != "__metadata__"]
    shapes = {name: tuple(head[name]["shape"]) for name in names}
    kinds = [rng.choice([torch.float32, torch.float16, torch.int64, torch.bool])] * 2 + [torch.float64]
    made = {name: torch.zeros(shape, dtype=rng.choice(kinds)) for name, shape in shapes.items()}
    for name in rng.sample(names, rng.randrange(2)):
        made[name] = torch.full(rng.choice([(1,), (2, 2), (0, 3), shapes[name][::-1]]), rng.choice([0.5, np.nan]))
    if rng.random() < 0.2:
        made["more"] = torch.zeros(1)
    if rng.random() < 0.1:
        made = {}
    return save(made, head["__metadata__"])
