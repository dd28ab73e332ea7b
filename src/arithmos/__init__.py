"""Neural arithmetic units as PyTorch layers, and what it takes to train and understand them."""

from . import functional, nn, theory
from .training import (
    SparsitySchedule,
    Training,
    constrain,
    input_regularizer_add,
    input_regularizer_mul,
    sparsity_error,
    sparsity_loss,
    train,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "SparsitySchedule",
    "Training",
    "constrain",
    "functional",
    "input_regularizer_add",
    "input_regularizer_mul",
    "nn",
    "sparsity_error",
    "sparsity_loss",
    "theory",
    "train",
]
