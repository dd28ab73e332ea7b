"""Export of networks and formulas: safetensors, `torch.export`, ONNX, source code, and spreadsheets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .excel import excel as excel
from .save import FORMATS as FORMATS
from .save import save as save
from .source import LANGUAGES as LANGUAGES
from .source import source as source

if TYPE_CHECKING:
    from .programs import module_of as module_of
    from .programs import save_onnx as save_onnx
    from .programs import save_pt2 as save_pt2
    from .rebuilt import rebuild as rebuild
    from .stored import StoredNetwork as StoredNetwork
    from .stored import stored_network as stored_network
    from .tensors import load_safetensors as load_safetensors
    from .tensors import save_safetensors as save_safetensors

_MODULES = {
    "StoredNetwork": ".stored",
    "load_safetensors": ".tensors",
    "module_of": ".programs",
    "rebuild": ".rebuilt",
    "save_onnx": ".programs",
    "save_pt2": ".programs",
    "save_safetensors": ".tensors",
    "stored_network": ".stored",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a formula found in data is exported without torch."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
