"""Atomic files: a full disk or a kill leaves the old file, never part of a new one."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from ._platform import CREATE, flush, replace, sync_folder

TEMPORARY = ".unfinished-"
"""Prefix of the names of unfinished files."""


def write_whole(path: str | Path, data: bytes | str, *, mode: int = 0o666) -> None:
    """Write a file under a temporary name in its folder, flush it to the disk, and move it into place.

    Links are followed, and a file keeps its permissions. Anything but a file, such as a pipe, is written to directly.

    Args:
        path: the file.
        data: the contents; text is encoded as UTF-8, with escapes for lone surrogates, as in odd file names.
        mode: permissions of a new file, from which the process's mask is taken.

    Raises:
        OSError: writing failed, and nothing unfinished is left; the error names the file.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "formula.txt")
        >>> write_whole(path, "x₁ · x₂")
        >>> path.read_text(encoding="utf-8")
        'x₁ · x₂'
    """
    data = data.encode(errors="backslashreplace") if isinstance(data, str) else data
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            Path(path).write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data, mode)
    except OSError as error:
        code = error.errno or errno.EIO
        raise OSError(code, os.strerror(code), str(path)) from error


def check_place(path: str | Path) -> None:
    """Raise the error that `write_whole` would end with, as far as it can be seen before there is anything to write.

    Raises:
        OSError: the path is a folder, or there is no folder to write the file to.
    """
    place = Path(os.path.realpath(path))
    code = 0
    if place.is_dir():
        code = errno.EISDIR
    elif not place.exists() or place.is_file():  # a pipe is written to directly
        if not place.parent.is_dir():
            code = errno.ENOTDIR if place.parent.exists() else errno.ENOENT
        elif not os.access(place.parent, os.W_OK | os.X_OK):
            code = errno.EACCES
    if code:
        raise OSError(code, os.strerror(code), str(path))


def _replace(path: Path, data: bytes, mode: int) -> None:
    temporary = path.parent / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
    try:
        descriptor = os.open(temporary, CREATE, mode)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            with suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            flush(descriptor)
        finally:
            os.close(descriptor)
        replace(temporary, path)
    except BaseException:
        with suppress(OSError):  # the first error says more
            os.unlink(temporary)
        raise
    sync_folder(path.parent)
