"""The catalogue: experiments, each a name, what it is in its paper, and the specs to run; and figures without runs."""

from ..nn._unit import Catalogue
from . import as_written, madsen2020, mnist
from .experiment import Experiment as Experiment
from .files import SUFFIX as SUFFIX
from .files import load as load
from .files import to_toml as to_toml
from .finding import OWN as OWN
from .finding import Finding as Finding
from .finding import findings as findings
from .surfaces import SURFACES as SURFACES
from .surfaces import Surface as Surface

EXPERIMENTS: Catalogue[Experiment] = Catalogue(
    "experiment", *madsen2020.CONTENTS, *mnist.CONTENTS, *as_written.CONTENTS
)
"""All experiments by name, in the order of their paper."""

FIGURES: Catalogue[Experiment | Surface] = Catalogue("figure", *EXPERIMENTS.values(), *SURFACES.values())
"""All that can be drawn: the experiments, and the figures without runs."""
