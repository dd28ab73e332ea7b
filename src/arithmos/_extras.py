"""Optional dependencies."""

from collections.abc import Iterator
from contextlib import contextmanager


def advice(extra: str) -> str:
    """Return how to install an extra, from a package index or in a clone of the project.

    Example:
        >>> advice("report")
        'install it with pip install "arithmos[report]", or in a clone of the project with pip install ".[report]"'
    """
    return (
        f'install it with pip install "arithmos[{extra}]", or in a clone of the project with pip install ".[{extra}]"'
    )


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
