"""Vector instructions in functions of Numba, where LLVM's own vectorizer finds a worse order or too few registers.

The instructions are LLVM's, of no one processor: it splits vectors that are wider than the registers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.np import arrayobj

from ._compile import WIDTH

INDEX = ir.IntType(64)
WORD = ir.IntType(32)
FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
WORDS = ir.VectorType(WORD, WIDTH)
DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH // 2)
LONGS = ir.VectorType(INDEX, WIDTH // 2)


class Vector:
    """Vector in a function that is being written: its operators write instructions."""

    def __init__(self, code: "Code", value: Any) -> None:
        self.code, self.value = code, value

    def _with(self, other: Any, whole: str, real: str = "") -> "Vector":
        builder = self.code.builder
        right = other.value if isinstance(other, Vector) else self.code.constant(other, self.value.type).value
        name = real if isinstance(self.value.type.element, (ir.FloatType, ir.DoubleType)) else whole
        return Vector(self.code, getattr(builder, name)(self.value, right))

    def __add__(self, other: Any) -> "Vector":
        return self._with(other, "add", "fadd")

    def __sub__(self, other: Any) -> "Vector":
        return self._with(other, "sub", "fsub")

    def __mul__(self, other: Any) -> "Vector":
        return self._with(other, "mul", "fmul")

    def __xor__(self, other: Any) -> "Vector":
        return self._with(other, "xor")

    def __and__(self, other: Any) -> "Vector":
        return self._with(other, "and_")

    def __rshift__(self, other: Any) -> "Vector":
        return self._with(other, "lshr")

    def viewed(self, kind: ir.VectorType) -> "Vector":
        """The same bits as another kind."""
        return Vector(self.code, self.code.builder.bitcast(self.value, kind))

    def real(self, kind: ir.VectorType) -> "Vector":
        """The same numbers, which are float32 or unsigned words, in a wider kind."""
        convert = "fpext" if isinstance(self.value.type.element, ir.FloatType) else "uitofp"
        return Vector(self.code, getattr(self.code.builder, convert)(self.value, kind))

    def shuffled(self, places: Sequence[int], other: "Vector | None" = None) -> "Vector":
        """Elements at these places of this vector and another."""
        order = ir.Constant(ir.VectorType(WORD, len(places)), list(places))
        return Vector(self.code, self.code.builder.shuffle_vector(self.value, (other or self).value, order))

    def equal(self, other: "Vector") -> Any:
        """Mask of the elements that are equal to those of another vector of whole numbers."""
        return self.code.builder.icmp_unsigned("==", self.value, other.value)

    def where(self, mask: Any, other: "Vector") -> "Vector":
        """Elements of this vector where the mask is set, and of another elsewhere."""
        return Vector(self.code, self.code.builder.select(mask, self.value, other.value))

    def plus(self, a: "Vector", b: "Vector") -> "Vector":
        """This and a * b, rounded once where a processor can."""
        return self.code.call("fmuladd", a, b, self)


class Code:
    """Code that an intrinsic writes.

    Args:
        context, builder, signature, arguments: what Numba gives to the generator of an intrinsic.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> None:
        self.builder, self.arguments = builder, arguments
        self._pointers = {
            k: arrayobj.make_array(kind)(context, builder, arguments[k]).data
            for k, kind in enumerate(signature.args)
            if isinstance(kind, types.Array)
        }

    def index(self, value: int) -> Any:
        return ir.Constant(INDEX, value)

    def at(self, *terms: Any) -> Any:
        """Return the sum of products; a term is a number or a tuple of factors."""
        total = self.index(0)
        for term in terms:
            product = self.index(1)
            for factor in term if isinstance(term, tuple) else (term,):
                product = self.builder.mul(product, self.index(factor) if isinstance(factor, int) else factor)
            total = self.builder.add(total, product)
        return total

    def pointer(self, array: int, place: Any, kind: Any) -> Any:
        pointer = self.builder.gep(self._pointers[array], [place])
        return self.builder.bitcast(pointer, kind.as_pointer())

    def load(self, array: int, place: Any, kind: ir.VectorType) -> Vector:
        """Return the vector that starts at an element of an argument."""
        return Vector(self, self.builder.load(self.pointer(array, place, kind), align=4))

    def store(self, vector: Vector, array: int, place: Any) -> None:
        """Write a vector from an element of an argument on."""
        self.builder.store(vector.value, self.pointer(array, place, vector.value.type), align=4)

    def number(self, array: int, place: Any) -> Any:
        """Return an element of an argument."""
        return self.builder.load(self.builder.gep(self._pointers[array], [place]))

    def constant(self, value: float | Sequence[float], kind: ir.VectorType) -> Vector:
        values = list(value) if isinstance(value, Sequence) else [value] * kind.count
        return Vector(self, ir.Constant(kind, values))

    def splat(self, number: Any, kind: ir.VectorType) -> Vector:
        """Return a vector whose elements are all the same."""
        nothing = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(nothing, number, ir.Constant(WORD, 0))
        return Vector(self, first).shuffled([0] * kind.count)

    def call(self, name: str, *vectors: Vector) -> Vector:
        """Call a function of LLVM's that takes vectors of one kind and returns one."""
        kind = vectors[0].value.type
        letter = "i" if isinstance(kind.element, ir.IntType) else "f"
        width = {ir.FloatType(): 32, ir.DoubleType(): 64}.get(kind.element) or kind.element.width
        function = cgutils.get_or_insert_function(
            self.builder.module,
            ir.FunctionType(kind, [kind] * len(vectors)),
            f"llvm.{name}.v{kind.count}{letter}{width}",
        )
        return Vector(self, self.builder.call(function, [vector.value for vector in vectors]))

    @contextmanager
    def loop(self, start: Any, stop: Any, step: int = 1) -> Iterator[Any]:
        """Write a loop; its counter."""
        with cgutils.for_range_slice(self.builder, start, stop, self.index(step), INDEX) as (counter, _):
            yield counter

    def register(self, vector: Vector) -> "Register":
        """Return a variable."""
        return Register(self, vector)


class Register:
    """Variable that a loop changes; LLVM keeps it in a register."""

    def __init__(self, code: Code, vector: Vector) -> None:
        self._code = code
        self._place = cgutils.alloca_once(code.builder, vector.value.type)
        self.value = vector

    @property
    def value(self) -> Vector:
        return Vector(self._code, self._code.builder.load(self._place))

    @value.setter
    def value(self, vector: Vector) -> None:
        self._code.builder.store(vector.value, self._place)


def writing(write: Callable[..., None], *extra: Any) -> Callable[..., Any]:
    """Return the generator of an intrinsic without a result: `write(code, *extra)`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        write(Code(context, builder, signature, arguments), *extra)
        return context.get_dummy_value()

    return generate
