"""NVRTC compiles what the catalogue needs, with no GPU, and the cache keeps it."""

import dataclasses

import pytest
from tests.engines.cuda.shim import HOPPER, TURING
from tests.engines.cuda.test_updates import everything

from arithmos.engines.cuda import compile as compiler
from arithmos.engines.cuda.plan import _unrolled as unrolled
from arithmos.engines.cuda.plan import make_plan
from arithmos.engines.weights import are_effective
from arithmos.papers import EXPERIMENTS
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
DEFAULT = Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"])
ARCHITECTURES = {"sm_75": TURING, "sm_90": HOPPER}

COMBINATIONS = list(
    {
        spec.model.layers: dataclasses.replace(DEFAULT, model=spec.model)
        for experiment in EXPERIMENTS.values()
        for spec in experiment.specs
        if isinstance(spec.task, Arithmetic) and are_effective(spec.model.layers)
    }.values()
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "arithmos" / "kernels"


def test_the_catalogue_has_all_models():
    assert len(COMBINATIONS) > len(MODELS) - 1


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("spec", COMBINATIONS, ids=lambda spec: spec.model.name)
def test_every_combination_of_units_compiles(spec, arch, cache):
    code = compiler.cubin(make_plan(spec, ARCHITECTURES[arch]).source, arch)
    assert code[:4] == b"\x7fELF"


def with_inputs(size, name="NMU", **options):
    return Spec(task=Arithmetic(operation="mul", input_size=size, **options), model=MODELS[name])


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ["NMU", "NALU", "GatedNAUNMU"])
def test_small_networks_compile(name, arch, cache):
    plan = make_plan(with_inputs(4, name), ARCHITECTURES[arch])
    assert plan.threads == 32
    assert compiler.cubin(plan.source, arch)[:4] == b"\x7fELF"


def test_the_size_decides_on_the_layout():
    """One warp for few inputs; a part of a tile where a whole one leaves two blocks or fewer on a multiprocessor."""
    two = make_plan(with_inputs(2, fixed=((0, 1), (1, 2))), HOPPER)
    ten, usual, wide = (make_plan(with_inputs(size), HOPPER) for size in (10, 100, 300))
    assert [plan.threads for plan in (two, ten, usual, wide)] == [32, 32, 128, 128]
    assert ["TILE = 32;" in plan.source for plan in (usual, wide)] == [False, True]
    heavy = make_plan(dataclasses.replace(with_inputs(100), hidden_size=32), HOPPER)
    assert (heavy.threads, heavy.resident) == (256, 1)
    assert make_plan(dataclasses.replace(with_inputs(4), batch_size=129), HOPPER).threads > 32


@pytest.mark.parametrize("sharing", [1, 2, 4, 8])
def test_threads_that_share_observations_leave_no_step_to_one_alone(sharing):
    """With 63 groups for four threads, loops of eight groups would take a warp 23 steps instead of 16."""
    for columns in range(sharing, 100):
        ways = unrolled(columns, sharing, 8)
        lengths = {columns // sharing, -(-columns // sharing)}
        steps = ways * max(length // ways for length in lengths) + max(length % ways for length in lengths)
        assert steps == -(-columns // sharing)
    assert [unrolled(25, 1, 8), unrolled(7, 1, 8), unrolled(75, 4, 8)] == [8, 7, 6]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_updates_beyond_adam_compile(arch, cache):
    plan = make_plan(everything("GatedNAUNMU"), ARCHITECTURES[arch])
    assert compiler.cubin(plan.source, arch)[:4] == b"\x7fELF"


def test_the_cache_is_used_and_a_damaged_entry_is_not(cache, monkeypatch):
    compiled = []

    def fake(configuration, arch):
        compiled.append(arch)
        return b"code"

    monkeypatch.setattr(compiler, "_compile", fake)
    assert [compiler.cubin("x", "sm_90") for _ in range(3)] == [b"code"] * 3
    assert compiled == ["sm_90"]
    compiler.cubin("x", "sm_75")
    compiler.cubin("y", "sm_90")
    assert len(compiled) == 3
    for entry in cache.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1] + b"!")
    assert compiler.cubin("x", "sm_90") == b"code"
    assert len(compiled) == 4
    assert not [path for path in cache.iterdir() if path.name.startswith(".")]


def test_equal_kernels_are_shared_between_specs():
    """Offset, schedule, length and range constants are not compiled in."""
    other = dataclasses.replace(DEFAULT, task=dataclasses.replace(DEFAULT.task, overlap_ratio=0.1), iterations=10)
    assert make_plan(DEFAULT, HOPPER).source == make_plan(other, HOPPER).source


def test_without_a_gpu_the_engine_says_so():
    from cuda.bindings import driver

    from arithmos.engines.cuda import CudaEngine

    try:
        driver.cuInit(0)
    except (RuntimeError, SystemError):
        with pytest.raises(RuntimeError, match="needs an NVIDIA GPU and its driver"):
            CudaEngine()
    else:
        pytest.skip("there is a driver")
