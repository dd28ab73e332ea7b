"""Experiments in TOML files: their keys, reading and writing them."""

from .load import SUFFIX as SUFFIX
from .load import load as load
from .write import to_toml as to_toml
