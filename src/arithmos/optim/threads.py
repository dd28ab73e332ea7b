"""Threads of torch."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(small: bool = True) -> Iterator[None]:
    """Use one thread of torch for a small problem: several would only wait for each other.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if small else before)
        yield
    finally:
        torch.set_num_threads(before)
