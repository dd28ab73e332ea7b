"""What is imported only by those who use it."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(what: str) -> Iterator[None]:
    """What is imported inside may not be installed.

    Args:
        what: what it comes with, such as "arithmos[formula]".

    Raises:
        ModuleNotFoundError: it is not, and how to have it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error.name} is not installed; install {what}", name=error.name) from error
