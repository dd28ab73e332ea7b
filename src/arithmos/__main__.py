"""`python -m arithmos`, and the command `arithmos`."""

import sys

from ._extras import advice

_BENCH = {"click", "numba", "pandas", "pyarrow", "rich", "scipy"}


def main() -> None:
    """Run the command line, or say which extra to install."""
    try:
        from .cli import main as command

        command()
    except ModuleNotFoundError as error:
        if error.name not in _BENCH:
            raise
        sys.exit(f"arithmos: the command line needs {error.name}, which is not installed; {advice('bench')}")


if __name__ == "__main__":
    main()
