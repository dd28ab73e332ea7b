"""Optional dependencies."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(what: str) -> Iterator[None]:
    """Turn a missing package inside into an error that says what to install.

    Args:
        what: what to install, such as "arithmos[formula]".

    Raises:
        ModuleNotFoundError: a package is not installed; the message says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error.name} is not installed; install {what}", name=error.name) from error
