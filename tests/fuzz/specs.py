"""Specs of all kinds of tasks and models, with right and wrong values in them."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from arithmos.nn import CELLS, UNITS
from arithmos.optim import SparsitySchedule
from arithmos.spec import Adam, InputRegularizer, Layer, Model, Spec
from arithmos.tasks import OPERATIONS, Arithmetic, DigitSequences, Rows, Sampled

from . import named
from .values import anything, near

Values = dict[str, Any]

SMALL = 2000
"""Weights of a network that is built to see whether it can be."""


def spec(rng: random.Random, folder: Path) -> str:
    """A spec; what is wrong with it is named, and what is not has a name that stays and a network that runs."""
    values = make(rng)
    wrong = mutate(rng, values)
    try:
        made = build(copy.deepcopy(values))
    except (ValueError, KeyError, FileNotFoundError) as error:
        return named(error, wrong)
    check(made, build(values))
    return "accepted"


def make(rng: random.Random) -> Values:
    """The arguments of a spec that can be run."""
    task = rng.choice([arithmetic, arithmetic, arithmetic, rows, digits, sampled])(rng)
    layers = 1 if task["kind"] == "digits" else rng.randrange(1, 4)
    return {
        "task": task,
        "model": model(rng, layers),
        "optimizer": {"lr": 10 ** rng.uniform(-5, 0), "beta1": rng.random(), "beta2": rng.random(), "eps": 1e-8},
        "hidden_size": rng.randrange(1, 9),
        "iterations": rng.randrange(10**7),
        "batch_size": rng.randrange(1, 300),
        "evaluate_every": rng.randrange(1, 2000),
    }


def arithmetic(rng: random.Random) -> Values:
    size = rng.randrange(4, 200)
    low = sorted(rng.uniform(-10, 10) for _ in range(4))
    ranges = [((low[0], low[1]),), ((low[0], low[1]), (low[2], low[3]))]
    values = {
        "kind": "arithmetic",
        "operation": rng.choice(list(OPERATIONS)),
        "input_size": size,
        "interpolation": rng.choice(ranges),
        "extrapolation": rng.choice(ranges),
        "subset_ratio": rng.uniform(1 / size + 1e-9, 0.5),
        "overlap_ratio": rng.random(),
    }
    if rng.random() < 0.5:
        values["fixed"] = tuple((start := rng.randrange(size), rng.randrange(start, size) + 1) for _ in range(3))
    return values


def rows(rng: random.Random) -> Values:
    n, columns = rng.randrange(5, 30), rng.randrange(1, 5)
    return {
        "kind": "rows",
        "inputs": [[rng.uniform(-9, 9) for _ in range(columns)] for _ in range(n)],
        "targets": [rng.uniform(-9, 9) for _ in range(n)],
        "validation_share": 0.2,
        "test_share": 0.2,
        "threshold": rng.choice([None, 1e-4]),
    }


def digits(rng: random.Random) -> Values:
    length = rng.randrange(1, 11)
    return {
        "kind": "digits",
        "operation": rng.choice(["mul", "add"]),
        "length": length,
        "test_lengths": (length, 2 * length),
        "digits": (1, 2, 3),
        "images": rng.randrange(100, 1000),
        "validation_size": 50,
        "fixed": rng.random() < 0.5,
        "every_step": rng.random() < 0.5,
        "initial": rng.choice([None, 0.0, 1.0]),
    }


def sampled(rng: random.Random) -> Values:
    return {
        "kind": "sampled",
        "operation": rng.choice(["add", "div", "reciprocal"]),
        "interpolation": rng.choice(["U[-2,2]", "N(0,1)[-5,5]", "Exp(0.2)", "U[-2,-1] | U[1,2]"]),
        "extrapolation": rng.choice(["U[2,6]", "U[-6,-2]∪U[2,6]", "Benford(10,100)"]),
        "input_size": rng.randrange(2, 9),
        "first": 0,
        "size": rng.randrange(1, 1000),
        "absolute": 1e-5,
    }


def model(rng: random.Random, layers: int) -> Values:
    start = rng.randrange(10**6)
    return {
        "name": rng.choice(["NMU", "mine", "é", "<b>"]),
        "label": rng.choice(["", "my own", "NAC•"]),
        "layers": [layer(rng) for _ in range(layers)],
        "schedule": {"strength": rng.choice([0.0, 0.01, 10]), "start": start, "end": start + rng.randrange(10**6)},
        "inputs": {"strength": 0.0, "logs": rng.random() < 0.5},
    }


def layer(rng: random.Random) -> Values:
    unit = rng.choice(list(UNITS))
    options = {"project": rng.random() < 0.5} if unit in ("NAU", "NMU") and rng.random() < 0.5 else {}
    return {"unit": unit, "options": tuple(options.items())}


def mutate(rng: random.Random, values: Values) -> list[str]:
    """Put wrong values in some places, of which the names come back: mostly in one."""
    places = list(leaves(values))
    wrong = []
    for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3])):
        table, key = rng.choice(places)
        table[key] = near(rng, table[key]) if rng.random() < 0.4 else anything(rng)
        wrong.append(key)
    return wrong


def leaves(values: Values) -> Iterator[tuple[Values, str]]:
    for key, value in values.items():
        if key == "layers":
            yield values, key
            for one in value:
                yield from leaves(one)
        elif isinstance(value, dict):
            yield from leaves(value)
            yield values, key
        elif key != "kind":
            yield values, key


TASKS: dict[str, Callable[..., Any]] = {
    "arithmetic": Arithmetic,
    "rows": Rows,
    "digits": DigitSequences,
    "sampled": Sampled,
}


def build(values: Values) -> Spec:
    """The spec of these arguments; a part that is no longer a table of arguments is handed in as it is."""
    values = dict(values)
    if isinstance(task := values["task"], dict) and "kind" in task:
        values["task"] = TASKS[task["kind"]](**{name: value for name, value in task.items() if name != "kind"})
    if isinstance(given := values["model"], dict) and "name" in given:
        given = dict(given)
        if isinstance(given["layers"], list):
            given["layers"] = tuple(
                Layer(**one) if isinstance(one, dict) and "unit" in one else one for one in given["layers"]
            )
        for name, owner in (("schedule", SparsitySchedule), ("inputs", InputRegularizer)):
            if isinstance(given[name], dict) and "strength" in given[name]:
                given[name] = owner(**given[name])
        values["model"] = Model(**given)
    if isinstance(values["optimizer"], dict) and "lr" in values["optimizer"]:
        values["optimizer"] = Adam(**values["optimizer"])
    return Spec(**values)


def check(made: Spec, again: Spec) -> None:
    """A spec that was accepted is right."""
    assert made.id == again.id
    assert len(made.id) == 16
    assert json.loads(made.json())["iterations"] == made.iterations
    hash(made)
    assert isinstance(made.model.label, str)
    weights = sum(i * o for i, o in zip(made.sizes[:-1], made.sizes[1:], strict=True))
    if weights > SMALL or made.batch_size > SMALL:
        return
    network = made.network(1)
    if isinstance(made.task, DigitSequences):
        return
    x, t = made.task.batch(1, 0, 3)
    assert x.dtype == t.dtype == np.float32
    assert np.isfinite(x).all()
    assert (made.task.batch(1, 0, 3)[0] == x).all()
    if isinstance(made.task, Arithmetic):
        inside = [(x >= np.float32(low)) & (x <= np.float32(high)) for low, high in made.task.interpolation]
        assert np.logical_or.reduce(inside).all()
    if all(one.unit in UNITS for one in made.model.layers):
        assert tuple(network(torch.from_numpy(x)).shape) == (3, made.task.output_size)
    assert all(one.unit in CELLS for one in made.model.layers)
