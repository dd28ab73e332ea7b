"""Formulas of networks: read them from weights, and test whether they are the ones looked for."""

from .expression import Expression as Expression
from .expression import expression as expression
from .expression import from_weights as from_weights
from .recovered import recovered as recovered
from .recovered import recovered_runs as recovered_runs
from .stages import Rounding as Rounding
