"""Compile kernels at run time with NVRTC, and cache them on disk.

An entry of the cache is determined by sources, configuration, options, architecture and version of NVRTC.
"""

import threading
from functools import lru_cache
from pathlib import Path

from .. import kernel_cache

SOURCES = Path(__file__).parent
OPTIONS = {"std": "c++17"}
_IMPORTING = threading.Lock()
"""Lock for importing the compiler: several threads compile kernels, and a concurrent import is seen half done."""


def cubin(configuration: str, arch: str) -> bytes:
    """Return the machine code of a configuration's kernel, from the cache or from the compiler.

    Args:
        configuration: constants of the kernel, ending in the inclusion of its source.
        arch: architecture, such as "sm_90".
    """
    name = kernel_cache.digest(_sources(), configuration, arch, repr(OPTIONS), _version()) + ".cubin"
    code = kernel_cache.load(name)
    if code is None:
        code = _compile(configuration, arch)
        kernel_cache.save(name, code)
    return code


@lru_cache(maxsize=1)
def _sources() -> str:
    files = sorted(path for path in SOURCES.iterdir() if path.suffix in (".cu", ".cuh"))
    return "\0".join(f"{path.name}\0{path.read_text(encoding='utf-8')}" for path in files)


@lru_cache(maxsize=1)
def _version() -> str:
    from cuda.bindings import nvrtc

    try:
        status, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:
        raise ImportError(
            f"the cuda engine needs NVRTC, CUDA's run-time compiler, which was not found: {error}"
        ) from error
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise ImportError(f"the cuda engine needs NVRTC, CUDA's run-time compiler, which answered {status}")
    return f"{major}.{minor}"


def _compile(configuration: str, arch: str) -> bytes:
    with _IMPORTING:
        try:
            from cuda.core import Program, ProgramOptions
        except ImportError:  # its name before version 0.5
            from cuda.core.experimental import Program, ProgramOptions

    options = ProgramOptions(arch=arch, include_path=str(SOURCES), **OPTIONS)
    return bytes(Program(configuration, "c++", options).compile("cubin").code)
