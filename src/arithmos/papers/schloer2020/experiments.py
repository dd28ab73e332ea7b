"""Experiments of Schlör et al. (2020): one layer on two inputs, and two layers on sums over 100 inputs."""

import dataclasses
import itertools
from pathlib import Path

from ...spec import Layer, Model, Penalty, RMSprop, Spec
from ...tasks import Sampled
from ..experiment import Experiment
from ..published import Published

DISTRIBUTIONS = (
    ("U[-1,1]", "U[-10,-5]"),
    ("U[-5,5]", "U[-10,-5]"),
    ("N(0,1)[-3,3]", "N(9,0.3333)[8,10]"),
    ("N(1,1)[-2,4]", "N(9,0.3333)[8,10]"),
    ("N(-1,1)[-4,2]", "N(9,0.3333)[8,10]"),
    ("Exp(0.2)", "Exp(0.5)"),
    ("Exp(0.8)", "Exp(0.5)"),
)
"""Distributions of training and test; normal ones have the middle and a sixth of the width of their interval."""
WORDS = {"add": "addition", "sub": "subtraction", "mul": "multiplication", "div": "division"}
EPOCH = 1000
"""Iterations that see 64,000 rows in batches of 64."""
EPOCHS = 100
SEEDS = 10

OPTIMIZER = RMSprop(lr=0.01, alpha=0.9, eps=1e-5, clip_value=0.1)
PULL = Penalty(kind="pull", strength=0.05, after=11 * EPOCH - 1, below=1.0)
MODELS = (
    Model("NALU", (Layer("NALU"),), label="NALU"),
    Model("INALU", (Layer("INALU"),), label="iNALU", penalties=(PULL,)),
    Model("INALUShared", (Layer("INALUShared"),), label="iNALU (shared)", penalties=(PULL,)),
)


FUNCTIONS = (("U[-3,3]", "U[-5,-3]"), ("N(0,1)[-3,3]", "N(3.5,0.16667)[3,4]"))
"""Distributions of experiment 4."""
VECTOR = Model("NALUVector", (Layer("NALUVector"),), label="NALU (one gate)")
"""NALU with one gate for all outputs; with one output it is the NALU."""
DEEP = tuple(dataclasses.replace(model, layers=model.layers * 2) for model in (*MODELS, VECTOR))
"""Networks of two layers."""


START_RANGES = ("N(0,1)[-2,2]", "N(-10,1)[-18,-2]∪N(10,1)[2,18]")
"""Distributions of experiment 3: test inputs are beyond ±2, about ±10."""
START_EPOCHS = 201
START_SEEDS = 20
MEANS = (-1, 0, 1)
DEVIATIONS = (0.1, 0.5)
STARTS = tuple(
    f"g {g}, M {m}, W {w}, sd {deviation}" for g, m, w, deviation in itertools.product(MEANS, MEANS, MEANS, DEVIATIONS)
)
"""Initial weights of experiment 3: means of gates, M_hat and W_hat, and their standard deviation."""


def _start(operation: str, start: str) -> Spec:
    """Return a spec of experiment 3: initial weights of the iNALU with two layers."""
    model = dataclasses.replace(DEEP[1], layers=(Layer("INALU", (("init", start),)),) * 2)
    return dataclasses.replace(_function(model, operation, START_RANGES), iterations=START_EPOCHS * EPOCH)


def _function(model: Model, operation: str, ends: tuple[str, str]) -> Spec:
    """Return a spec of experiment 4: an operation on two sums over scattered inputs."""
    inputs = Sampled(operation=operation, interpolation=ends[0], extrapolation=ends[1], input_size=100, scattered=True)
    return dataclasses.replace(_spec(model, operation, ends), task=inputs, hidden_size=2)


def _spec(model: Model, operation: str, ends: tuple[str, str]) -> Spec:
    return Spec(
        task=Sampled(operation=operation, interpolation=ends[0], extrapolation=ends[1]),
        model=model,
        iterations=EPOCHS * EPOCH,
        batch_size=64,
        evaluate_every=EPOCH,
        optimizer=OPTIMIZER,
    )


def _published(name: str) -> Published:
    return Published(Path(__file__).with_name("published") / f"{name}.csv")


CONTENTS = (
    *[
        Experiment(
            name=f"minimal-{word}",
            item="Experiment 1",
            title=f"One layer, {word} of two inputs",
            specs=tuple(_spec(model, operation, ends) for model in MODELS for ends in DISTRIBUTIONS),
            seeds=SEEDS,
            axis="interpolation",
            published=_published(word),
        )
        for operation, word in WORDS.items()
    ],
    *[
        Experiment(
            name=f"start-{word}",
            item="Experiment 3",
            title=f"Initial weights of two layers, {word} of two sums over 100 inputs",
            specs=tuple(_start(operation, start) for start in STARTS),
            seeds=START_SEEDS,
            axis="init",
            published=_published(f"start-{word}"),
        )
        for operation, word in WORDS.items()
    ],
    *[
        Experiment(
            name=f"function-{word}",
            item="Experiment 4",
            title=f"Two layers, {word} of two sums over 100 inputs",
            specs=tuple(_function(model, operation, ends) for model in DEEP for ends in FUNCTIONS),
            seeds=SEEDS,
            axis="interpolation",
            published=_published(f"function-{word}"),
        )
        for operation, word in WORDS.items()
    ],
)
