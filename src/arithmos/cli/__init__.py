"""The command line: each verb parses its arguments, calls its twin in Python, and prints.

What a verb needs is imported when it runs, so that `arithmos --help` loads neither torch nor numpy.
"""

import click

from .. import __version__
from .catalogue import list_, models, show
from .data import data
from .networks import export, fit
from .program import Program
from .rank import rank
from .results import claims, figure, judges, report, table, verdict
from .run import run
from .store import store


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="arithmos list\narithmos run table-1\narithmos table table-1",
)
@click.version_option(__version__, prog_name="arithmos")
def main() -> None:
    """Measure what neural arithmetic units can do.

    Train thousands of networks, judge each one, and compare the results with published numbers.
    """


for verb in (list_, run, table, figure, verdict, claims, judges, report, rank, fit, models, show, export, data, store):
    main.add_command(verb)
