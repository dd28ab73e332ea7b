import dataclasses

import pyarrow as pa
import pytest

from arithmos.engines import ENGINES
from arithmos.engines.cost import PACES, Clock, weights
from arithmos.papers import EXPERIMENTS
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

SPEC = Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"], iterations=999_999)
TYPES = {"spec_id": pa.string(), "engine": pa.string(), "elapsed_s": pa.float64(), "gpu": pa.string()}
NOTHING = pa.schema(TYPES).empty_table()


def measured(*rows, gpu=""):
    return pa.Table.from_pylist([dict(zip(TYPES, (*row, gpu), strict=True)) for row in rows], pa.schema(TYPES))


def test_every_engine_has_a_pace():
    assert set(PACES) == set(ENGINES)


@pytest.mark.parametrize(("model", "count"), [("NMU", 202), ("NAU", 202), ("NACMul", 404), ("NALU", 606)])
def test_parameters_are_counted(model, count):
    assert weights(dataclasses.replace(SPEC, model=MODELS[model])) == count


def test_without_measurements():
    pace = PACES["torch"]
    clock = Clock(NOTHING, [SPEC])
    assert clock.seconds(SPEC, "torch", 10) == pytest.approx(pace.fixed + 202 * pace.weight + pace.shared / 10)
    assert clock.seconds(SPEC, "torch", 1000) == clock.seconds(SPEC, "torch", 256)
    assert Clock(NOTHING, [SPEC], threads=1).seconds(SPEC, "cpu") == pytest.approx(
        8 * Clock(NOTHING, [SPEC], threads=8).seconds(SPEC, "cpu")
    )


def test_a_measured_spec_takes_what_it_took():
    clock = Clock(measured((SPEC.id, "torch", 3.0), (SPEC.id, "torch", 5.0), (SPEC.id, "cpu", 8.0)), [SPEC], threads=2)
    assert clock.seconds(SPEC, "torch", 2) == pytest.approx(4)
    assert clock.seconds(SPEC, "torch", 200) < 0.3  # in a stack they share most of it
    assert clock.seconds(SPEC, "cpu") == 4


def test_other_specs_are_put_right_by_it():
    other = dataclasses.replace(SPEC, hidden_size=10)
    plain = Clock(NOTHING, [])
    clock = Clock(measured((SPEC.id, "torch", 3 * plain.seconds(SPEC, "torch", 1))), [SPEC])
    assert clock.seconds(other, "torch") == pytest.approx(3 * plain.seconds(other, "torch"))
    assert clock.seconds(other, "cuda") == plain.seconds(other, "cuda")


def test_runs_of_unknown_specs_and_engines_are_passed_over():
    clock = Clock(measured(("0" * 16, "torch", 1e9), (SPEC.id, "abacus", 1e9)), [SPEC])
    assert clock.seconds(SPEC, "torch") == Clock(NOTHING, []).seconds(SPEC, "torch")


@pytest.mark.parametrize(("gpu", "seconds"), [(False, 7000.0), (True, 35.0)])
def test_digits_take_what_they_took_with_a_gpu_or_without(gpu, seconds):
    made, other = EXPERIMENTS["mnist-product"].specs[:2]
    without, on_gpu = measured((made.id, "torch", 7000.0)), measured((made.id, "torch", 35.0), gpu="NVIDIA H200")
    clock = Clock(pa.concat_tables([without, on_gpu]), [made, other], gpu=gpu)
    assert clock.seconds(made, "torch") == pytest.approx(seconds)
    assert clock.seconds(other, "torch") == pytest.approx(seconds)
    foreign = Clock(without if gpu else on_gpu, [made], gpu=gpu)
    assert foreign.seconds(made, "torch") == Clock(NOTHING, [], gpu=gpu).seconds(made, "torch")


def test_digits_of_an_older_store_count_as_made_without_a_gpu():
    spec = EXPERIMENTS["mnist-product"].specs[0]
    assert Clock(measured((spec.id, "torch", 7000.0), gpu=None), [spec]).seconds(spec, "torch") == pytest.approx(7000)


def test_digits_before_any_was_run():
    [spec] = [spec for spec in EXPERIMENTS["mnist-sum"].specs if spec.model.name == "NAU"]
    assert Clock(NOTHING, []).seconds(spec, "torch") == pytest.approx(27_548, rel=0.01)
    assert Clock(NOTHING, [], gpu=True).seconds(spec, "torch") == pytest.approx(38.6, rel=0.01)


def test_larger_problems_take_longer():
    clock = Clock(NOTHING, [])
    sizes = [spec for spec in EXPERIMENTS["input-size"].specs if spec.model.name == "NMU"]
    seconds = [clock.seconds(spec, "cpu") for spec in sizes]
    assert seconds == sorted(seconds)
