"""The catalogue: experiments, each a name, what it is in its paper, and the specs to run; and figures without runs."""

from ..nn._unit import Catalogue
from .experiment import Experiment as Experiment
from .files import SUFFIX as SUFFIX
from .files import load as load
from .files import to_toml as to_toml
from .finding import OWN as OWN
from .finding import Finding as Finding
from .finding import findings as findings
from .madsen2020 import as_written
from .madsen2020 import digits as mnist
from .madsen2020 import experiments as madsen2020
from .madsen2020.surfaces import SURFACES as SURFACES
from .madsen2020.surfaces import Surface as Surface

EXPERIMENTS: Catalogue[Experiment] = Catalogue(
    "experiment", *madsen2020.CONTENTS, *mnist.CONTENTS, *as_written.CONTENTS
)
"""All experiments by name, in the order of their paper."""

FIGURES: Catalogue[Experiment | Surface] = Catalogue("figure", *EXPERIMENTS.values(), *SURFACES.values())
"""All that can be drawn: the experiments, and the figures without runs."""
