"""Tables, charts and pages made from stored runs."""

from ..papers.claims import claims as claims
from ..papers.verdicts import verdicts as verdicts
from .tables.claims import render_claims as render_claims
from .tables.judges import judges as judges
from .tables.judges import render_judges as render_judges
from .tables.results import render as render
from .tables.summary import summarize as summarize
from .tables.verdicts import render_verdicts as render_verdicts
