"""What is imported only by those who use it."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(package: str, extra: str = "") -> Iterator[None]:
    """What is imported inside may not be installed.

    Raises:
        ModuleNotFoundError: it is not, and how to have it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        advice = f"install arithmos[{extra}]" if extra else f"install {package}"
        raise ModuleNotFoundError(f"{error.name} is not installed; {advice}", name=error.name) from error
