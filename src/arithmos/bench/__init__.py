"""The bench: run experiments into a store, and compare a unit with the published ones.

Every command of the command line has its counterpart here.
"""

from .._extras import needs

with needs("bench"):
    from ..engines.cost import TIMES as TIMES
    from ._compare import compare as compare
    from ._plan import Plan as Plan
    from ._plan import catalogue as catalogue
    from ._plan import clock as clock
    from ._plan import estimate as estimate
    from ._plan import load_units as load_units
    from ._plan import plan as plan
    from ._plan import select as select
    from ._plan import unequal as unequal
    from ._rank import Ranked as Ranked
    from ._rank import rank as rank
    from ._run import Missed as Missed
    from ._run import Outcome as Outcome
    from ._run import Progress as Progress
    from ._run import Silent as Silent
    from ._run import interruptible as interruptible
    from ._run import run as run
    from ._run import workforce as workforce
