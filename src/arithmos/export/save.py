"""Save a network in any format, chosen by the file's suffix."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from numpy.typing import ArrayLike
from torch import nn

from .._files import write_whole
from ..formula import expression
from ..formula.expression import SNAP
from .programs import save_onnx, save_pt2
from .source import source
from .tensors import save_safetensors

FORMATS = {
    "safetensors": ".safetensors",
    "pt2": ".pt2",
    "onnx": ".onnx",
    "python": ".py",
    "numpy": ".py",
    "c": ".c",
}
"""Formats with their suffixes; .py is plain Python by default."""


def save(
    model: nn.Module,
    path: str | Path,
    format: str | None = None,
    *,
    about: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    snap: float = SNAP,
    inputs: ArrayLike | None = None,
) -> Path:
    """Save a stack of units for another program.

    Args:
        model: a unit or a `torch.nn.Sequential` of units.
        path: the file.
        format: one of `FORMATS`; by default, the one of the file's suffix.
        about: metadata for a safetensors file.
        names, snap, inputs: arguments of `formula.expression`, for source code.

    Raises:
        ValueError: neither the format nor the suffix is known.
    """
    path = Path(path)
    chosen = format or next((name for name, ending in FORMATS.items() if path.suffix == ending), None)
    if chosen not in FORMATS:
        endings = ", ".join(dict.fromkeys(FORMATS.values()))
        raise ValueError(
            f"path must end in one of {endings}, or format be one of {', '.join(FORMATS)}, got {str(path)!r}"
        )
    if chosen == "safetensors":
        save_safetensors(model, path, about)
    elif chosen == "pt2":
        save_pt2(model, path)
    elif chosen == "onnx":
        save_onnx(model, path)
    else:
        write_whole(path, source(expression(model, names, snap, inputs=inputs), chosen))
    return path
