"""Networks as `torch.export` and ONNX programs, for any number of rows."""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from .._extras import needs
from .._files import write_whole
from ..formula.network import of_module


def save_pt2(model: nn.Module, path: str | Path) -> None:
    """Save a stack of units as a `torch.export` program; `torch.export.load(path).module()` runs it."""
    rows = {0: torch.export.Dim("rows")}
    file = io.BytesIO()
    torch.export.save(torch.export.export(model.eval(), (_example(model),), dynamic_shapes=(rows,)), file)
    write_whole(path, file.getvalue())


def save_onnx(model: nn.Module, path: str | Path) -> None:
    """Save a stack of units as ONNX, with input `x` and output `y`."""
    with needs("onnx"):
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    with _quiet():
        program = torch.onnx.export(
            model.eval(),
            (_example(model),),
            input_names=["x"],
            output_names=["y"],
            dynamic_shapes=({0: torch.export.Dim("rows")},),
            dynamo=True,
            verbose=False,
        )
    assert program is not None, "without a file the exporter returns a program"
    write_whole(path, program.model_proto.SerializeToString())


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's warnings about its own deprecations and about optional packages."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _example(model: nn.Module) -> Tensor:
    """Return two rows of the model's inputs, or two sequences of two steps if it is recurrent."""
    stages = of_module(model)
    steps = (2,) if any(stage.initial is not None for stage in stages) else ()
    return torch.ones(2, *steps, stages[0].in_features, dtype=next(model.parameters()).dtype)
