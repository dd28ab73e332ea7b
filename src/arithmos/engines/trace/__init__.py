"""Units as programs: the forward pass of a module, traced once, and its derivatives.

The fused engines generate their code from these programs, so that a unit has one definition, its module.
"""

from .forward import UnitProgram as UnitProgram
from .forward import trace as trace
from .units import identity as identity
from .units import logarithmic as logarithmic
from .units import unit_program as unit_program
from .values import Untraceable as Untraceable
