"""Types in annotations. Shapes are those of jaxtyping if it is loaded (tests, type checkers), else plain tensors."""

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Float
else:

    class Float:
        """Stand-in for `jaxtyping.Float`, so that the units need torch and numpy only."""

        def __class_getitem__(cls, item: Any) -> type:
            return Tensor


Device = torch.device | str | None
Dtype = torch.dtype | None

__all__ = ["Device", "Dtype", "Float"]
