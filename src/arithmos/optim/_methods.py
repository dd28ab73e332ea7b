"""Search for the modules that take part in training."""

from typing import Any

from torch import nn


def having(module: nn.Module, method: str) -> list[Any]:
    """Return the outermost modules that have a method, each once."""
    if callable(getattr(module, method, None)):
        return [module]
    found = (inner for child in module.children() for inner in having(child, method))
    return list(dict.fromkeys(found))
