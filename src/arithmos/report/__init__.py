"""From stored runs to what a reader sees."""

from .summary import summarize as summarize
from .tables import render as render
