"""Stored specs that cannot be made again are still described."""

import dataclasses
import json

import numpy as np
import pytest

from arithmos.spec import MODELS, InputRegularizer, Layer, Model, Spec, model
from arithmos.spec.stored import describe, networks, problem, sequential
from arithmos.tasks import TEN_PARAMETERS, DigitSequences, Rows

TEN = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=5000)
ROWS = Spec(task=Rows(np.ones((9, 3)), np.ones((9, 2))), model=MODELS["NAU"], iterations=5000)
DIGITS = Spec(
    task=DigitSequences(operation="mul", length=2, test_lengths=(1, 2), digits=(1, 2, 3), images=100),
    model=Model("cell", (Layer("NMU"),), inputs=InputRegularizer(1.0)),
    iterations=5000,
)


def older(spec):
    plain = spec.plain()
    return json.dumps({**plain, "task": {**plain["task"], "version": 0, "old": True}})


@pytest.mark.parametrize(
    ("spec", "task", "sizes", "words"),
    [
        (TEN, TEN.task, (4, 2, 1), "×, 4 inputs, 2 hidden, 5,000 iterations"),
        (ROWS, None, (3, 2, 2), "rows of data, 3 inputs, 2 hidden, 5,000 iterations"),
        (DIGITS, DIGITS.task, (2, 1), "× of 2 digits, R_z, 5,000 iterations"),
    ],
)
def test_a_stored_spec_is_described_whatever_its_version(spec, task, sizes, words):
    assert networks(spec.json()) == (spec.model.layers, sizes, task)
    assert networks(older(spec)) == (spec.model.layers, sizes, None)
    assert describe(spec.json()) == words
    assert describe(older(spec)) == f"{words}, version 0 of the task"
    assert sequential(older(spec)) == spec.task.sequential


def test_a_spec_with_a_users_unit_is_described(tmp_path):
    (tmp_path / "own.py").write_text("")
    spec = dataclasses.replace(TEN, model=model(f"NAU>{tmp_path}/own.py:Mine"))
    assert describe(spec.json()) == describe(TEN.json())
    assert problem(spec.json()) == problem(TEN.json()) != problem(ROWS.json())
    with pytest.raises(ValueError, match=r"unit 'own.py:Mine' with digest [0-9a-f]{16} is in a user's file"):
        networks(spec.json())


@pytest.mark.parametrize("text", ["3", "{}", '{"layers": 3}', '{"layers": [], "task": {"kind": "other"}}'])
def test_other_json_is_not_a_spec(text):
    with pytest.raises(ValueError, match="is not the JSON of a spec"):
        networks(text)
