"""Faults to inject."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from arithmos.store import _part


class Disk:
    """A disk on which the n-th call goes wrong: the call that changes it, or, if asked, one that reads it too.

    Args:
        monkeypatch: undoes it.
        reads: calls that read count as well.
    """

    CHANGES = ("open", "write", "fsync", "close", "replace", "mkdir", "unlink")
    READS = ((os, "scandir"), (Path, "read_bytes"), (_part, "read"))

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, reads: bool = False) -> None:
        self.error: BaseException = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.met: list[str] = []
        self.well()
        for owner, name in [(os, name) for name in self.CHANGES] + [*(self.READS if reads else ())]:
            monkeypatch.setattr(owner, name, self._wrap(name, getattr(owner, name)))

    def _wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._point is None or self._aside:
                return real(*args, **kwargs)
            self.calls += 1
            if self.calls - 1 == self._point or (self._lasting and self.calls - 1 > self._point):
                self.met.append(name)
                self._aside = True
                try:
                    self._wrong(name, real, args)
                finally:
                    self._aside = False
            return real(*args, **kwargs)

        return call

    def _fail(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> None:
        if name == "write":
            real(args[0], args[1][: len(args[1]) // 2])
        elif name == "close":
            real(*args)  # a network disk may say only now that it is full
        raise self.error

    def points(self, work: Callable[[], object]) -> range:
        """Numbers of the calls that this work makes."""
        self._begin(-1)
        work()
        count = self.calls
        self.well()
        return range(count)

    def failing(self, point: int, *, lasting: bool = False) -> None:
        """The call of this number fails from now on; and all after it, if it is lasting."""
        self._begin(point)
        self._lasting = lasting

    def interrupted(self, point: int, work: Callable[[], object]) -> None:
        """Before the call of this number somebody else does this work."""
        self._begin(point)
        self._wrong = lambda *call: work()

    def well(self) -> None:
        """Nothing fails, and nothing is counted."""
        self._begin(None)

    def _begin(self, point: int | None) -> None:
        self.calls, self._point = 0, point
        self._lasting = self._aside = False
        self._wrong: Callable[..., object] = self._fail


@contextmanager
def small_disk(folder: Path, size: str, options: str = "") -> Iterator[Callable[[str], None]]:
    """A disk of its own below a folder, where the system permits it; gives a function that mounts it anew otherwise.

    Raises:
        PermissionError: it does not permit it.
    """
    folder.mkdir(exist_ok=True)

    def mount(options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True) if shutil.which("mount") else None
        if done is None or done.returncode:
            raise PermissionError(done.stderr.strip() if done else "there is no mount")

    mount(f"size={size}")
    try:
        yield lambda options: mount(f"remount,{options}")
    finally:
        subprocess.run(["umount", str(folder)], check=True)
