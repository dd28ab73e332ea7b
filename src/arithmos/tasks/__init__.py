"""What a network is asked to learn: where its observations come from, and when a run counts as solved."""

from .arithmetic import OPERATIONS as OPERATIONS
from .arithmetic import TEN_PARAMETERS as TEN_PARAMETERS
from .arithmetic import Arithmetic as Arithmetic
from .arithmetic import symbol as symbol
from .digits import DigitSequences as DigitSequences
from .rows import Rows as Rows
from .threshold import Threshold as Threshold
from .threshold import threshold as threshold

Observations = Arithmetic | Rows
"""Tasks of single observations, inputs and targets."""

Task = Observations | DigitSequences
