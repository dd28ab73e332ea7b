"""The catalogue of experiments: each a name, what it is in its paper, and the specs to run."""

from ..nn._unit import Catalogue
from . import madsen2020
from .experiment import Experiment as Experiment

EXPERIMENTS: Catalogue[Experiment] = Catalogue("experiment", *madsen2020.CONTENTS)
"""All experiments by name, in the order of their paper."""
