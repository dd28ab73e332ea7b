"""From stored runs to what a reader sees."""

from .claim import claims as claims
from .claim import render_claims as render_claims
from .judges import judges as judges
from .judges import render_judges as render_judges
from .summary import summarize as summarize
from .tables import render as render
from .verdict import verdicts as verdicts
from .verdict_tables import render_verdicts as render_verdicts
