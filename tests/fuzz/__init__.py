"""Every public entry, fed with what a person or a broken disk might: accepted and right, or refused with a message.

A target makes one case from a generator of random numbers, tries it, and says what became of it. It raises if what was
accepted is not right, if what was refused is not named, or if something else came out than a refusal. The same number
makes the same case, so a failure is found again by `fuzz(target, folder, [number])`.
"""

import random
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

Target = Callable[[random.Random, Path], str]
"""From random numbers and an empty folder to "accepted", or to "refused"."""

LIMIT_S = 60
"""Longer than any case takes on a slow machine: what lasts longer hangs."""


def fuzz(target: Target, folder: Path, numbers: Iterable[int]) -> Counter[str]:
    """How many cases were accepted, and how many refused."""
    outcomes: Counter[str] = Counter()
    for number in numbers:
        own = folder / f"{target.__name__}-{number}"
        own.mkdir()
        try:
            with limited(LIMIT_S):
                outcomes[target(random.Random(f"{target.__name__} {number}"), own)] += 1
        except BaseException as error:
            raise AssertionError(f"case {number} of {target.__name__}: {type(error).__name__}: {error}") from error
    return outcomes


def named(error: Exception, names: Iterable[str]) -> str:
    """What was refused; its message says one of these names."""
    message = str(error)
    assert any(name in message for name in names), f"{type(error).__name__}: {message!r} names none of {names}"
    return "refused"


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises inside once the time is over."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"it hangs: not done after {seconds} s")

    previous = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
