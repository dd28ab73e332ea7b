import itertools

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formula.layers import filled, nac
from torch import nn

from arithmos.formula import expression, recovered, recovered_runs
from arithmos.formula.exact import root, same
from arithmos.formula.stored import described, judge
from arithmos.nn import NAU, NMU, GatedNAUNMU, Linear, NACAdd, NACMul, NACMulNMU
from arithmos.spec import MODELS, Layer, Spec, model
from arithmos.tasks import OPERATIONS, TEN_PARAMETERS, Arithmetic, Rows

TASK = {"input_size": 8, "subset_ratio": 0.25}


def task(operation, **changes):
    return Arithmetic(operation=operation, **{**TASK, **changes})


def subset(start, stop, size=8):
    return [1.0 if start <= i < stop else 0.0 for i in range(size)]


SECOND = {  # effective weights of the second layer, by operation and model
    "mul": {"NMU": [1, 1], "NACMul": [1, 1], "NACMulSigma": [1, 1], "NACMulNMU": [1, 1]},
    "div": {"NACMul": [1, -1]},
    "add": {"NAU": [1, 1], "NACAdd": [1, 1]},
    "sub": {"NAU": [1, -1], "NACAdd": [1, -1]},
    "root": {"NACMul": [0.5, 0], "NACMulSigma": [0.5, 0], "NACMulNMU": [0.5, 0]},
    "squared": {"NMU": [1, 1], "NACMul": [1, 1]},
}
SOLUTIONS = [(operation, name) for operation, models in SECOND.items() for name in models]


def solution(operation, name, seed, *, off=0.0):
    """A spec and weights that solve it, each so far from its exact value, towards 0 or away from it."""
    spec = Spec(task=task(operation), model=MODELS[name])
    subsets = spec.task.subsets(seed)
    rows = [subsets[0], subsets[0] if operation == "squared" else subsets[1]]
    weights = np.concatenate([*[subset(*row) for row in rows], np.array(SECOND[operation][name], float)])
    return spec, weights - off * np.where(weights > 0, 1, -1)


def verdict(spec, seeds, weights):
    return recovered_runs(spec.model.layers, spec.sizes, spec.task, seeds, weights).tolist()


@pytest.mark.parametrize(("operation", "name"), SOLUTIONS)
@pytest.mark.parametrize("off", [0.0, 0.2])
def test_solutions_are_exact(operation, name, off):
    runs = [solution(operation, name, seed, off=off) for seed in range(20)]
    assert all(verdict(runs[0][0], range(20), [weights for _, weights in runs]))


@pytest.mark.parametrize(("operation", "name"), SOLUTIONS)
def test_any_weight_that_is_another_number_is_noticed(operation, name):
    spec, weights = solution(operation, name, 3)
    used = np.array(SECOND[operation][name])[:, None].repeat(8, 1).ravel()
    for place in range(len(weights)):
        changed = weights.copy()
        changed[place] += 1 if changed[place] <= 0 else -1
        plays_a_part = place >= 16 or used[place] != 0
        assert verdict(spec, [3], [changed]) == [not plays_a_part], place


@pytest.mark.parametrize(("operation", "name"), SOLUTIONS)
def test_subsets_are_those_of_the_seed(operation, name):
    runs = [solution(operation, name, seed) for seed in range(12)]
    spec = runs[0][0]
    rolled = [weights for _, weights in runs[1:]]
    same_place = [spec.task.subsets(a) == spec.task.subsets(b) for a, b in itertools.pairwise(range(12))]
    assert verdict(spec, range(11), rolled) == same_place


def test_signs_of_hidden_sums_do_not_matter_where_they_cancel():
    spec, weights = solution("squared", "NMU", 0)
    both = weights.copy()
    both[:16] *= -1
    one = weights.copy()
    one[:8] *= -1
    assert verdict(spec, [0, 0], [both, one]) == [True, False]
    spec, weights = solution("mul", "NACMul", 0)
    weights[:8] *= -1
    assert verdict(spec, [0], [weights]) == [True]  # |-s| is s where inputs are positive


