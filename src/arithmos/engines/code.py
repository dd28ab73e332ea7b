"""Digests of the code that determines the numbers of a run.

A state is resumed, and a compiled loop loaded, only by the code that made it; workers of a cluster have that of their
client.
"""

import hashlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOMS = ("data", "engines", "nn", "optim", "spec", "tasks", "theory", "philox.py")
"""Folders and files of the package that determine the numbers of a run. A user's unit is part of the spec's id."""

LIBRARIES = ("numpy", "torch", "numba")


def digest(root: Path) -> str:
    """Return the digest of the package under `root`."""
    found = hashlib.blake2b(digest_size=8)
    for path in _files(root):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def with_libraries(source: str) -> str:
    """Return the digest of a package's digest and of the versions of the libraries that it computes with."""
    versions = "\0".join([source, *(f"{name} {_version(name)}" for name in LIBRARIES)])
    return hashlib.blake2b(versions.encode(), digest_size=8).hexdigest()


def _files(root: Path) -> Iterator[Path]:
    """Yield sources, and data such as thresholds."""
    for room in ROOMS:
        path = root / room
        files = sorted(path.rglob("[!.]*")) if path.is_dir() else [path]
        yield from (file for file in files if file.is_file() and file.suffix != ".pyc")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


SOURCE = digest(Path(__file__).parents[1])
"""Digest of the code of this process, taken when it is imported: files may change while a campaign runs."""

CODE = with_libraries(SOURCE)
"""The same with its libraries."""
