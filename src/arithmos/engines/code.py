"""Digest of the code that determines the numbers of a run: a state is resumed only by the code that made it."""

import hashlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOMS = ("data", "engines", "nn", "optim", "spec", "tasks", "theory", "philox.py")
"""Folders and files of the package that determine the numbers of a run. A user's unit is part of the spec's id."""

LIBRARIES = ("numpy", "torch", "numba")


def digest(root: Path) -> str:
    """Return the digest of the package under `root`, and of the versions of the libraries that it computes with."""
    found = hashlib.blake2b(digest_size=8)
    for path in _files(root):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for name in LIBRARIES:
        found.update(f"{name} {_version(name)}\0".encode())
    return found.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    """Yield sources, and data such as thresholds."""
    for room in ROOMS:
        path = root / room
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in files if file.is_file() and file.suffix != ".pyc")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


CODE = digest(Path(__file__).parents[1])
"""Digest of the code of this process, taken when it is imported: files may change while a campaign runs."""
