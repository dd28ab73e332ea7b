"""Cache of compiled kernels on the user's disk.

An entry is named by a digest of everything that determines it, and starts with a digest of its contents: a damaged one
is compiled again. Its contents are executed, so nothing is read from a folder or file that another user could have
written. A cache that cannot be used costs time only.
"""

import contextlib
import hashlib
from pathlib import Path

from .._files import TEMPORARY, write_whole
from .._platform import cache_folder, private, remove

MOST = 200
"""Entries to keep; beyond that the oldest are removed."""

_DIGEST = 16


def digest(*parts: str) -> str:
    """Return a digest of texts, as a name for the entry that they determine.

    Example:
        >>> digest("source", "version") == digest("sourcev", "ersion")
        False
    """
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=_DIGEST).hexdigest()


def load(name: str) -> bytes | None:
    """Return the contents of an entry; None if there is none, or none to trust."""
    path = _folder() / name
    with contextlib.suppress(OSError):
        if private(path.parent) and private(path):
            entry = path.read_bytes()
            if _checksum(entry[_DIGEST:]) == entry[:_DIGEST]:
                return entry[_DIGEST:]
    return None


def save(name: str, contents: bytes) -> None:
    """Write an entry, if that is possible."""
    path = _folder() / name
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if private(path.parent):
            write_whole(path, _checksum(contents) + contents, mode=0o600)
            _forget_old(path.parent)


def _folder() -> Path:
    return cache_folder() / "kernels"


def _checksum(contents: bytes) -> bytes:
    return hashlib.blake2b(contents, digest_size=_DIGEST).digest()


def _forget_old(folder: Path) -> None:
    entries = [path for path in folder.iterdir() if not path.name.startswith(TEMPORARY)]
    if len(entries) > MOST:
        ages = {path: path.stat().st_mtime_ns for path in entries}
        for path in sorted(entries, key=ages.__getitem__)[:-MOST]:
            remove(path)
