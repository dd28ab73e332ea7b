"""Export of networks and formulas: safetensors, `torch.export`, ONNX, source code, and spreadsheets."""

from .excel import excel as excel
from .programs import module_of as module_of
from .programs import save_onnx as save_onnx
from .programs import save_pt2 as save_pt2
from .rebuild import rebuild as rebuild
from .save import FORMATS as FORMATS
from .save import save as save
from .source import LANGUAGES as LANGUAGES
from .source import source as source
from .stored import StoredNetwork as StoredNetwork
from .stored import stored_network as stored_network
from .tensors import load_safetensors as load_safetensors
from .tensors import save_safetensors as save_safetensors
