"""Command line of the benchmark."""

import argparse

from . import __doc__ as about
from .harness import misses, run
from .methods import METHODS
from .table import table


def main() -> None:
    """Run fits, print the table, or list what was not recovered."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    fits = verbs.add_parser("run", help="run the fits that are missing")
    fits.add_argument("method", choices=METHODS)
    fits.add_argument("--seeds", type=int, default=3, help="sets of rows per case")
    fits.add_argument("--workers", type=int, default=1, help="processes")
    fits.add_argument("--only", default="", help="part of the names of the cases to run")
    fits.add_argument("--every", type=int, default=1, help="run every Nth case only")
    fits.add_argument("--again", action="store_true", help="repeat fits by another version of the code that missed")
    verbs.add_parser("table", help="print the results as Markdown")
    verbs.add_parser("misses", help="print what Arithmos did not recover")
    options = parser.parse_args()
    if options.verb == "run":
        run(
            options.method,
            options.seeds,
            options.workers,
            only=options.only,
            every=options.every,
            again=options.again,
        )
    else:
        print(table() if options.verb == "table" else misses())


if __name__ == "__main__":
    main()
