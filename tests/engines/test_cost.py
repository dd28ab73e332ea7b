import dataclasses

import pandas as pd
import pytest

from arithmos.engines import ENGINES
from arithmos.engines.cost import PACES, Clock, weights
from arithmos.experiments import EXPERIMENTS
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

SPEC = Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"], iterations=999_999)
NOTHING = pd.DataFrame({"spec_id": [], "engine": [], "elapsed_s": []})


def measured(*rows):
    return pd.DataFrame(rows, columns=["spec_id", "engine", "elapsed_s"])


def test_every_engine_has_a_pace():
    assert set(PACES) == set(ENGINES)


@pytest.mark.parametrize(("model", "count"), [("NMU", 202), ("NAU", 202), ("NACMul", 208), ("NALU", 1212)])
def test_weights_are_counted_by_their_cost(model, count):
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


def test_larger_problems_take_longer():
    clock = Clock(NOTHING, [])
    sizes = [spec for spec in EXPERIMENTS["input-size"].specs if spec.model.name == "NMU"]
    seconds = [clock.seconds(spec, "cpu") for spec in sizes]
    assert seconds == sorted(seconds)
