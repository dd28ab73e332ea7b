"""Part: an immutable Parquet file with the digest of its bytes in its name.

It is written under a temporary name, flushed to the disk, and moved into place, so it is complete or absent. Parquet
alone does not detect a flipped bit in a page, let alone in its footer; the digest does.
"""

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .. import __version__
from .._files import TEMPORARY, write_whole
from .._platform import remove, sync_folder
from . import _migrations, _sound
from ._schema import FLOATS, FLOATS_BY_NAME

KIND, SCHEMA_VERSION, PACKAGE_VERSION, NONCE = (
    f"arithmos.{name}".encode() for name in ("kind", "schema", "version", "nonce")
)

ADVICE = {
    errno.ENOSPC: "free some space there and start again; what was stored before is safe",
    errno.EDQUOT: "free some of your quota and start again; what was stored before is safe",
    errno.EACCES: "choose a folder that you may write to, or change its permissions",
    errno.EPERM: "choose a folder that you may write to, or change its permissions",
    errno.EROFS: "the disk is read-only; choose a folder on another one",
    errno.ENOTDIR: "choose a folder, not a file",
    errno.EEXIST: "choose a folder, not a file",
    errno.EMFILE: "close some files or raise the limit (ulimit -n) and try again; nothing is lost",
    errno.ENFILE: "the machine has too many files open; close some and try again; nothing is lost",
    errno.ENOMEM: "free some memory and try again; nothing is lost",
    errno.EAGAIN: "end some threads or processes and try again; nothing is lost",
}

MOST_ROWS = 2**18
"""Most rows of a part; more are written as several parts."""

MOST_BYTES, MOST_TIMES = 2**30, 200
"""Most memory of a part's columns: a number of bytes, or a multiple of the file's size if that is larger."""

OWN_FAULTS = {errno.EACCES, errno.EPERM, errno.EIO, errno.EINVAL, errno.EBADMSG}
"""Errors that concern the file being read; all others concern the machine."""


class Damaged(Exception):
    """File that cannot be trusted, with the reason."""


class Unreadable(Damaged):
    """File that cannot be read now, but may be readable later."""


class NewerError(ValueError):
    """Part that was written by a newer version of arithmos."""


def explain(error: OSError, action: str, path: Path) -> OSError:
    """Return the error with the folder and advice in its message."""
    code = error.errno or errno.EIO
    advice = f"; {ADVICE[code]}" if code in ADVICE else ""
    return OSError(code, f"cannot {action} the store ({os.strerror(code)}){advice}", str(path))


def encode(table: pa.Table, kind: str) -> bytes:
    """Encode a table as the bytes of a part.

    A nonce makes every part unique. So two concurrent `pack`s, each of which takes the other's new part for an old one,
    never remove the last copy of a run: a pack relies only on parts that are newer than all that it removes.
    """
    metadata = {
        KIND: kind,
        SCHEMA_VERSION: str(_migrations.VERSION),
        PACKAGE_VERSION: __version__,
        NONCE: secrets.token_hex(8),
    }
    sink = pa.BufferOutputStream()
    # A dictionary of floats is larger than the floats; with their bytes split by position they shrink by a tenth.
    pq.write_table(
        table.replace_schema_metadata(metadata),
        sink,
        compression="zstd",
        use_dictionary=[field.name for field in table.schema if pa.types.is_string(field.type)],
        use_byte_stream_split=[
            *(f"{field.name}.list.element" for field in table.schema if field.type == FLOATS),
            *(f"{field.name}.key_value.value.list.element" for field in table.schema if field.type == FLOATS_BY_NAME),
        ],
        write_statistics=["spec_id", "seed", "engine"],
        write_page_checksum=True,
    )
    data: bytes = sink.getvalue().to_pybytes()
    return data


def digest(data: bytes) -> str:
    """Return the digest of a file's bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def place(folder: Path, kind: str, data: bytes) -> str:
    """Write a part into a folder atomically and return its name.

    Raises:
        OSError: the part is not stored, and nothing is left of it.
    """
    name = f"{kind}-{digest(data)}.parquet"
    try:
        make_folder(folder)
        try:
            write_whole(folder / name, data)
        except FileNotFoundError:  # removed as abandoned by a pack whose clock is days ahead
            make_folder(folder)
            write_whole(folder / name, data)
    except OSError as error:
        raise explain(error, "write to", folder) from error
    return name


def make_folder(folder: Path) -> None:
    """Make a folder, its parents first."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)


def try_to_write(folder: Path) -> None:
    """Raise if a part could not be written."""
    trial = folder / f"{TEMPORARY}{os.getpid()}-trial-{secrets.token_hex(8)}"
    try:
        make_folder(folder)
        write_whole(trial, bytes(4096))
        remove(trial)
    except OSError as error:
        raise explain(error, "write to", folder) from error


def verified_bytes(path: Path, kind: str) -> bytes:
    """Return the bytes of a part, or raise if they do not match the digest in its name."""
    name = re.fullmatch(rf"{kind}-([0-9a-f]{{32}})\.parquet", path.name)
    if name is None:
        raise Damaged("foreign: its name is not that of a part")
    try:
        data = path.read_bytes()
    except (OSError, MemoryError) as error:
        raise fault(error, path) from error
    if digest(data) != name[1]:
        raise Damaged(f"damaged: its {len(data)} bytes do not have the digest in its name")
    return data


