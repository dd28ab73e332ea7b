"""Contract of a unit, as checks that any layer can be put through.

`check_unit(MyUnit)` runs them all. In a test suite, use one test per check:

    @pytest.mark.parametrize("check", arithmos.testing.CONTRACT, ids=lambda check: check.__name__)
    def test_contract(check):
        check(MyUnit)

A check that fails raises `AssertionError` and says what to change. One that lacks an optional package raises
`unittest.SkipTest`, which pytest shows as skipped.
"""

import copy
import importlib
import importlib.util
import io
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast
from unittest import SkipTest

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap

from .engines.probe import ProbeResult, examine
from .nn import Unit
from .spec import Layer, Model, Spec, as_unit
from .tasks import TEN_PARAMETERS

IN, OUT, BATCH = 4, 3, 5

Checked = Unit | Callable[..., nn.Module]


def check_unit(unit: Checked) -> dict[str, str]:
    """Run all checks of the contract on a unit.

    Args:
        unit: a `Unit`, or the class of a layer.

    Returns:
        For each check, by name, "passed" or why it was skipped.

    Warns:
        UserWarning: runs of the unit cannot be stacked and are trained seed by seed.

    Example:
        >>> check_unit(nn.Linear)
        Traceback (most recent call last):
        AssertionError: Linear: reset_parameters(generator): ... takes 1 positional argument but 2 were given
        To pass: take generator=None as an argument, and pass it to every random initializer.
    """
    if why := _trial(unit).alone:
        warnings.warn(f"{_record(unit).name} is trained seed by seed, which takes longer: {why}", stacklevel=2)
    results = {}
    for check in CONTRACT:
        try:
            check(unit)
            results[check.__name__] = "passed"
        except SkipTest as skipped:
            results[check.__name__] = f"skipped: {skipped}"
    return results


def check_shapes(unit: Checked) -> None:
    """Check that forward maps the last axis from in_features to out_features, and all others are independent rows.

    Where two calls are compared, here and below, a unit that draws noise in training is in evaluation mode.
    """
    advice = "treat the last axis as features and any others as a batch, e.g. x @ weight.T"
    layer = _build(unit)
    x = _input(2, BATCH, IN)
    with _expect(unit, "forward with two leading axes", advice):
        z = layer(x)
        _equal(z.shape, (2, BATCH, OUT))
    with _expect(unit, "forward, one row at a time", advice):
        _close(torch.stack([torch.stack([layer(row) for row in rows]) for rows in x]), z)


def check_empty_batch(unit: Checked) -> None:
    """Check that an empty batch gives an empty output and a backward pass."""
    layer = _build(unit)
    with _expect(unit, "forward of an empty batch", "allow 0 rows: no loop and no statistic over the batch"):
        z = layer(_input(0, IN))
        _equal(z.shape, (0, OUT))
        z.sum().backward()


def check_dtype(unit: Checked) -> None:
    """Check that `dtype` is the type of all parameters, outputs and gradients."""
    advice = "take dtype=None as an argument, pass it to torch.empty, and create no float32 constants in forward"
    for dtype in (torch.float32, torch.float64):
        with _expect(unit, f"dtype={dtype}", advice):
            layer = _build(unit, dtype=dtype)
            for name, parameter in layer.named_parameters():
                _equal(parameter.dtype, dtype, name)
            z = layer(_input(BATCH, IN, dtype=dtype))
            _equal(z.dtype, dtype, "output")
            z.sum().backward()
            for name, parameter in layer.named_parameters():
                _equal(None if parameter.grad is None else parameter.grad.dtype, dtype, f"gradient of {name}")


def check_device(unit: Checked) -> None:
    """Check that `device` is where all parameters are, including "meta", which has shapes and no values."""
    advice = "take device=None as an argument, pass it to torch.empty, and do not branch on values in forward"
    for device in ("cpu", "meta"):
        with _expect(unit, f"device={device!r}", advice):
            layer = _build(unit, device=device)
            for name, parameter in layer.named_parameters():
                _equal(parameter.device.type, device, name)
            _equal(layer(_input(BATCH, IN).to(device)).shape, (BATCH, OUT))


def check_autocast(unit: Checked) -> None:
    """Check that bfloat16 autocast changes little, and nothing where `identity` says that the output is a product."""
    layer, x = _build(unit), _input(BATCH, IN)
    exact = getattr(layer, "identity", None) == 1.0  # a product
    advice = "disable autocast around logarithms and products, and compute them in float32"
    with _expect(unit, "forward and backward under bfloat16 autocast", advice):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = layer(x)
        z.float().sum().backward()
        if exact:
            _close(z, layer(x))
        else:
            _close(z.float(), layer(x), rtol=0.05, atol=0.05)