@pytest.mark.parametrize(
    ("interpolation", "extrapolation", "exact"),
    [
        (((1.0, 2.0),), ((2.0, 6.0),), True),
        (((-2.0, -1.0),), ((-6.0, -2.0),), True),
        (((-2.0, 2.0),), ((-6.0, -2.0), (2.0, 6.0)), False),
    ],
)
def test_absolute_values_are_exact_where_the_task_has_one_sign(interpolation, extrapolation, exact):
    spec, weights = solution("mul", "NACMul", 0)
    spec = Spec(task=task("mul", interpolation=interpolation, extrapolation=extrapolation), model=MODELS["NACMul"])
    assert verdict(spec, [0], [weights]) == [exact]
    assert verdict(Spec(task=spec.task, model=MODELS["NMU"]), [0], [weights]) == [True]


def test_runs_that_met_nan_are_not_exact_and_do_not_disturb_others():
    spec, weights = solution("mul", "NMU", 0)
    assert verdict(spec, [0, 0, 0], [np.full(18, np.nan), weights, np.full(18, np.inf)]) == [False, True, False]


def gated(seed, *, hidden_gate, gate):
    """The product by a network of gated units, with gates of these weights on the input and on the hidden units."""
    subsets = task("mul").subsets(seed)
    first = [*subset(*subsets[0]), *subset(*subsets[1])]
    other = np.random.default_rng(seed).uniform(0, 1, 16)
    return np.concatenate([first, other, np.full(16, hidden_gate), [0.3, -0.8], [1, 1], np.full(2, gate)])


def test_gates_are_rounded_where_the_task_lives():
    spec = Spec(task=task("mul"), model=MODELS["GatedNAUNMU"])
    runs = [
        gated(0, hidden_gate=0.1, gate=-0.1),
        gated(0, hidden_gate=0.1, gate=0.1),
        gated(0, hidden_gate=-1, gate=-1),
    ]
    assert verdict(spec, [0] * 3, runs) == [True, False, False]
    undecided = gated(0, hidden_gate=0.1, gate=-0.1)
    undecided[-2:] = [1.0, -1.0]  # open or closed as one sum or the other is larger
    assert verdict(spec, [0], [undecided]) == [False]


def test_a_branch_that_is_not_used_may_be_undefined():
    layers = (Layer("NALUSeparate"),)
    weights = [1.0, 1.0, -1.0, 0.0, 9.0, 9.0]
    problem = Arithmetic(operation="add", input_size=2, fixed=((0, 1), (1, 2)))
    assert recovered_runs(layers, (2, 1), problem, [0], [weights]).tolist() == [True]
    layers = (Layer("NACAdd"), Layer("NACMul"))
    zero = [[0.0, 0.0, 1.0, 1.0, -1.0, 1.0], [0.0, 0.0, 1.0, 1.0, 0.0, 1.0]]
    problem = Arithmetic(operation="add", input_size=2, fixed=((0, 1), (1, 2)))
    assert recovered_runs(layers, (2, 2, 1), problem, [0, 0], zero).tolist() == [False, True]


def test_roots_within_a_network_are_exact_too():
    layers = (Layer("NACMul"), Layer("NAU"))
    problem = Arithmetic(operation="root", input_size=2, fixed=((0, 1),))
    assert recovered_runs(layers, (2, 2, 1), problem, [0], [[0.5, 0, 0.5, 0.5, 1, 0]]).tolist() == [True]
    assert recovered_runs(layers, (2, 2, 1), problem, [0], [[0.5, 0, 0.5, 0.5, 1, 1]]).tolist() == [False]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_targets_without_a_value_are_passed_over(operation):
    both = task(operation, interpolation=((-2.0, 2.0),), extrapolation=((-6.0, 6.0),))
    spec = Spec(task=both, model=MODELS["NAU"])
    assert verdict(spec, range(5), np.zeros((5, 18))) == [False] * 5


small = st.integers(-1, 1)


@settings(max_examples=60)
@given(
    st.lists(small, min_size=12, max_size=12), st.lists(small, min_size=3, max_size=3), st.sampled_from(["NAU", "NMU"])
)
def test_agrees_with_sympy(first, second, unit):
    """A network is its own expression expanded, and is another one's only if SymPy says that they are the same."""
    last = filled(NAU(3, 1), [second]) if unit == "NAU" else filled(NMU(3, 1), [[abs(w) for w in second]])
    network = nn.Sequential(filled(NAU(4, 3), np.reshape(first, (3, 4)).astype(float)), last)
    own = sympy.expand(expression(network).sympy)
    ten = sympy.sympify(TEN_PARAMETERS.formula(0), locals={s.name: s for s in own.free_symbols})
    assert recovered(network, own)
    assert recovered(network, TEN_PARAMETERS) == (sympy.expand(own - ten) == 0)
    assert not recovered(network, own + sympy.Symbol("x1"))


