"""Optional dependencies."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec


def advice(extra: str) -> str:
    """Return how to install an extra, from a package index or in a clone of the project.

    Example:
        >>> advice("report")
        'install it with pip install "arithmos[report]", or in a clone of the project with pip install ".[report]"'
    """
    return (
        f'install it with pip install "arithmos[{extra}]", or in a clone of the project with pip install ".[{extra}]"'
    )


def installed(*packages: str) -> None:
    """Raise an error if one of these packages is not installed, without loading any.

    Raises:
        ModuleNotFoundError: a package is not installed.
    """
    for package in packages:
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a missing package inside into an error that says what to install.

    Args:
        extra: the extra that has the package.

    Raises:
        ModuleNotFoundError: a package is not installed; the message says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.msg.endswith(advice(extra)):
            raise
        package = (error.name or "a package").partition(".")[0]
        raise ModuleNotFoundError(f"{package} is not installed; {advice(extra)}", name=error.name) from error
