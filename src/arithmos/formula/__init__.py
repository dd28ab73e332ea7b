"""From weights to formula: expressions that networks are, and whether they are the ones that were looked for."""

from .expression import Expression as Expression
from .expression import expression as expression
from .expression import from_weights as from_weights
from .network import Rounding as Rounding
from .recovered import recovered as recovered
from .recovered import recovered_runs as recovered_runs
