"""The compiled generator and targets give the bits of the NumPy reference."""

import numpy as np
import pytest

from arithmos import philox as reference
from arithmos.engines.cpu import batch, philox
from arithmos.engines.cpu._compile import LANES
from arithmos.engines.cpu.memory import make_scratch, make_setting
from arithmos.engines.cpu.run import program_of
from arithmos.spec import MODELS, Spec
from arithmos.tasks import OPERATIONS, Arithmetic, Rows

RANGES = [
    ((1.0, 2.0),),
    ((-2.0, -1.0),),
    ((-2.0, 2.0),),
    ((0.0, 1.0),),
    ((0.1, 0.2),),
    ((1.1, 1.2),),
    ((10.0, 20.0),),
    ((2.0, 6.0),),
    ((0.1, 7.3),),
    ((-6.0, -2.0), (2.0, 6.0)),
    ((-0.3, 0.1), (0.7, 1.9)),
]


def draw(spec, seed, step):
    """Inputs and targets of a batch, by row."""
    setting, fixed = make_setting(spec, seed, (0.0, 0.0), np.arange(1))
    arrays = fixed | make_scratch(program_of(spec), spec.task, np.zeros(10_000, np.float32))
    x, t, mode = arrays["x"], arrays["t"], arrays["modes"][0]
    inputs, targets = [], []
    for block in range(len(arrays["tables"])):
        batch.draw_inputs(
            step, mode, arrays["keys"], arrays["tables"][block], setting.half_word, arrays["third"], arrays["lows"][0],
            arrays["widths"][0], arrays["x_words"], arrays["words"], arrays["half_words"], x,
        )  # fmt: skip
        if mode == batch.ROWS:
            batch.pick_rows(arrays["half_words"], arrays["row_inputs"], arrays["row_targets"], x, t)
        else:
            scratch = (arrays[name] for name in ("x_bits", "sums"))
            batch.target(arrays["subsets"], setting.operation, mode, x, *scratch, t)
        inputs.append(x[: spec.task.input_size].T.copy())
        targets.append(t.T.copy())
    order = np.argsort(philox.lane_rows(spec.batch_size).ravel())[: spec.batch_size]
    return np.concatenate(inputs)[order], np.concatenate(targets)[order]


def check(spec, seed, step):
    for found, expected in zip(draw(spec, seed, step), spec.task.batch(seed, step, spec.batch_size), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("range_", RANGES, ids=str)
@pytest.mark.parametrize(("input_size", "batch_size"), [(100, 128), (7, 50), (1, 1)])
def test_inputs_and_targets_have_the_bits_of_the_task(range_, input_size, batch_size):
    task = Arithmetic(operation="add", input_size=input_size, fixed=((0, input_size),), interpolation=range_)
    check(Spec(task=task, model=MODELS["NMU"], batch_size=batch_size), seed=2**32 - 1, step=4_999_999)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fixed", [None, ((3, 4),), ((0, 5), (2, 9), (1, 11), (0, 2))], ids=["drawn", "one", "four"])
def test_targets_of_all_operations_and_subsets(operation, fixed):
    for range_ in ((0.1, 2.0), (1.0, 2.0)):
        task = Arithmetic(operation=operation, input_size=11, fixed=fixed, interpolation=(range_,))
        check(Spec(task=task, model=MODELS["NMU"], batch_size=77), seed=5, step=123)


@pytest.mark.parametrize("input_size", [512, 513])
def test_targets_of_many_inputs(input_size):
    task = Arithmetic(operation="mul", input_size=input_size, fixed=((0, input_size), (1, input_size)))
    check(Spec(task=task, model=MODELS["NMU"], batch_size=64), seed=1, step=9)


@pytest.mark.parametrize("batch_size", [1, LANES - 1, LANES, LANES + 1, 3 * LANES])
def test_batches_of_any_size(batch_size):
    spec = Spec(task=Arithmetic(operation="mul", input_size=9), model=MODELS["NMU"], batch_size=batch_size)
    check(spec, seed=0, step=0)


def test_rows_are_those_of_the_task():
    rng = np.random.default_rng(0)
    spec = Spec(task=Rows(rng.normal(size=(300, 3)), rng.normal(size=(300, 2))), model=MODELS["NMU"], batch_size=100)
    check(spec, seed=11, step=2**31)


def test_every_row_of_the_batch_has_one_lane():
    lanes = philox.lane_rows(130).ravel()
    assert sorted(lanes) == list(range(3 * LANES))


def test_lanes_beyond_the_batch_repeat_its_last_row():
    tables = philox.row_tables((7, reference.RUN), reference.TRAIN, 70)
    beyond = tables[1][:, 70 - LANES :]
    np.testing.assert_array_equal(beyond, np.broadcast_to(tables[1][:, [5]], beyond.shape))
