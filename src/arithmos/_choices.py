"""Names that options accept, apart from what they name: to check an option need not load an engine or a table."""

from typing import Literal, get_args

ENGINE_NAMES = ("cuda", "cpu", "torch")
"""Engines from the fastest to the most general."""

Format = Literal["text", "markdown", "latex", "html", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""Formats in which a table can be written."""

Rule = Literal["epsilon", "absolute", "last", "exact"]
RULES: tuple[Rule, ...] = get_args(Rule)
"""Rules by which the run of a single layer is solved."""
