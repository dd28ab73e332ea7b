"""Reader of IDX files, the format of MNIST.

A file has four bytes, 0, 0, the type of a value and the number of dimensions; then a big-endian 32-bit size per
dimension; then the values, with the last dimension contiguous. Files may be gzipped, whatever their names say.
"""

import gzip
import hashlib
import math
import os
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

UINT8 = 8
"""Type code of bytes, the only one in MNIST."""


class BadFile(ValueError):
    """A data file that is damaged or is not the expected one; the message names it and says why."""


MOST_BYTES = 2**30
"""Largest unpacked size; MNIST has 47 million bytes. A small file can unpack to more than fits into memory."""

_GZIP = b"\x1f\x8b"


def read_idx(path: str | os.PathLike[str], dimensions: int, *, sha256: str | None = None) -> NDArray[np.uint8]:
    """Read the bytes of an IDX file as a read-only array.

    Args:
        path: the file, gzipped or not.
        dimensions: number of dimensions that the array must have.
        sha256: expected SHA-256 of the unpacked file, if known.

    Raises:
        BadFile: the file is not a valid one.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]))
        ...     file.flush()
        ...     read_idx(file.name, dimensions=1)
        array([5, 0, 4], dtype=uint8)
    """
    data = _unpacked(Path(path))
    start = 4 + 4 * dimensions
    if len(data) < start:
        raise BadFile(f"{path} is truncated: an IDX file has a header of {start} bytes, this has {len(data)} in all")
    magic, *shape = struct.unpack(f">I{dimensions}I", data[:start])
    right = UINT8 << 8 | dimensions
    if magic != right:
        raise BadFile(f"{path} is not an IDX file of {dimensions} dimensions of bytes: {_about(magic, right)}")
    size = math.prod(shape)
    if size != len(data) - start:
        fault = "truncated" if size > len(data) - start else "too long"
        sizes = " × ".join(map(str, shape))
        raise BadFile(f"{path} is {fault}: its header says {sizes} = {size} bytes, and it has {len(data) - start}")
    if sha256 not in (None, found := hashlib.sha256(data).hexdigest()):
        raise BadFile(f"{path} is not the expected file: its SHA-256, unpacked, is {found}, not {sha256}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def _unpacked(path: Path) -> bytes:
    with path.open("rb") as file:
        packed = file.peek(len(_GZIP)).startswith(_GZIP)
        try:
            data = (gzip.GzipFile(fileobj=file) if packed else file).read(MOST_BYTES + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise BadFile(f"{path} is damaged: it does not unpack ({error})") from error
    if len(data) > MOST_BYTES:
        raise BadFile(f"{path} is too long: it has more than {MOST_BYTES} bytes")
    return data


def _about(magic: int, right: int) -> str:
    zeros, kind, dimensions = magic >> 16, magic >> 8 & 255, magic & 255
    if not zeros and kind == UINT8:
        return f"it has {dimensions}"
    if not zeros and kind in (9, 11, 12, 13, 14):
        return f"its values are of type {kind}, and {UINT8} stands for bytes"
    return f"its magic number is {magic}, not {right}"
