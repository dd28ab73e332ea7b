"""Experiments in TOML files: the keys they have, reading them, writing them."""

from .load import SUFFIX as SUFFIX
from .load import load as load
from .write import to_toml as to_toml
