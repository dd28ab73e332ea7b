"""Formulas of networks: read them from weights, and test whether they are the ones looked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .expression import Expression as Expression
from .expression import expression as expression
from .expression import from_weights as from_weights
from .stages import Rounding as Rounding

if TYPE_CHECKING:
    from .exact_judge import recovered as recovered
    from .exact_judge import recovered_runs as recovered_runs


def __getattr__(name: str) -> Any:
    """Import the exact judge when it is first used: a formula found in data needs no torch."""
    if name in ("recovered", "recovered_runs"):
        return getattr(import_module(".exact_judge", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
