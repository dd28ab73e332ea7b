"""Networks and formulas as `torch.export` and ONNX programs, for any number of rows."""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sympy
import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Proxy, Tracer

from .._extras import needs
from .._files import write_whole
from ..formula import Expression
from ..formula.callables import evaluate
from ..formula.network import of_module
from ..formula.tensors import TORCH


def save_pt2(model: nn.Module | Expression, path: str | Path) -> None:
    """Save a stack of units or a formula as a `torch.export` program; `torch.export.load(path).module()` runs it."""
    rows = {0: torch.export.Dim("rows")}
    file, example = io.BytesIO(), _example(model)
    model = module_of(model) if isinstance(model, Expression) else model
    torch.export.save(torch.export.export(model.eval(), (example,), dynamic_shapes=(rows,)), file)
    write_whole(path, file.getvalue())


def save_onnx(model: nn.Module | Expression, path: str | Path) -> None:
    """Save a stack of units or a formula as ONNX, with input `x` and output `y`; a formula computes in float64."""
    example = _example(model)
    model = module_of(model) if isinstance(model, Expression) else model
    with needs("onnx"):
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    with _quiet():
        program = torch.onnx.export(
            model.eval(),
            (example,),
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


def module_of(formula: Expression) -> nn.Module:
    """Return a formula as a module of torch operations, from tensors `(*, inputs)` to tensors `(*, outputs)`.

    Example:
        >>> import sympy
        >>> a, b = sympy.symbols("a b", real=True)
        >>> module_of(Expression((a / b,), (a, b)))(torch.tensor([[6.0, 3.0]]))
        tensor([[2.]])
    """
    parts = [part for output in formula.outputs for part in sympy.preorder_traversal(output)]
    numbers = {part: float(part) for part in parts if part.is_number}
    constants = {
        number: torch.tensor(value, dtype=torch.float64)  # the exporter to ONNX rounds Python's numbers to float32
        for number, value in numbers.items()
        if float(np.float32(value)) != value
    }

    def forward(x: Tensor) -> Tensor:
        inputs = {symbol: x[..., i] for i, symbol in enumerate(formula.symbols)}
        values = evaluate(formula.outputs, constants | inputs, TORCH)
        columns: list[Any] = [v if isinstance(v, Proxy) else torch.full_like(x[..., 0], float(v)) for v in values]
        return torch.stack(columns, -1)

    tracer = Tracer()  # what is exported knows nothing about SymPy
    graph = tracer.trace(forward)
    return GraphModule(tracer.root, graph)


def _example(model: nn.Module | Expression) -> Tensor:
    """Return two rows of the model's inputs, or two sequences of two steps if it is recurrent."""
    if isinstance(model, Expression):
        return torch.ones(2, len(model.symbols), dtype=torch.float64)
    stages = of_module(model)
    steps = (2,) if any(stage.initial is not None for stage in stages) else ()
    return torch.ones(2, *steps, stages[0].in_features, dtype=next(model.parameters()).dtype)
