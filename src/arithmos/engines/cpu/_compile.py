"""How the functions of this engine are compiled, and the two things that Numba has no word for.

Every loop runs over the lanes of a block: 64 observations side by side, feature by feature in memory.
"""

from typing import Any

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

LANES = 64
"""Observations in a block."""

# Never "nnan": a diverged run must look diverged.
compiled = numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy", nogil=True, _nrt=False)
exactly_compiled = numba.njit(fastmath={"contract"}, error_model="numpy", nogil=True, _nrt=False)
# What only calls others: put into its caller before anything is compiled, which would else be done once a level.
inlined = numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy", nogil=True, _nrt=False, inline="always")


@intrinsic  # type: ignore[misc]
def wide(typing: Any) -> Any:
    """Asks for the widest vectors in the calling function: LLVM would leave half of a 512-bit register unused."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic  # type: ignore[misc]
def apart(typing: Any) -> Any:
    """Promises that the arrays which the calling function was given do not overlap; and asks for wide vectors.

    Without the promise each loop begins by comparing addresses, which costs more than a loop over 64 lanes.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = builder.function
        for argument in function.args:
            if isinstance(argument.type, ir.PointerType) and argument.type.pointee != ir.IntType(8):
                argument.add_attribute("noalias")
        set.add(function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic  # type: ignore[misc]
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c in float32, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generate
