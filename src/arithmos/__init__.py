"""Neural arithmetic units as PyTorch layers, and tools to train and understand them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import functional as functional
    from . import nn as nn
    from . import optim as optim
    from . import theory as theory
    from .optim import Solution as Solution
    from .optim import SparsitySchedule as SparsitySchedule
    from .optim import Training as Training
    from .optim import constrain as constrain
    from .optim import input_regularizer_add as input_regularizer_add
    from .optim import input_regularizer_mul as input_regularizer_mul
    from .optim import sparsity_error as sparsity_error
    from .optim import sparsity_loss as sparsity_loss
    from .optim import train as train

__version__ = "0.2.0"

__all__ = [
    "Solution",
    "SparsitySchedule",
    "Training",
    "constrain",
    "functional",
    "input_regularizer_add",
    "input_regularizer_mul",
    "nn",
    "optim",
    "sparsity_error",
    "sparsity_loss",
    "theory",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: `arithmos --help` needs neither torch nor numpy."""
    if name in ("functional", "nn", "optim", "theory"):
        return import_module(f".{name}", __name__)
    if name in __all__:
        return getattr(import_module(".optim", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