def check_state_dict(unit: Checked) -> None:
    """Check that `state_dict` holds everything that determines the output, and survives a file."""
    layer, other, x = _build(unit), _build(unit), _input(BATCH, IN)
    with _expect(unit, "state_dict round trip", "keep all state in parameters and registered buffers"):
        file = io.BytesIO()
        torch.save(layer.state_dict(), file)
        file.seek(0)
        other.load_state_dict(torch.load(file, weights_only=True))
        _close(other(x), layer(x))


def check_copies(unit: Checked) -> None:
    """Check that `copy.deepcopy` and `pickle` make equal layers that share nothing."""
    layer, x = _build(unit), _input(BATCH, IN)
    advice = "define the class at the top of a module, and keep no lambdas, hooks or open files in the layer"
    for name, duplicate in (("deepcopy", copy.deepcopy), ("pickle", _pickled)):
        with _expect(unit, name, advice):
            twin = duplicate(layer)
            _close(twin(x), layer(x))
            for (parameter_name, a), b in zip(twin.named_parameters(), layer.parameters(), strict=True):
                if a.data_ptr() == b.data_ptr():
                    raise AssertionError(f"{parameter_name} is shared with the copy")


def check_compile(unit: Checked) -> None:
    """Check that `torch.compile(fullgraph=True)` sees one graph, forward and backward.

    The backend is "aot_eager", which traces all that the default one does and needs no C++ compiler.
    """
    layer, x = _build(unit), _input(BATCH, IN)
    torch.compiler.reset()
    advice = "keep forward free of Python that depends on values, and of calls that torch cannot trace"
    with _expect(unit, "torch.compile(fullgraph=True)", advice):
        z = torch.compile(layer, fullgraph=True, backend="aot_eager")(x)
        _close(z, layer(x))
        z.sum().backward()


def check_vmap(unit: Checked) -> None:
    """Check that `torch.func.vmap` over stacked parameters trains many layers at once.

    In float64, because a steep unit multiplies what the two ways round differently.
    """
    layers = [_build(unit).double() for _ in range(3)]
    x = _input(BATCH, IN, dtype=torch.float64)
    advice = "do not modify tensors in place or branch on values in forward, and read parameters as attributes"

    def loss(state: tuple[dict[str, Tensor], dict[str, Tensor]]) -> Tensor:
        z: Tensor = functional_call(layers[0], state, (x,))
        return z.sum()

    with _expect(unit, "torch.func.vmap over stacked parameters", advice):
        state = stack_module_state(layers)
        outputs = vmap(lambda state: functional_call(layers[0], state, (x,)))(state)
        _close(outputs, torch.stack([layer(x) for layer in layers]))
        gradients, _ = vmap(grad(loss))(state)
        for name, gradient in gradients.items():
            each = [torch.autograd.grad(layer(x).sum(), layer.get_parameter(name))[0] for layer in layers]
            _close(gradient, torch.stack(each))


