"""Networks as safetensors: their parameters, with their structure as JSON. Nothing is pickled."""

import inspect
import json
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .. import __version__, _checks
from .._extras import needs
from .._files import write_whole
from ..nn import UNITS, Recurrent
from ..spec.options import checked

KEY = "arithmos.network"
MOST_HEADER = 2**20
"""Largest header in bytes, which names the layers and tensors; 4,000 layers take about that many."""
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def save_safetensors(model: nn.Module, path: str | Path, about: Mapping[str, str] | None = None) -> None:
    """Save a stack of units as safetensors, with the structure that `load_safetensors` needs to rebuild it.

    Args:
        model: a unit or a `torch.nn.Sequential` of units, including `Recurrent` cells.
        path: the file.
        about: further metadata, such as {"spec": spec.json()}.

    Raises:
        TypeError: a layer is not from arithmos.
    """
    with needs("formula"):
        from safetensors.torch import save

    stack = nn.Sequential(*_flat(model))
    plain = [_describe(module, number) for number, module in enumerate(stack, 1)]
    metadata = {"format": "pt", "arithmos.version": __version__, KEY: json.dumps(plain), **(about or {})}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in stack.state_dict().items()}
    write_whole(path, save(tensors, metadata))


def load_safetensors(path: str | Path) -> tuple[nn.Sequential, dict[str, str]]:
    """Load a network and its metadata from a safetensors file.

    Raises:
        ValueError: the file is damaged, not from arithmos, or from a version with other units.
        FileNotFoundError: there is no such file.
    """
    with needs("formula"):
        from safetensors import SafetensorError, safe_open

    try:
        _check_header(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a mapping)
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{str(path)!r} is not a safetensors file: {error}") from error
    if KEY not in metadata:
        raise ValueError(f"{str(path)!r} does not describe its network; it was not saved by arithmos")
    try:
        network = nn.Sequential(*(_build(entry) for entry in json.loads(metadata.pop(KEY))))
        _check_sizes(network)
        if (
            any(tensor.dtype not in DTYPES for tensor in tensors.values())
            or len({t.dtype for t in tensors.values()}) > 1
        ):
            raise ValueError(f"tensors must be of one of {DTYPES}, got {[t.dtype for t in tensors.values()]}")
        network.load_state_dict(tensors, assign=True)
    except Exception as error:  # a file may hold anything, and torch and Python raise many errors
        raise ValueError(f"{str(path)!r} holds no network that this version of arithmos can load: {error}") from error
    return network, metadata


def _check_header(path: str | Path) -> None:
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
    if MOST_HEADER < size <= os.path.getsize(path):
        raise ValueError(f"the header of {str(path)!r} must have at most {MOST_HEADER:,} bytes, got {size:,}")


def _flat(model: nn.Module) -> list[nn.Module]:
    return [layer for module in model for layer in _flat(module)] if isinstance(model, nn.Sequential) else [model]


def _describe(module: nn.Module, number: int) -> dict[str, Any]:
    if isinstance(module, Recurrent):
        return _describe(module.unit, number) | {"initial": module.initial}
    unit = next((unit for unit in UNITS.values() if unit.module is type(module)), None)
    if unit is None:
        raise TypeError(f"layer {number} must be a unit of arithmos.nn, got {type(module).__name__}")
    parameters = inspect.signature(type(module)).parameters
    options = {name: getattr(module, name) for name in parameters if name not in ("device", "dtype")}
    return {"unit": unit.name, "version": unit.version, "options": options}


def _build(entry: dict[str, Any]) -> nn.Module:
    unit = UNITS.get(entry["unit"])
    if unit is None or unit.version != entry["version"]:
        raise ValueError(f"this version of arithmos has no unit {entry['unit']!r} of version {entry['version']}")
    options = dict(entry["options"])
    if options.get("init") != "paper":  # then it is the default, whatever the version that wrote the file called it
        options.pop("init", None)
    sizes = [_checks.whole(name, options.pop(name), 1) for name in ("in_features", "out_features")]
    module = unit.module(*sizes, **dict(checked(unit.name, tuple(options.items()))), device="meta")
    return Recurrent(module, initial=_checks.number("initial", entry["initial"])) if "initial" in entry else module


def _check_sizes(network: nn.Sequential) -> None:
    for number, (before, after) in enumerate(pairwise(network), 2):
        given = before.state_size if isinstance(before, Recurrent) else before.out_features
        taken = after.input_size if isinstance(after, Recurrent) else after.in_features
        if given != taken:
            raise ValueError(f"layer {number} must take the {given} values of the layer before it, got {taken}")
