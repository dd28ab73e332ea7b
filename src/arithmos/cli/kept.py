"""Answers that take seconds to compute, kept in the user's cache until something that they depend on changes.

Experiments are specs, and specs know their units: to list them loads torch.
"""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import __version__
from .._files import write_whole
from .._platform import cache_folder, cores, installed

PACKAGE = Path(__file__).parent.parent


def kept(name: str, make: Callable[[], Any], depends_on: Sequence[Any] = ()) -> Any:
    """Return an answer from the cache, or compute it and keep it, if there is nothing to warn about.

    Args:
        name: name of the file in the cache; it keeps the last answer only.
        make: computes the answer, made of what JSON can write.
        depends_on: what the answer depends on beside this package, made of what JSON can write.
    """
    newest = max(path.stat().st_mtime_ns for path in PACKAGE.rglob("*.py"))
    made_of = [__version__, newest, *depends_on]
    file = cache_folder() / f"{name}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):  # there is none, or another program's
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["made_of"] == made_of:
            return found["answer"]
    with warnings.catch_warnings(record=True) as said:
        answer = make()
    for one in said:
        warnings.showwarning(one.message, one.category, one.filename, one.lineno)
    with suppress(OSError):  # a home that cannot be written to costs seconds, not the answer
        if not said:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, json.dumps({"made_of": made_of, "answer": answer}))
    return answer


def files(folder: Path) -> list[Any]:
    """Return names, sizes and times of the files in a folder, which need not exist."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted([entry.name, entry.stat().st_size, entry.stat().st_mtime_ns] for entry in entries)


def machine() -> list[Any]:
    """Return what decides which engines this machine has, and how fast they are: packages, processor, GPU."""
    return [*installed(), cores(), os.environ.get("CUDA_VISIBLE_DEVICES")]
