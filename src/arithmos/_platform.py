"""Differences between Linux, macOS and Windows. Every other module is written as if there were none."""

import errno
import os
import platform
import signal
import stat
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ModuleNotFoundError:  # on Windows
    fcntl = None

WINDOWS = sys.platform == "win32"
MACOS = sys.platform == "darwin"

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
"""Flags of a new file. Without O_BINARY, Windows turns every line feed into two bytes."""

STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name))
"""Signals that ask a process to stop; SIGBREAK exists on Windows only."""

_IN_USE = (5, 32)
"""Windows errors of a file that another process, such as a virus scanner, has open."""

_PAUSES_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
"""Pauses between attempts on a file that is in use; together a little over a second."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Return the processor's name, in as much detail as the system gives."""
    if MACOS:
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if name := done.stdout.strip():
            return name
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():  # on Linux the platform module only knows "x86_64"
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cache_folder() -> Path:
    """Return the folder of this package in the user's cache, such as `~/.cache/arithmos`."""
    if WINDOWS:
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "arithmos"


def private(path: Path) -> bool:
    """Return whether a file or folder is this user's, and nobody else can write to it."""
    if WINDOWS:  # it has no such bits; what is in the user's profile is the user's
        return True
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def installed() -> list[str | int | None]:
    """Return what changes with the Python environment, its packages and the driver of an NVIDIA GPU."""
    driver = Path("/proc/driver/nvidia/version")
    return [
        sys.executable,
        Path(sysconfig.get_path("purelib")).stat().st_mtime_ns,
        driver.read_text(encoding="utf-8") if driver.exists() else None,
    ]


def may_have_gpu() -> bool:
    """Return whether torch might find a GPU, without loading it: whether the system shows one, or does not say."""
    return WINDOWS or any(
        Path(path).exists() for path in ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
    )


def flush(descriptor: int) -> None:
    """Write a file's data to the disk."""
    if fcntl is not None and hasattr(fcntl, "F_FULLFSYNC"):  # on macOS fsync stops at the drive's own cache
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY):  # a disk without the call
                raise
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    if WINDOWS:  # it cannot open folders; its file systems journal names
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network disks cannot sync folders
            raise
    finally:
        os.close(descriptor)


def replace(source: Path, target: Path) -> None:
    """Move a file over another; on Windows, wait a second for processes that have the other open."""
    _retried(os.replace, source, target)


def remove(path: Path) -> None:
    """Remove a file; on Windows, wait a second for processes that have it open."""
    _retried(os.unlink, path)


def _retried(call: Callable[..., None], *paths: Path) -> None:
    for pause_s in _PAUSES_S:
        try:
            return call(*paths)
        except PermissionError as error:
            if getattr(error, "winerror", None) not in _IN_USE:
                raise
        time.sleep(pause_s)
    call(*paths)


def same(path: Path, other: Path) -> bool:
    """Return whether two paths are the same file or folder, also on a disk that ignores case."""
    try:
        return os.path.samefile(path, other)
    except FileNotFoundError:
        return path.resolve() == other.resolve()


def start_python(code: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start another Python process that runs some code; its output can be read.

    It searches the same paths for modules as this one, except for the current folder, which may hold anybody's files.
    """
    return subprocess.Popen([sys.executable, "-P", "-c", code, *arguments], stdout=subprocess.PIPE)


@contextmanager
def safe_path() -> Iterator[None]:
    """Make libraries start Python processes that ignore modules in the current folder; PYTHONPATH still counts."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTHONSAFEPATH"]
        if before is not None:
            os.environ["PYTHONSAFEPATH"] = before
