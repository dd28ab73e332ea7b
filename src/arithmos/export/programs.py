"""Networks as programs: `torch.export` and ONNX, for any number of rows."""

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
    """Save a stack of units as a program of `torch.export`; `torch.export.load(path).module()` runs it."""
    rows = {0: torch.export.Dim("rows")}
    file = io.BytesIO()
    torch.export.save(torch.export.export(model.eval(), (_example(model),), dynamic_shapes=(rows,)), file)
    write_whole(path, file.getvalue())


def save_onnx(model: nn.Module, path: str | Path) -> None:
    """Save a stack of units as ONNX, from the input `x` to the output `y`."""
    with needs("onnx and onnxscript"):
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
    assert program is not None, "the exporter gives a program unless it is given a file"
    write_whole(path, program.model_proto.SerializeToString())


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter warns of its own deprecations, and of packages that it would like to see."""
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
    """Two rows of the model's inputs; of a recurrent one, sequences of two steps."""
    stages = of_module(model)
    steps = (2,) if any(stage.initial is not None for stage in stages) else ()
    return torch.ones(2, *steps, stages[0].in_features, dtype=next(model.parameters()).dtype)
