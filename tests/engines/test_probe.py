"""What a trial finds in units that somebody might write."""

from pathlib import Path

import pytest
import torch
from tests.engines.cuda.shim import HOPPER, HostDevice

from arithmos.engines.contract import Control, Job
from arithmos.engines.cpu import CpuEngine
from arithmos.engines.cuda import CudaEngine, refusal
from arithmos.engines.probe import ProbeResult, finding
from arithmos.engines.torch import TorchEngine
from arithmos.spec import MODELS, Layer, Spec, as_unit, model
from arithmos.tasks import TEN_PARAMETERS

UNITS = Path(__file__).parents[1] / "own_units.py"


def spec_of(unit, **changes):
    """The problem of Table 1 for a unit of `own_units.py`."""
    options = {"iterations": 30, "evaluate_every": 10, **changes}
    return Spec(task=TEN_PARAMETERS, model=model(f"NAU>{UNITS}:{unit}"), **options)


@pytest.mark.parametrize("unit", ["EvalBroken", "Masked", "Frozen", "ReturnsNaN", "RaisesLate", "HalfNMU"])
def test_what_can_be_stacked(unit):
    assert finding(spec_of(unit)) == ProbeResult()


@pytest.mark.parametrize(
    ("unit", "why"),
    [
        ("Dropped", "it draws random numbers"),
        ("Noisy", "it draws random numbers"),
        ("Normed", "it keeps running state, its buffer 1.norm.running_mean"),
        ("Branching", "it branches on the values of its inputs or parameters"),
        ("Hooked", "gradients of 1.weight differ when it is stacked"),
    ],
)
def test_what_runs_seed_by_seed(unit, why):
    assert finding(spec_of(unit)) == ProbeResult(alone=why)


@pytest.mark.parametrize(
    ("unit", "why"),
    [
        ("RaisesThird", "RuntimeError: this is the third call (own_units.py:"),
        ("Exits", "SystemExit: 3"),
        ("Integers", "its output is torch.int64; it must be floating-point"),
        ("OneAxisLess", "its output has the shape (128,); it must be (128, 1)"),
        ("EvalOneAxisLess", "its output has the shape (37,); it must be (37, 1)"),
        ("TwoOutputs", "its output is a tuple; it must be a tensor"),
        ("Detached", "its output does not depend on any parameter"),
        ("Double", "its parameter 1.weight is torch.float64; it must be torch.float32"),
        ("Counting", "training errors differ when the same is computed again: it keeps state that is no buffer"),
        ("Elsewhere", "or draws random numbers from elsewhere than torch's own generator"),
        ("BadBounds", "KeyError: '1.weights'"),
        ("Rounded", "the weights() of own_units.py:Rounded stay the same when its parameters and its output change"),
    ],
)
def test_what_is_refused_by_every_engine(unit, why):
    spec = spec_of(unit)
    assert why in finding(spec).refused
    assert "\n" not in finding(spec).refused
    for refused in (TorchEngine().refuses(spec), CpuEngine().refuses(spec), refusal(spec, HOPPER)):
        assert refused
    told = []
    control = Control(failed=lambda spec, seeds, why: told.append((seeds, why)))
    assert not list(TorchEngine().run([Job(spec, (0, 1))], control))
    assert told == [((0, 1), finding(spec).refused)]


def test_the_fused_engines_read_a_forward_of_its_own():
    spec = spec_of("EvalBroken")
    assert refusal(spec, HOPPER) == CpuEngine().refuses(spec)
    assert CpuEngine().refuses(spec_of("HalfNMU")) is None


@pytest.mark.parametrize(
    ("unit", "why"),
    [
        ("Dropped", "it draws random numbers from torch; let it use arithmos.nn.noise"),
        ("Noisy", "it draws random numbers from torch; let it use arithmos.nn.noise"),
        ("Branching", "it branches on the values of its inputs or parameters"),
        ("EvalBroken", "its output is not a number for each observation and output"),
        ("Hooked", "the gradient of weight is not that of its forward pass"),
        ("Normed", "has no program: "),
    ],
)
def test_what_has_no_program(unit, why):
    assert why in CpuEngine().refuses(spec_of(unit))


@pytest.mark.parametrize("unit", ["Masked", "Frozen", "HalfNMU"])
def test_what_has_a_program(unit):
    assert CpuEngine().refuses(spec_of(unit)) is None


def test_a_trial_leaves_torch_s_generator_alone():
    before = torch.get_rng_state()
    finding(spec_of("Dropped", batch_size=64))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_trial_is_made_once(monkeypatch):
    spec = spec_of("Masked", hidden_size=3)
    assert finding(spec) == ProbeResult()
    monkeypatch.setattr("arithmos.engines.probe.examine", lambda spec, device: ProbeResult("again"))
    assert finding(spec) == ProbeResult()
    assert finding(Spec(task=TEN_PARAMETERS, model=MODELS["NMU"])) == ProbeResult()
    wider = spec_of("Masked", hidden_size=5)
    assert finding(wider) == ProbeResult("again")


def test_a_unit_is_known_by_its_class_too():
    class Own(torch.nn.Linear): ...

    own = Layer(as_unit(Own))
    assert hash(own) == hash(Layer(as_unit(Own)))
    assert own.own
    assert not Layer("NMU").own


def test_a_unit_that_cannot_be_built_for_some_seeds():
    spec, told = spec_of("BadBuild"), []
    control = Control(failed=lambda spec, seeds, why: told.append((seeds, why)))
    for engine in (CpuEngine(threads=1), CudaEngine(HostDevice())):
        told.clear()
        runs = list(engine.run([Job(spec, (0, 1)), Job(spec_of("HalfNMU"), (0,))], control))
        assert [run.seed for run in runs if run.spec != spec] == [0]
        assert len(runs) + sum(len(seeds) for seeds, _ in told) == 3
        assert told[0][1].startswith("RuntimeError: built too often (own_units.py:")
