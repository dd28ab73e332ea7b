"""All targets, each with the number of cases that a release is tried with."""

from . import Target
from .commands import command_line
from .files import data_file, digits_file, experiment_file, measured_file, unit_file
from .formulas import formula
from .parts import store_part
from .specs import spec
from .weights import weights_file

TARGETS: dict[Target, int] = {
    spec: 10_000,
    experiment_file: 2_000,
    data_file: 1_000,
    measured_file: 1_000,
    digits_file: 2_000,
    unit_file: 1_000,
    command_line: 2_000,
    store_part: 500,
    weights_file: 2_000,
    formula: 10_000,
}
