"""Tables, charts and pages made from stored runs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..papers.claims import claims as claims
    from ..papers.verdicts import verdicts as verdicts
    from .tables.claims import render_claims as render_claims
    from .tables.judges import judges as judges
    from .tables.judges import render_judges as render_judges
    from .tables.results import render as render
    from .tables.summary import summarize as summarize
    from .tables.verdicts import render_verdicts as render_verdicts

_MODULES = {
    "claims": "..papers.claims",
    "judges": ".tables.judges",
    "render": ".tables.results",
    "render_claims": ".tables.claims",
    "render_judges": ".tables.judges",
    "render_verdicts": ".tables.verdicts",
    "summarize": ".tables.summary",
    "verdicts": "..papers.verdicts",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: lists of experiments need no papers, and so no torch."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
