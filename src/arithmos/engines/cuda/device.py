"""Interface to a GPU: memory, streams, launches. The tests replace it by a thread block of fibers."""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .compile import cubin
from .names import Settings
from .plan import KernelPlan, Limits

Array = NDArray[Any]


class Memory(Protocol):
    """Memory of the device, freed when nothing refers to it."""

    address: int

    def download(self, array: Array, offset: int = 0) -> Array:
        """Fill an array from `offset` bytes on, and return it."""


@dataclass(frozen=True)
class LoadedKernel:
    """Loaded kernel, and how many blocks of it fit on a multiprocessor."""

    function: Any
    resident: int


class Stream(Protocol):
    """Launches in sequence, concurrent with those of other streams."""

    def launch(
        self, function: Any, plan: KernelPlan, blocks: int, settings: Settings, slots: int, chunk: int
    ) -> Callable[[], bool]:
        """Queue a kernel and return a function that tells whether it is done."""

    def wait(self) -> None:
        """Wait until everything queued is done."""


class KernelDevice(Protocol):
    """Device that runs kernels."""

    name: str
    limits: Limits

    def compile(self, plan: KernelPlan) -> bytes:
        """Compile the plan's kernel to machine code; may be called from several threads."""

    def load(self, code: bytes, plan: KernelPlan) -> LoadedKernel:
        """Load a kernel for launching."""

    def stream(self) -> Stream:
        """Return a new stream."""

    def upload(self, array: Array) -> Memory:
        """Return memory with a copy of the array."""


class Gpu:
    """NVIDIA GPU.

    Args:
        ordinal: number of the GPU on this machine.

    Raises:
        ImportError: if cuda-core or NVRTC is missing.
        RuntimeError: if there is no driver, no GPU, or one before compute capability 7.5.
    """

    def __init__(self, ordinal: int = 0) -> None:
        # Streams that share a connection wait for each other; the default is 8 connections.
        os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise ImportError(
                "the cuda engine needs cuda-core and cuda-bindings: pip install 'arithmos[cuda]'"
            ) from error
        self._driver = driver
        try:
            self._call("cuInit", 0)
        except (RuntimeError, SystemError) as error:
            raise RuntimeError(f"the cuda engine needs an NVIDIA GPU and its driver: {error}") from error
        device = self._call("cuDeviceGet", ordinal)
        self._context = self._call("cuDevicePrimaryCtxRetain", device)
        self._call("cuCtxSetCurrent", self._context)

        def attribute(name: str) -> int:
            key = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(self._call("cuDeviceGetAttribute", key, device))

        major, minor = (attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        model = self._call("cuDeviceGetName", 100, device).split(b"\0")[0].decode()
        if (major, minor) < (7, 5):
            raise RuntimeError(f"the cuda engine needs compute capability 7.5 or later, {model} has {major}.{minor}")
        self.arch = f"sm_{major}{minor}"
        self.name = model
        self.limits = Limits(
            shared_per_block=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            shared_per_multiprocessor=attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
            multiprocessors=attribute("MULTIPROCESSOR_COUNT"),
            threads_per_multiprocessor=attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            reserved_shared=attribute("RESERVED_SHARED_MEMORY_PER_BLOCK"),
        )
        self._copies = self._call("cuStreamCreate", int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))

    def _call(self, name: str, *arguments: Any) -> Any:
        status, *values = getattr(self._driver, name)(*arguments)
        if status != self._driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"{name} answered {getattr(status, 'name', status)}")
        return values[0] if len(values) == 1 else values

    def compile(self, plan: KernelPlan) -> bytes:
        return cubin(plan.source, self.arch)

    def load(self, code: bytes, plan: KernelPlan) -> LoadedKernel:
        self._call("cuCtxSetCurrent", self._context)  # the engine may run in another thread than made it
        function = self._call("cuModuleGetFunction", self._call("cuModuleLoadData", code), b"train")
        attribute = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call("cuFuncSetAttribute", function, attribute, plan.shared_bytes)
        carveout = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
        self._call("cuFuncSetAttribute", function, carveout, 100)
        shape = (function, plan.threads, plan.shared_bytes)
        return LoadedKernel(function, int(self._call("cuOccupancyMaxActiveBlocksPerMultiprocessor", *shape)))

    def stream(self) -> "GpuStream":
        return GpuStream(self._call)

    def upload(self, array: Array) -> "GpuMemory":
        return GpuMemory(self._call, self._copies, np.ascontiguousarray(array))


class GpuMemory:
    """Memory of a GPU, allocated and freed in the order of a stream so that no kernel is waited for."""

    def __init__(self, call: Callable[..., Any], stream: Any, array: Array) -> None:
        self._call, self._stream = call, stream
        self._memory = call("cuMemAllocAsync", max(array.nbytes, 16), stream)
        self.address = int(self._memory)
        call("cuMemcpyHtoDAsync", self._memory, array.ctypes.data, array.nbytes, stream)
        call("cuStreamSynchronize", stream)

    def download(self, array: Array, offset: int = 0) -> Array:
        self._call("cuMemcpyDtoHAsync", array.ctypes.data, self.address + offset, array.nbytes, self._stream)
        self._call("cuStreamSynchronize", self._stream)
        return array

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._call("cuMemFreeAsync", self._memory, self._stream)


class GpuStream:
    """Stream of a GPU."""

    def __init__(self, call: Callable[..., Any]) -> None:
        from cuda.bindings import driver

        self._driver, self._call = driver, call
        self._stream = call("cuStreamCreate", int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))

    def launch(
        self, function: Any, plan: KernelPlan, blocks: int, settings: Settings, slots: int, chunk: int
    ) -> Callable[[], bool]:
        values = (settings, ctypes.c_uint64(slots), ctypes.c_int64(chunk))
        pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
        shape = (blocks, 1, 1, plan.threads, 1, 1)
        self._call("cuLaunchKernel", function, *shape, plan.shared_bytes, self._stream, ctypes.addressof(pointers), 0)
        event = self._call("cuEventCreate", int(self._driver.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        self._call("cuEventRecord", event, self._stream)
        return partial(self._done, event)

    def _done(self, event: Any) -> bool:
        (status,) = self._driver.cuEventQuery(event)
        if status == self._driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        if status != self._driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"the GPU answered {status.name}")
        self._call("cuEventDestroy", event)
        return True

    def wait(self) -> None:
        self._call("cuStreamSynchronize", self._stream)
