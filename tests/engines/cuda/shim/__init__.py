"""A device without a GPU: kernels compiled for the host, a thread block of fibers."""

import ctypes
import hashlib
import subprocess
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arithmos.engines.cuda.compile import SOURCES
from arithmos.engines.cuda.device import LoadedKernel
from arithmos.engines.cuda.names import Settings
from arithmos.engines.cuda.plan import H200, KernelPlan, Limits

HERE = Path(__file__).parent
HOPPER = H200
TURING = Limits(shared_per_block=65536, shared_per_multiprocessor=65536, multiprocessors=40, reserved_shared=0)


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="arithmos-shim-")


class HostMemory:
    def __init__(self, array: NDArray[Any]) -> None:
        self._array = np.ascontiguousarray(array).copy()
        # 16-byte vectors are read from it, and NumPy promises no more than 8.
        raw = np.empty(self._array.nbytes + 16, np.uint8)
        self._home = raw
        self.address = raw.ctypes.data + -raw.ctypes.data % 16
        ctypes.memmove(self.address, self._array.ctypes.data, self._array.nbytes)

    def download(self, array: NDArray[Any], offset: int = 0) -> NDArray[Any]:
        ctypes.memmove(array.ctypes.data, self.address + offset, array.nbytes)
        return array


class HostStream:
    def launch(
        self, function: Any, plan: KernelPlan, blocks: int, settings: Settings, slots: int, chunk: int
    ) -> Callable[[], bool]:
        function(blocks, plan.threads, ctypes.byref(settings), ctypes.c_void_p(slots), ctypes.c_int64(chunk))
        return lambda: True

    def wait(self) -> None:
        return None


class HostDevice:
    """Runs the kernels on this machine's processor."""

    name = "host"

    def __init__(self, limits: Limits = HOPPER) -> None:
        self.limits = limits

    def compile(self, plan: KernelPlan) -> bytes:
        source = f'#include "shim.h"\n{plan.source}#include "launch.h"\n'
        name = Path(_folder().name) / hashlib.blake2b(source.encode(), digest_size=8).hexdigest()
        library = name.with_suffix(".so")
        if not library.exists():
            name.with_suffix(".cpp").write_text(source)
            command = ["g++", "-std=c++17", "-O1", "-march=native", "-ffp-contract=off", "-w", "-shared", "-fPIC"]
            command += [f"-I{SOURCES}", f"-I{HERE}", str(name.with_suffix(".cpp")), "-o", str(library)]
            subprocess.run(command, check=True)
        return str(library).encode()

    def load(self, code: bytes, plan: KernelPlan) -> LoadedKernel:
        return LoadedKernel(ctypes.CDLL(code.decode()).launch, 1)

    def stream(self) -> HostStream:
        return HostStream()

    def upload(self, array: NDArray[Any]) -> HostMemory:
        return HostMemory(array)