def check_export(unit: Checked) -> None:
    """Check that `torch.export` gives a program for any number of rows."""
    layer, x = _build(unit).eval(), _input(BATCH, IN)
    advice = "keep forward free of Python that depends on values or on the number of rows"
    with _expect(unit, "torch.export", advice):
        program = torch.export.export(layer, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
        more = _input(2 * BATCH, IN)
        _close(program.module()(more), layer(more))


def check_onnx(unit: Checked) -> None:
    """Check that the ONNX export, run by onnxruntime, gives the same numbers to 1e-5."""
    for package in ("onnx", "onnxscript", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise SkipTest(f"{package} is not installed")
    onnxruntime = importlib.import_module("onnxruntime")
    layer, x = _build(unit).eval(), _input(BATCH, IN)
    advice = "build forward from operators that ONNX has"
    with _expect(unit, "torch.onnx.export", advice), warnings.catch_warnings():
        # Warnings of the exporter itself: torch and Python deprecated what it calls.
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        program = cast(torch.onnx.ONNXProgram, torch.onnx.export(layer, (x,), dynamo=True, verbose=False))
        session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
        (z,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        _close(torch.from_numpy(z), layer(x), rtol=1e-5, atol=1e-5)


def check_reset(unit: Checked) -> None:
    """Check that `reset_parameters(generator)` is reproducible and leaves the global generator alone."""
    layer = _build(unit)
    advice = "take generator=None as an argument, and pass it to every random initializer"

    def start(seed: int) -> list[Tensor]:
        layer.reset_parameters(torch.Generator().manual_seed(seed))  # type: ignore[operator]
        return [parameter.detach().clone() for parameter in layer.parameters()]

    with _expect(unit, "reset_parameters(generator)", advice):
        before = torch.get_rng_state()
        first, other, again = start(1), start(2), start(1)
        if not torch.equal(before, torch.get_rng_state()):
            raise AssertionError("the global generator was used")
        for a, b in zip(first, again, strict=True):
            _close(a, b, rtol=0, atol=0)
        if all(torch.equal(a, b) for a, b in zip(first, other, strict=True)):
            raise AssertionError("two seeds gave the same parameters")


def check_regularizer(unit: Checked) -> None:
    """Check that `bounds()`, if there is one, names parameters with their ranges, and `sparsity()` is a number."""
    layer = _build(unit)
    with _expect(unit, "bounds()", "return a dict from names of parameters to pairs, the lower end first"):
        for name, (low, high) in getattr(layer, "bounds", dict)().items():
            layer.get_parameter(name)
            if not low < high:
                raise AssertionError(f"the range of {name} is {low} to {high}")
    with _expect(unit, "sparsity()", "return a tensor with one number, made of the parameters"):
        if callable(sparsity := getattr(layer, "sparsity", None)):
            _equal(tuple(sparsity().shape), (), "shape")


def check_trial(unit: Checked) -> None:
    """Check that the engines can run the unit: the trial that `arithmos run` makes of a network with it."""
    with _expect(unit, "trial of NAU and the unit on the problem of Table 1", "remove the reason given"):
        if why := _trial(unit).refused:
            raise AssertionError(why)


def check_nan(unit: Checked) -> None:
    """Check that NaN in a row of the input gives NaN in that row of the output, and in no other."""
    layer, x = _build(unit), _input(BATCH, IN)
    x[1, 2] = torch.nan
    with _expect(unit, "forward with NaN in one row", "pass NaN through; do not replace values or mix rows"):
        z = layer(x)
        if not z[1].isnan().all():
            raise AssertionError(f"its output is {z[1].tolist()}")
        if z[[0, 2, 3, 4]].isnan().any():
            raise AssertionError("NaN spread to other rows")


CONTRACT: tuple[Callable[[Checked], None], ...] = (
    check_shapes,
    check_empty_batch,
    check_dtype,
    check_device,
    check_autocast,
    check_state_dict,
    check_copies,
    check_reset,
    check_regularizer,
    check_trial,
    check_nan,
    check_vmap,
    check_export,
    check_compile,
    check_onnx,
)
"""All checks, in the order in which `check_unit` runs them; those that take seconds come last."""


def _record(unit: Checked) -> Unit:
    if isinstance(unit, Unit):
        return unit
    name = getattr(unit, "__name__", repr(unit))
    return Unit(unit, name=name, label=name)


def _trial(unit: Checked) -> ProbeResult:
    own = as_unit(unit) if isinstance(unit, type) else _record(unit)
    return examine(Spec(task=TEN_PARAMETERS, model=Model(own.name, (Layer("NAU"), Layer(own)))))


def _build(unit: Checked, **options: object) -> nn.Module:
    advice = "its class must take (in_features, out_features, *, device=None, dtype=None)"
    with _expect(unit, f"construction with {options or 'two sizes'}", advice):
        layer = _record(unit).build(IN, OUT, **options)
        if not isinstance(layer, nn.Module):
            raise AssertionError(f"got {type(layer).__name__} instead of a torch.nn.Module")
        if not callable(getattr(layer, "reset_parameters", None)):
            raise AssertionError("it has no method reset_parameters(generator=None)")
    return layer.eval() if _noisy(layer) else layer


def _noisy(layer: nn.Module) -> bool:
    """Return whether a layer in training mode draws random numbers."""
    if any(parameter.is_meta for parameter in layer.parameters()):
        return False
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        before = torch.get_rng_state()
        with suppress(Exception):  # what is wrong with it is for the checks to say
            layer(_input(BATCH, IN))
        return not torch.equal(before, torch.get_rng_state())


def _input(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return values in [0.5, 2], the same on every call and inside the domain of most formulas."""
    generator = torch.Generator().manual_seed(7)
    return torch.rand(shape, generator=generator, dtype=dtype) * 1.5 + 0.5


@contextmanager
def _expect(unit: Checked, what: str, advice: str) -> Iterator[None]:
    """Turn any error inside into an `AssertionError` that names the unit, the attempt and the remedy."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{_record(unit).name}: {what}: {error}\nTo pass: {advice}.") from error


def _pickled(layer: nn.Module) -> nn.Module:
    twin: nn.Module = pickle.loads(pickle.dumps(layer))
    return twin


def _equal(found: object, expected: object, what: str = "result") -> None:
    if found != expected:
        raise AssertionError(f"{what} is {found}, expected {expected}")


def _close(found: Tensor, expected: Tensor, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    torch.testing.assert_close(found, expected, rtol=rtol, atol=atol)
