"""All targets, each with the number of cases that a release is tried with."""

from . import Target
from .commands import command_line
from .files import data_file, digits_file, experiment_file, measured_file, unit_file
from .fits import fitted_file
from .formulas import formula
from .papers import paper_folder
from .parts import store_part
from .second_order import second_order_spec, training_data
from .specs import spec
from .traces import traced_unit
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
    paper_folder: 4_000,
    traced_unit: 2_000,
    second_order_spec: 3_000,
    training_data: 1_500,
    fitted_file: 500,
}
