"""A spec is written as plain values, and read back from them."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arithmos.data import Digits
from arithmos.nn import UNITS
from arithmos.optim import SparsitySchedule
from arithmos.papers import EXPERIMENTS
from arithmos.spec import MODELS, Adam, InputRegularizer, Layer, Model, Penalty, RMSprop, Spec, model
from arithmos.spec.optimizers import PENALTIES
from arithmos.tasks import (
    KINDS,
    OPERATIONS,
    TEN_PARAMETERS,
    Arithmetic,
    DigitSequences,
    FractionalSIR,
    Rows,
    Sampled,
    from_plain,
)

SPEC = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=200_000)
DIGITS = DigitSequences(operation="mul", length=2, test_lengths=(1, 2), digits=(1, 2, 3), images=100)
DATA = {"inputs": [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]], "targets": [2, 12, 30, 56, 90]}


def again(spec, **data):
    return Spec.from_plain(json.loads(spec.json()), data)


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_spec_of_the_catalogue_is_read_back(name):
    for spec in EXPERIMENTS[name].specs:
        twin = again(spec)
        assert twin == spec
        assert twin.json() == spec.json()


def ranges(low, high):
    edges = st.lists(st.integers(low, high), min_size=2, max_size=4, unique=True).filter(lambda edge: len(edge) != 3)
    return edges.map(sorted).map(lambda edge: tuple(zip(edge[::2], edge[1::2], strict=True)))


@st.composite
def arithmetic(draw):
    size = draw(st.integers(4, 100))
    start = draw(st.integers(0, size - 2))
    return Arithmetic(
        operation=draw(st.sampled_from(sorted(OPERATIONS))),
        input_size=size,
        subset_ratio=draw(st.floats(0.25, 0.5)),
        overlap_ratio=draw(st.floats(0, 1)),
        fixed=draw(st.none() | st.just(((start, size), (0, start + 1)))),
        interpolation=draw(ranges(-9, 9)),
        extrapolation=draw(ranges(-99, 99)),
    )


digits = st.builds(
    DigitSequences,
    operation=st.sampled_from(["mul", "add"]),
    length=st.just(3),
    test_lengths=st.permutations([1, 3, 9]).map(tuple),
    digits=st.sets(st.integers(0, 9), min_size=1).map(sorted).map(tuple),
    images=st.integers(3, 10**5),
    validation_size=st.integers(0, 9000),
    fixed=st.booleans(),
    every_step=st.booleans(),
    initial=st.none() | st.integers(-2, 2),
    data=st.text("0123456789abcdef", min_size=32, max_size=32),
)

layers = st.one_of(
    st.sampled_from(sorted(UNITS)).map(Layer),
    st.sampled_from(sorted(UNITS)).map(lambda unit: Layer(UNITS[unit])),
    st.builds(lambda project, clip: Layer("NMU", (("project", project), ("clip", clip))), st.booleans(), st.booleans()),
)


penalties = st.builds(
    lambda rise, **fields: Penalty(most=rise * fields["strength"], **fields),
    rise=st.sampled_from([0, 1, 100]),
    kind=st.sampled_from(PENALTIES),
    strength=st.floats(1e-9, 1) | st.just(1),
    every=st.integers(1, 10**6),
    after=st.integers(-1, 10**6),
    below=st.floats(0, 10) | st.integers(0, 9),
)


@st.composite
def optimizers(draw, count):
    """Adam alone for sequences, whose count is 0."""
    added = {}
    if count:
        added = {
            "layer_rates": draw(st.just(()) | st.lists(st.floats(0.01, 1), min_size=count, max_size=count)),
            "clip_value": draw(st.sampled_from([0, 0.1])),
            "clip_norm": draw(st.sampled_from([0.0, 1])),
            "scale_loss": draw(st.booleans()),
            "reinitialize": draw(st.sampled_from([0, 5000])),
            "precondition": draw(st.booleans()),
        }
    if count and draw(st.booleans()):
        return RMSprop(draw(st.floats(1e-9, 1)), draw(st.floats(0, 0.99)), **added)
    return Adam(draw(st.floats(1e-9, 1)), draw(st.floats(0, 0.99)), draw(st.floats(0, 0.9999)), 1e-9, **added)


@st.composite
def specs(draw):
    task = draw(arithmetic() | digits)
    count = 1 if task.sequential else draw(st.integers(1, 3))
    start = draw(st.integers(0, 10**6))
    end = draw(st.integers(start, 10**7) | st.floats(start, 1e9))
    schedule = SparsitySchedule(draw(st.integers(0, 9) | st.floats(0, 9)), start, end)
    inputs = InputRegularizer(logs=draw(st.booleans()))
    return Spec(
        task=task,
        model=Model(
            "drawn",
            tuple(draw(layers) for _ in range(count)),
            schedule,
            inputs=inputs,
            penalties=() if task.sequential else tuple(draw(st.lists(penalties, max_size=2))),
        ),
        hidden_size=draw(st.integers(1, 9)),
        iterations=draw(st.integers(0, 10**7)),
        batch_size=draw(st.integers(1, 500)),
        evaluate_every=draw(st.integers(10, 5000)),
        optimizer=draw(optimizers(0 if task.sequential else count)),
    )


@given(specs())
def test_a_spec_is_read_back(spec):
    plain = spec.plain()
    assert json.loads(spec.json()) == plain
    assert Spec.from_plain(plain) == again(spec) == spec
    assert again(spec).id == spec.id
    assert hash(again(spec)) == hash(spec)


@pytest.mark.parametrize("test", [None, ([[1, 1], [2, 2]], [1, 4])])
def test_a_spec_on_rows_is_read_back_with_its_data(test):
    task = Rows(**DATA, test=test, validation_share=0.4, threshold=1)
    spec = Spec(task=task, model=MODELS["NMU"])
    assert again(spec, **DATA, test=test) == spec
    assert again(spec, **DATA, test=test).task.training()[0].tolist() == task.training()[0].tolist()
    names = "inputs and targets" if test is None else "inputs, targets and test"
    with pytest.raises(ValueError, match=f"^{names} of the rows with digest {task.digest} must be given"):
        again(spec)
    other = {**DATA, "targets": [0, 0, 0, 0, 0]}
    with pytest.raises(ValueError, match=rf"must be the rows with digest {task.digest}, got Rows\("):
        again(spec, **other, test=test)


def test_rows_are_equal_when_their_data_and_split_are():
    assert Rows(**DATA) == Rows(np.array(DATA["inputs"], np.float32), DATA["targets"])
    assert hash(Rows(**DATA)) == hash(Rows(**DATA))
    assert Rows(**DATA) != Rows(**DATA, threshold=1)
    assert Rows(**DATA) != Rows(**DATA, test_share=0.4)
    assert Rows(**DATA) != TEN_PARAMETERS


def test_a_spec_on_other_digits_is_read_back_with_its_source():
    def images(n):
        return np.zeros((n, 28, 28), np.uint8), np.arange(n, dtype=np.uint8) % 4

    source, other = Digits(*images(40), *images(20)), Digits(*images(30), *images(20))
    task = DigitSequences(
        operation="add", length=2, test_lengths=(2,), digits=(1, 2, 3), images=1, validation_size=8, source=source
    )
    spec = Spec(task=task, model=Model("own", (Layer("NAU"),)))
    assert again(spec) == again(spec, source=source) == spec
    assert again(spec, source=source).task.pixels("test")[1].tolist() == task.pixels("test")[1].tolist()
    with pytest.raises(ValueError, match=f"source must be the digits with digest {source.digest}, got {other.digest}"):
        again(spec, source=other)


def test_a_model_that_is_read_back_has_its_name():
    assert again(dataclasses.replace(SPEC, model=model("NAU>NMU"))).model.label == "NMU"
    assert again(dataclasses.replace(SPEC, model=model("NACAdd>NMU"))).model.name == "NACAdd>NMU"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_task_of_another_version_is_refused(kind):
    sampled = Sampled(operation="div", interpolation="U[1,2]", extrapolation="Exp(1)")
    others = {"rows": Rows(**DATA), "digits": DIGITS, "sampled": sampled, "sir": FractionalSIR()}
    task = {"arithmetic": TEN_PARAMETERS, **others}[kind]
    with pytest.raises(ValueError, match=f"version of the task '{kind}' must be {task.version} .* got 99"):
        from_plain({**task.plain(), "version": 99, "new": 1})


def test_a_unit_of_another_version_is_refused():
    plain = SPEC.plain()
    plain["layers"][1]["version"] = "99"
    with pytest.raises(ValueError, match="this version of arithmos has no unit 'NMU' of version 99"):
        Spec.from_plain(plain)


def test_a_users_unit_is_named_and_its_file_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("open('ran', 'w').close()\n")
    spec = dataclasses.replace(SPEC, model=model("NAU>own.py:Mine"))
    digest = spec.model.layers[1].version
    with pytest.raises(ValueError, match=f"unit 'own.py:Mine' with digest {digest} is in a user's file"):
        again(spec)
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": 3}, "task must be a table of values by name, got 3"),
        ({"task": {"kind": "aritmetic"}}, "kind of the task must be one of .*got 'aritmetic'; did you mean"),
        ({"task": {**TEN_PARAMETERS.plain(), "operation": "mull"}}, "operation must be one of"),
        ({"task": {**TEN_PARAMETERS.plain(), "sise": 3}}, "a key of task must be one of .*got 'sise'"),
        ({"layers": {}}, "layers must be a list"),
        ({"layers": []}, "must be at least one, got none"),
        ({"layers": [{"unit": "NMU"}]}, "layer must have unit, options, version, but options, version is missing"),
        (
            {"layers": [{"unit": "NMUU", "options": {}, "version": "1"}]},
            "this version of arithmos has no unit 'NMUU' of version 1",
        ),
        ({"layers": [{"unit": ["NMU"], "options": {}, "version": "1"}]}, "unit must be a line of printable text"),
        ({"layers": [{"unit": "NMU", "options": {"x": 1}, "version": "1"}]}, "an option of NMU must be one of"),
        ({"optimizer": {"lr": 1}}, "optimizer must have lr, beta1, beta2, eps, but beta1, beta2, eps is missing"),
        ({"schedule": None}, "schedule must be a table of values by name, got None"),
        ({"inputs": {"strength": 0.0, "logs": True}}, "a key of spec must be one of .*got 'inputs'"),
        ({"iterations": -1}, "iterations must be a whole number"),
    ],
)
def test_wrong_plain_forms_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        Spec.from_plain({**SPEC.plain(), **change})
