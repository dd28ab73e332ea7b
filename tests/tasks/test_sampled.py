import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from arithmos.engines import Job
from arithmos.engines.cpu import CpuEngine
from arithmos.engines.torch import TorchEngine
from arithmos.papers import Experiment, load, to_toml
from arithmos.spec import NO_SCHEDULE, Layer, Model, Spec
from arithmos.tasks import Sampled, TableDraws, from_plain
from arithmos.tasks.distributions import BENFORD, checked, sample

WORDS = np.random.default_rng(0).integers(0, 2**32, (20_000, 2), dtype=np.uint32)


def task(**settings):
    return Sampled(**{"operation": "div", "interpolation": "U[1,2]", "extrapolation": "U[2,6]", **settings})


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("U[-2,3]", stats.uniform(-2, 5)),
        ("N(-1,3)[-5,10]", stats.truncnorm(-4 / 3, 11 / 3, -1, 3)),
        ("N(9,0.3333)[8,10]", stats.truncnorm(-1 / 0.3333, 1 / 0.3333, 9, 0.3333)),
        ("Exp(0.2)", stats.expon(scale=0.2)),
    ],
)
def test_samples_have_their_distribution(text, law):
    x = sample(text, WORDS)
    assert x.dtype == np.float32
    assert stats.kstest(x.ravel(), law.cdf).pvalue > 1e-3
    u = (WORDS[:100].astype(np.float64) + 0.5) / 2**32
    np.testing.assert_allclose(x[:100], law.ppf(u), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("text", "low", "least"), [("Benford(10,100)", 10, 1), ("Benford(100,1000)", 100, 10)])
def test_first_digits_follow_benford(text, low, least):
    x = sample(text, WORDS).ravel().astype(np.int64)
    first, rest = x // low, x % low
    share = np.bincount(first, minlength=10)[1:] / len(x)
    np.testing.assert_allclose(share, np.array(BENFORD) / 100, atol=0.01)
    assert (rest.min(), rest.max()) == (least, low - 1)


def test_halves_and_parts():
    x = sample("U[-2,-1] | U[1,2]", WORDS)
    assert (x[:, 0] < 0).all()
    assert (x[:, 1] > 0).all()
    odd = sample("U[-2,-1] | U[1,2]", WORDS[:, :1].repeat(5, axis=1))
    assert ((odd < 0).sum(axis=1) == 2).all()
    both = sample("U[-6,-2]∪U[2,6]", WORDS)
    assert abs((both < 0).mean() - 0.5) < 0.02
    assert (np.abs(both) >= 2).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U[2,1]", "must have low below high"),
        ("N(0,0)[1,2]", "must have a deviation above 0"),
        ("Exp(-1)", "must have a mean above 0"),
        ("Benford(1,10)", "must have 10,100 or 100,1000"),
        ("Gamma(1)", r"must be one of U\[#,#\], .* got 'Gamma\(1\)'"),
        ("U[0,1] | U[1,2] | U[2,3]", "at most two halves"),
        (3, "must be the text of a distribution"),
        pytest.param(10**5000, "got a whole number of more than 4300 digits", id="huge"),
    ],
)
def test_wrong_distributions_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        checked("interpolation", text)


@given(st.sampled_from(["add", "sub", "mul", "div", "reciprocal"]), st.integers(2, 6), st.integers(0, 4))
def test_targets_are_the_operation_on_the_operands(operation, inputs, first):
    one = task(operation=operation, input_size=inputs, first=min(first, inputs - 2), size=50)
    x, t = one.batch(3, 7, 16)
    a, b = (x[:, one.first + i].astype(np.float64) for i in range(2))
    expected = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b, "reciprocal": 1 / a}[operation]
    np.testing.assert_array_equal(t[:, 0], expected.astype(np.float32))
    names = {f"x{i + 1}": x[:, i].astype(np.float64) for i in range(inputs)}
    np.testing.assert_array_equal(eval(one.formula(3), names), expected)  # the task's own text
    assert from_plain(one.plain()) == one


def test_wrong_settings_are_named():
    for settings, message in [
        ({"operation": "root"}, "operation must be one of"),
        ({"input_size": 1}, "input_size must be a whole number from 2"),
        ({"first": 1}, "first must be at most 0 with an input_size of 2, got 1"),
        ({"absolute": 0.0}, "absolute must be above 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            task(**settings)


def test_it_runs_alike_on_both_engines_and_in_a_file(tmp_path):
    model = Model("NMRU", (Layer("NMRU"),), NO_SCHEDULE)
    specs = tuple(
        Spec(task=task(interpolation=text, size=500), model=model, iterations=40, evaluate_every=20)
        for text in ("U[1,2]", "N(2,1)[1,3]")
    )
    [by_torch] = TorchEngine().run([Job(specs[1], (0,))])
    [by_cpu] = CpuEngine().run([Job(specs[1], (0,))])
    np.testing.assert_allclose(by_torch.curve.test, by_cpu.curve.test, rtol=1e-3)
    assert by_cpu.thresholds == {"absolute": 1e-5}
    path = tmp_path / "own.toml"
    path.write_text(to_toml(Experiment("own", "", "Own", specs, axis="interpolation")), encoding="utf-8")
    assert load(path).specs == specs


def test_scattered_operands_are_sums_over_half_and_a_quarter_of_the_inputs():
    one = task(input_size=1000, scattered=True, size=50)
    a, b = one.terms
    assert not set(a) & set(b)
    assert (abs(len(a) / 1000 - 0.5) < 0.05, abs(len(b) / 1000 - 0.25) < 0.05) == (True, True)
    x, t = one.training()
    np.testing.assert_allclose(t[:, 0], x[:, a].sum(axis=1) / x[:, b].sum(axis=1), rtol=1e-5)
    assert from_plain(one.plain()) == one
    small = task(input_size=12, scattered=True)
    names = [" + ".join(f"x{place + 1}" for place in terms) for terms in small.terms]
    assert small.formula(0) == "{}/{}".format(*(f"({name})" if "+" in name else name for name in names))


def test_older_tasks_keep_their_plain_form():
    assert "scattered" not in task().plain()
    assert task(input_size=100, scattered=True).plain()["scattered"] is True
    with pytest.raises(ValueError, match="scattered must be True or False"):
        task(scattered=1)
    with pytest.raises(ValueError, match="must leave inputs for all scattered operands"):
        task(scattered=True)


def test_rows_are_drawn_when_they_are_asked_for(monkeypatch):
    drawn = []
    monkeypatch.setattr("arithmos.tasks.sampled._inputs", lambda *size: drawn.append(size) or np.ones(size[2:]))
    draws = task(operation="add", input_size=3, size=10).draws(0)
    assert isinstance(draws, TableDraws)
    assert not drawn
    assert draws.inputs.shape == (10, 3)
    assert len(draws.inputs) == len(draws.targets) == 10
    assert len(drawn) == 1
