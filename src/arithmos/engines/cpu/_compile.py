"""Compilation of this engine's functions, and intrinsics that Numba lacks.

Every loop runs over the lanes of a block: 64 observations side by side, feature by feature in memory. With the
default 100 inputs a block is 25 KB and stays in the first-level cache from its first use to its last.
"""

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

LANES = 64
"""Observations in a block."""

WIDTH = LANES // 4
"""Numbers in the widest registers."""

# Never "nnan": a diverged run must look diverged. Nothing here allocates, so no references are counted.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
compiled = numba.njit(fastmath={"reassoc", "contract"}, **_OPTIONS)
exactly_compiled = numba.njit(fastmath={"contract"}, **_OPTIONS)
inlined = numba.njit(fastmath={"reassoc", "contract"}, forceinline=True, **_OPTIONS)
exactly_inlined = numba.njit(fastmath={"contract"}, forceinline=True, **_OPTIONS)


def _widen(function: Any) -> None:
    """Ask for the widest vectors: LLVM would leave half of a 512-bit register unused."""
    set.add(function.attributes, '"prefer-vector-width"="512"')


@intrinsic
def wide(typing: Any) -> Any:
    """Ask for the widest vectors in the calling function."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _widen(builder.function)
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def apart(typing: Any) -> Any:
    """Promise that the array arguments of the calling function do not overlap, and ask for the widest vectors.

    Without the promise each loop starts by comparing addresses, which costs more than a loop over 64 lanes.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for argument in builder.function.args:
            if isinstance(argument.type, ir.PointerType) and argument.type.pointee != ir.IntType(8):
                argument.add_attribute("noalias")
        _widen(builder.function)
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c in float32, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float32(types.float32, types.float32, types.float32), generate


@intrinsic(prefer_literal=True)
def array_at(typing: Any, table: Any, row: Any, dtype: Any, ndim: Any) -> Any:
    """Return the array whose address and shape are in `table[row]`.

    A kernel has some forty arrays; as arguments they would take longer to compile than its loops.
    """
    array_type = types.Array(dtype.dtype, ndim.literal_value, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        word = context.get_value_type(types.intp)
        start = builder.mul(arguments[1], ir.Constant(word, TABLE_COLUMNS))
        values = [
            builder.load(builder.gep(rows.data, [builder.add(start, ir.Constant(word, column))]))
            for column in range(1 + array_type.ndim)
        ]
        itemsize = ir.Constant(word, array_type.dtype.bitwidth // 8)
        strides = [itemsize]
        for size in reversed(values[2:]):
            strides.insert(0, builder.mul(strides[0], size))
        array = arrayobj.make_array(array_type)(context, builder)
        pointer = context.get_data_type(array_type.dtype).as_pointer()
        arrayobj.populate_array(
            array,
            data=builder.inttoptr(values[0], pointer),
            shape=cgutils.pack_array(builder, values[1:]),
            strides=cgutils.pack_array(builder, strides),
            itemsize=itemsize,
            meminfo=None,
        )
        return array._getvalue()

    return array_type(table, types.intp, dtype, ndim), generate


TABLE_COLUMNS = 4
"""Address and up to three sizes."""