def test_several_outputs():
    network = filled(NAU(2, 2), [[1.0, 1.0], [1.0, -1.0]])
    assert recovered(network, ["x1 + x2", "x1 - x2"])
    assert not recovered(network, ["x1 + x2", "x2 - x1"])


def test_inputs_say_what_a_network_is_meant_for():
    network = nac(NACMul(2, 1), [[1.0, -1.0]])
    assert not recovered(network, "x1/x2")
    assert recovered(network, "x1/x2", inputs=[[1.0, 2.0], [3.0, 4.0]])
    gate = filled(GatedNAUNMU(2, 1), [[1.0, 1.0]], [[1.0, 1.0]], [[5.0, 5.0]])
    assert not recovered(gate, "x1 + x2")
    assert recovered(gate, "x1 + x2", inputs=[[1.0, 2.0]])
    assert recovered(gate, "x1*x2", inputs=[[-1.0, -2.0]])


def test_bias_and_relu():
    assert recovered(filled(Linear(2, 1), [[0.9, 2.1]], [-0.8]), "x1 + 2*x2 - 1")
    relu = filled(model("ReLU>NAU").layers[0].build(2, 1), [[1.0, 1.0]], [0.1])
    assert not recovered(relu, "x1 + x2")
    assert recovered(relu, "x1 + x2", inputs=[[1.0, 1.0]])


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("x1 + x3", {}, "target must be a formula in x1 to x2, got 'x3' at character 6: unknown name"),
        (sympy.Symbol("x3"), {}, "target must be a formula in x1 to x2, got 'x3' in it"),
        (["x1", "x2"], {}, "target must have 1 formulas, one per output, got 2"),
        (TEN_PARAMETERS, {}, "target must have the 2 inputs of the network, got 4"),
        ("x1 + x2", {"inputs": [[1.0]]}, r"inputs must have the shape \[rows, 2\], got \[1, 1\]"),
    ],
)
def test_what_does_not_fit_is_refused(target, options, message):
    with pytest.raises(ValueError, match=message):
        recovered(filled(NAU(2, 1), [[1.0, 1.0]]), target, **options)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('pathlib').Path('ran').touch()",
        "x1 + [open('ran', 'w') for _ in '1'][0].fileno()",
        "(lambda: open('ran', 'w'))()",
        "x1.__class__.__base__.__subclasses__()",
    ],
)
def test_text_is_not_run(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="target must be a formula in x1, got "):
        recovered(filled(NAU(1, 1), [[1.0]]), text)
    assert not any(tmp_path.iterdir())


def test_a_spec_is_read_back_from_its_json():
    for spec in (
        Spec(task=task("div"), model=MODELS["NALU"], hidden_size=3),
        Spec(task=TEN_PARAMETERS, model=MODELS["NMU"].with_options(clip=False)),
    ):
        assert described(spec.json()) == described(spec)
    rows = Spec(task=Rows(np.ones((9, 3)), np.ones((9, 2))), model=MODELS["NAU"])
    assert described(rows.json()).sizes == (3, 2, 2)
    assert described(rows.json()).task is None


def test_what_cannot_be_judged_is_left_open():
    spec, weights = solution("mul", "NMU", 0)
    assert judge(spec, [0, 0, 0], [weights, None, weights[1:]]) == [True, None, None]
    assert judge(spec.json(), [0], [weights]) == [True]
    assert judge(Spec(task=Rows(np.ones((9, 8)), np.ones(9)), model=MODELS["NMU"]), [0], [weights]) == [None]
    assert judge(spec.json().replace('"NMU"', '"mine.py:NMU"'), [0], [weights]) == [None]


def test_exact_numbers():
    assert root(9) == 3
    assert root(2) ** 2 == 2
    assert same(root(8), 2 * root(2))
    assert same(root(2) * root(3), root(6))
    assert not same(root(2), root(3))
    assert not same(sympy.nan, 1)


def test_a_trained_unit_that_rounds_to_something_else_is_not_recovered():
    network = nn.Sequential(nac(NACAdd(2, 2), [[1.0, 1.0], [0.0, 1.0]]), filled(NACMulNMU(2, 1), [[0.74, 1.0]]))
    inputs = torch.rand(10, 2) + 1
    assert not recovered(network, "(x1 + x2)*x2", inputs=inputs)
    assert recovered(network, "sqrt(x1 + x2)*x2", inputs=inputs)
