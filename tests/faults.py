"""Faults to inject."""

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest


class Disk:
    """A disk on which the `fails_at`-th call that changes it fails; -1 for none."""

    CALLS = ("open", "write", "fsync", "replace", "mkdir", "unlink")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.fails_at = -1
        self.error: BaseException = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        for name in self.CALLS:
            monkeypatch.setattr(os, name, self._wrap(name, getattr(os, name)))

    def _wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls - 1 == self.fails_at:
                if name == "write":
                    real(args[0], args[1][: len(args[1]) // 2])
                raise self.error
            return real(*args, **kwargs)

        return call

    def points(self, work: Callable[[], object]) -> range:
        """Numbers of the calls that this work makes."""
        self.calls, self.fails_at = 0, -1
        work()
        return range(self.calls)

    def failing(self, point: int) -> None:
        self.calls, self.fails_at = 0, point

    def well(self) -> None:
        self.fails_at = -1
