"""Save a network or a formula in any format, chosen by the file's suffix."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from .._files import write_whole
from ..formula import Expression, expression
from ..formula.expression import SNAP
from .excel import spreadsheet
from .source import source

if TYPE_CHECKING:
    from torch import nn

FORMATS = {
    "safetensors": ".safetensors",
    "pt2": ".pt2",
    "onnx": ".onnx",
    "python": ".py",
    "numpy": ".py",
    "sympy": ".py",
    "c": ".c",
    "latex": ".tex",
    "excel": ".txt",
}
"""Formats with their suffixes; .py is plain Python by default."""


def save(
    model: "nn.Module | Expression",
    path: str | Path,
    format: str | None = None,
    *,
    about: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    snap: float = SNAP,
    inputs: ArrayLike | None = None,
    cells: Sequence[str] | None = None,
) -> Path:
    """Save a stack of units or a formula for another program.

    Args:
        model: a unit, a `torch.nn.Sequential` of units, or an expression, such as `ArithmeticRegressor.formula_`.
        path: the file.
        format: one of `FORMATS`; by default, the one of the file's suffix.
        about: metadata for a safetensors file.
        names, snap, inputs: arguments of `formula.expression`, for the source code of a network.
        cells: for a spreadsheet, the cell of each input.

    Raises:
        ValueError: neither the format nor the suffix is known, or a formula is to be saved as parameters.
    """
    path, chosen = Path(path), format_of(path, format)
    if chosen == "safetensors":
        if isinstance(model, Expression):
            raise ValueError("a formula has no parameters; format must be another than 'safetensors'")
        from .tensors import save_safetensors

        save_safetensors(model, path, about)
    elif chosen in ("pt2", "onnx"):
        from .programs import save_onnx, save_pt2

        (save_pt2 if chosen == "pt2" else save_onnx)(model, path)
    else:
        found = model if isinstance(model, Expression) else expression(model, names, snap, inputs=inputs)
        write_whole(path, spreadsheet(found, cells) if chosen == "excel" else source(found, chosen))
    return path


def format_of(path: str | Path, format: str | None = None) -> str:
    """Return the format of a file, by its suffix if none is given.

    Raises:
        ValueError: neither the format nor the suffix is known.
    """
    chosen = format or next((name for name, ending in FORMATS.items() if Path(path).suffix == ending), None)
    if chosen not in FORMATS:
        endings = ", ".join(dict.fromkeys(FORMATS.values()))
        raise ValueError(
            f"path must end in one of {endings}, or format be one of {', '.join(FORMATS)}, got {str(path)!r}"
        )
    return chosen
