"""From fifty states along a run, one step of a fused engine against the same step in float64."""

import numpy as np
import pytest
import torch
from tests.agreement.specs import ODD, STRANGERS, small
from tests.plain import Plain

from arithmos.engines.trace import logarithmic
from arithmos.spec import MODELS
from arithmos.tasks import OPERATIONS

ARRAYS = ("parameters", "exp_avg", "exp_avg_sq")
SEED, STATES = 3, 50


def _error(found, exact):
    return np.linalg.norm(found.astype(np.float64) - exact) / max(np.linalg.norm(exact), 1e-30)


def _norm(errors):
    return np.sqrt(np.square(errors).mean(axis=0))


def _geometric_mean(errors):
    return np.exp(np.log(np.asarray(errors) + 1e-8).mean(axis=0))


def errors(steps, spec):
    """Relative errors of an engine and of float32 torch, over all states together, one for each array.

    Where an exp-log layer reads a number near zero, the error of a step is a matter of luck in any engine, a hundred
    times more or less: then the geometric mean over the states counts instead of their norm.
    """
    over = _geometric_mean if any(map(logarithmic, spec.model.layers)) else _norm
    run, plain, exact = Plain(spec, SEED), Plain(spec, SEED), Plain(spec, SEED, torch.float64)
    step = steps(spec, SEED)
    ours, theirs = [], []
    for _ in range(STATES):
        state = run.state()
        right, usual = (other.load(state).advance().state() for other in (exact, plain))
        found = step(state)
        assert int(found["step"][0]) == state["step"] + 1
        ours.append([_error(found[name], right[name]) for name in ARRAYS])
        theirs.append([_error(usual[name], right[name]) for name in ARRAYS])
        run.advance()
    return over(ours), over(theirs)


def check(steps, spec):
    """An engine may err at most twice as much as float32 torch."""
    ours, theirs = errors(steps, spec)
    allowed = 2 * theirs + 1e-6
    assert (ours <= allowed).all(), f"{', '.join(ARRAYS)}: {ours}, allowed {allowed}"


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_one_step_of_every_model_on_every_operation(steps, model, operation):
    check(steps, small(model, operation))


@pytest.mark.parametrize("name", ODD)
def test_one_step_of_odd_networks_sizes_and_tasks(steps, name):
    check(steps, ODD[name])


@pytest.mark.parametrize("name", STRANGERS)
def test_one_step_of_strangers_units(steps, name):
    check(steps, small(f"NAU>{STRANGERS[name]}"))