def read(
    source: Path | pa.NativeFile, path: Path, schema: pa.Schema, columns: Sequence[str], sound: Collection[str] = ()
) -> pa.Table:
    """Read columns of a part and migrate them.

    Args:
        source: the file, or its bytes.
        path: the file, for messages.
        schema: schema of this kind of part.
        columns: the columns to read.
        sound: columns of this part that were checked before.

    Raises:
        Damaged: the file is not a sound part.
        NewerError: this version of arithmos does not know its schema.
        OSError: the machine is short of files, memory or threads.
    """
    kind = path.name.partition("-")[0]
    known = set(columns) <= set(sound)
    wanted = dict.fromkeys((*columns, *(() if known else _sound.needed(columns))))
    try:
        # A thread of Arrow that releases our bytes while Python exits would abort the process, so none is used.
        with pq.ParquetFile(source, page_checksum_verification=True) as file:
            metadata, stored = file.metadata, file.schema_arrow
            version = _version(stored.metadata or {}, kind, path)
            there = [name for name in stored.names if name in {*wanted, *_migrations.sources(stored.names, wanted)}]
            large = not known and _check_size(metadata, there, source)
            table = None if large else file.read(columns=there, use_threads=False)
        if table is None:
            texts = [name for name in there if pa.types.is_string(stored.field(name).type)]
            form = {"metadata": metadata, "read_dictionary": texts, "page_checksum_verification": True}
            with pq.ParquetFile(source, **form) as file:
                table = file.read(columns=there, use_threads=False)
            _check_texts(table, source)
        table = _migrations.migrate(table, kind, version)
        table = table.select([*wanted]).cast(pa.schema([schema.field(name) for name in wanted]))
        if not known:
            _sound.check(table)
        return table.select(columns)
    except NewerError:
        raise
    except (pa.ArrowException, MemoryError, OSError, KeyError, ValueError) as error:
        raise fault(error, path) from error


def version(metadata: Mapping[bytes, bytes]) -> int:
    """Return the version of a part's schema."""
    return int(metadata[SCHEMA_VERSION])


def _version(metadata: Mapping[bytes, bytes], kind: str, path: Path) -> int:
    """Return the version of a part's schema, or raise if it cannot be read."""
    if metadata.get(KIND, b"").decode() != kind:
        raise Damaged("foreign: a Parquet file, but not a part of this store")
    found = version(metadata)
    if found > _migrations.VERSION:
        raise _newer(path, found, metadata[PACKAGE_VERSION].decode())
    if found < 1:
        raise Damaged(f"foreign: there is no version {found} of the store's schema")
    return found


def _check_size(metadata: pq.FileMetaData, names: Collection[str], source: Path | pa.NativeFile) -> bool:
    """Check the memory that columns need, before any is allocated.

    Returns:
        Whether repeated text could take too much; `_check_texts` must check it then.
    """
    if metadata.num_rows > MOST_ROWS:
        raise Damaged(f"foreign: it has {metadata.num_rows:,} rows, and a part has at most {MOST_ROWS:,}")
    total = text = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema.partition(".")[0] in names:
                repeated = 8 * column.num_values if column.has_dictionary_page else 0
                total += max(column.total_uncompressed_size, repeated)
                if repeated and column.physical_type == "BYTE_ARRAY":
                    if column.path_in_schema not in names:
                        raise Damaged(f"foreign: {column.path_in_schema} has a dictionary")
                    text += column.num_values * column.total_uncompressed_size
    _check_bytes(total, source)
    return total + text > MOST_BYTES


def _check_texts(table: pa.Table, source: Path | pa.NativeFile) -> None:
    """Check the memory that text needs once each row has its own."""
    chunks = [chunk for column in table.columns if pa.types.is_dictionary(column.type) for chunk in column.chunks]
    lengths = (pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() for chunk in chunks)
    _check_bytes(sum(length or 0 for length in lengths), source)


def _check_bytes(total: int, source: Path | pa.NativeFile) -> None:
    size = source.stat().st_size if isinstance(source, Path) else source.size()
    if total > max(MOST_BYTES, MOST_TIMES * size):
        raise Damaged(f"foreign: its {size:,} bytes become {total:,} in memory")


def fault(error: Exception, path: Path) -> Exception:
    """Classify an error on reading a part: it is gone, it is damaged, or the machine is short of something.

    A file that another machine removed is not found, or, on a network disk, its handle is stale. Arrow has a class for
    every fault of a file; its base class is left for threads that cannot be started.
    """
    code = getattr(error, "errno", None)
    if isinstance(error, FileNotFoundError) or code == errno.ESTALE:
        return FileNotFoundError(*error.args)
    if isinstance(error, MemoryError):
        return explain(OSError(errno.ENOMEM, ""), "read", path)
    if type(error) is pa.ArrowException:
        return explain(OSError(errno.EAGAIN, ""), "read", path)
    if isinstance(error, OSError) and code is not None:
        return Unreadable(f"unreadable: {os.strerror(code)}") if code in OWN_FAULTS else explain(error, "read", path)
    return Damaged(f"damaged: {error}")


def _newer(path: Path, version: int, package: str) -> NewerError:
    return NewerError(
        f"{path} has version {version} of the store's schema, written by arithmos {package}; this arithmos "
        f"{__version__} reads up to version {_migrations.VERSION}: update arithmos to read this store"
    )
