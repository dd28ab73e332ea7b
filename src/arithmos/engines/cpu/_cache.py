"""Compiled loops in the cache on disk.

Numba's own cache does not notice that a function in another file, which a loop calls, has changed. Here an entry is
named by the source of the loop and of all that determines a run, by versions and settings, and by the processor.
"""

import contextlib
import os
import pickle
import platform
import zlib
from functools import cached_property
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target

from .. import code, kernel_cache


class LoopCache(NullCache):  # type: ignore[misc]  # Numba has no types
    """Cache of one compiled function, in the form that Numba asks for.

    Args:
        text: source of the function, or a name for it if its source is in this package.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._called: list[Any] = []  # code is unloaded with its last reference

    @cached_property
    def name(self) -> str:
        """Digest of everything that determines the function, except for the types of its arguments."""
        versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
        settings = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("NUMBA_"))
        processor = cpu_target.target_context.codegen().magic_tuple()
        return kernel_cache.digest(self._text, code.SOURCE, *versions, *settings, *processor)

    def attach(self, function: Any) -> None:
        """Use this cache for a function."""
        function._cache = self

    def holds(self, signature: tuple[Any, ...]) -> bool:
        """Return whether there is an entry for arguments of these types."""
        return kernel_cache.load(self._entry(signature)) is not None

    def load_overload(self, sig: tuple[Any, ...], target_context: Any) -> Any:
        """Return the function compiled for arguments of these types, or None."""
        target_context.refresh()
        contents = kernel_cache.load(self._entry(sig))
        if contents is None:
            return None
        try:
            called, function = pickle.loads(zlib.decompress(contents))
            self._called += [target_context.codegen().unserialize_library(library) for library in called]
            return CompileResult._rebuild(target_context, *function)
        except Exception:  # whatever is wrong with an entry, it is compiled again and written anew
            return None

    def save_overload(self, sig: tuple[Any, ...], cres: Any) -> None:
        """Write the function compiled for arguments of these types, and those it calls.

        In the process that compiles it, its calls reach functions that were compiled before it, each by itself. It has
        copies of its own, which are rounded in another order; alone it would use these.
        """
        with contextlib.suppress(Exception):  # whatever a version of Numba cannot write, it compiles every time
            called = [library.serialize_using_object_code() for library in _called(cres.library, {}).values()]
            kernel_cache.save(self._entry(sig), zlib.compress(serialize.dumps((called, cres._reduce())), level=1))

    def _entry(self, signature: tuple[Any, ...]) -> str:
        return f"{kernel_cache.digest(self.name, str(signature))}.numba"


def _called(library: Any, found: dict[int, Any]) -> dict[int, Any]:
    """Add the compiled functions that one calls, directly or not, to those found, each after what it calls itself.

    A few helpers of Numba's, of whole numbers only, cannot be written; the function's own copies serve as well.
    """
    for other in library._linking_libraries:
        if id(other) not in found and other._object_caching_enabled:
            _called(other, found)
            found[id(other)] = other
    return found
