"""Training of arithmetic units: regularizers, constraints, and the whole recipe in `train`.

Any module can take part through the methods it has: `weights()` (effective weight matrices by name), `sparsity()` (a
differentiable scalar) and `bounds()` (ranges by parameter name). A module that has a method answers for everything
inside it; otherwise its children are searched.
"""

from .adam import Training as Training
from .constraints import constrain as constrain
from .exact import Solution as Solution
from .least_squares import Minimum as Minimum
from .least_squares import Stopping as Stopping
from .least_squares import least_squares as least_squares
from .levenberg_marquardt import Account as Account
from .levenberg_marquardt import LevenbergMarquardt as LevenbergMarquardt
from .recipe import train as train
from .regularizers import input_regularizer_add as input_regularizer_add
from .regularizers import input_regularizer_mul as input_regularizer_mul
from .regularizers import sparsity_error as sparsity_error
from .regularizers import sparsity_loss as sparsity_loss
from .schedule import SparsitySchedule as SparsitySchedule

__all__ = [
    "Account",
    "LevenbergMarquardt",
    "Minimum",
    "Solution",
    "SparsitySchedule",
    "Stopping",
    "Training",
    "constrain",
    "input_regularizer_add",
    "input_regularizer_mul",
    "least_squares",
    "sparsity_error",
    "sparsity_loss",
    "train",
]
