"""The whole call: `arithmos.train(model, data, method="auto")`."""

import math

import pytest
import torch
from torch import nn

import arithmos
from arithmos.nn import NAU, NMU, RealNPU
from arithmos.optim.layouts import layout
from arithmos.optim.search import Formula

D = torch.float64


def rows(count=600, inputs=20, low=1.0, high=2.0, dtype=D, seed=0):
    """Inputs, and the sums of two groups of them that overlap."""
    generator = torch.Generator().manual_seed(seed)
    x = (torch.rand(count, inputs, generator=generator, dtype=D) * (high - low) + low).to(dtype)
    return x, x[:, :5].sum(1, keepdim=True), x[:, 3:8].sum(1, keepdim=True)


def product(inputs=20, hidden=2):
    return nn.Sequential(NAU(inputs, hidden), NMU(hidden, 1))


def is_whole(model):
    return all(torch.equal(p, p.round()) for p in model.parameters())


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", [torch.float32, D])
@pytest.mark.parametrize(
    ("last", "operation"),
    [
        (lambda: NMU(2, 1), torch.mul),
        (lambda: RealNPU(2, 1), torch.div),
        (lambda: RealNPU(2, 1, project="both"), torch.mul),
        (lambda: RealNPU(2, 1), lambda a, b: a.sqrt()),
        (lambda: RealNPU(2, 1), lambda a, b: 1 / b),
        (lambda: NMU(2, 1), lambda a, b: a * a),
        (lambda: RealNPU(2, 1, project="both"), lambda a, b: a * a),
        (lambda: NAU(2, 1), torch.add),
        (lambda: NAU(2, 1), torch.sub),
    ],
)
def test_finds_the_formula_and_extrapolates(last, operation, dtype):
    x, a, b = rows(dtype=dtype)
    model = nn.Sequential(NAU(20, 2), last()).to(dtype)
    result = arithmos.train(model, (x, operation(a, b)), method="auto")
    assert result.exact
    assert result.message == "Found the exact formula."
    assert result.noise == (0.0,)
    x, a, b = rows(low=3, high=9, dtype=dtype, seed=1)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-5  # RealNPU adds 1e-7 to magnitudes
    torch.testing.assert_close(model(x), operation(a, b), rtol=tolerance, atol=tolerance)
    assert not model.training


def test_without_noise_the_result_is_exact_to_rounding():
    x, a, b = rows()
    model = product().double()
    arithmos.train(model, (x, a * b), method="auto")
    assert is_whole(model)
    torch.testing.assert_close(model(x), a * b, rtol=1e-14, atol=0)


def test_switches_unused_factors_off():
    x, a, b = rows()
    model = product(hidden=7).double()
    result = arithmos.train(model, (x, a * b), method="auto")
    assert (result.exact, result.factors) == (True, 2)
    assert model[1].weight.sort().values.tolist() == [[0, 0, 0, 0, 0, 1, 1]]
    assert (model[0].weight.abs().sum(1) > 0).sum() == 2


def test_single_layers():
    x, _, _ = rows(200, 5, -2, 2)
    for model, t in [
        (NAU(5, 2), torch.stack([x[:, 0] - x[:, 2], x[:, 1:4].sum(1)], 1)),
        (NMU(5, 2), torch.stack([x[:, 0] * x[:, 2], x[:, 1:4].prod(1)], 1)),
        (RealNPU(5, 2, epsilon=0.0), torch.stack([x[:, 0] / x[:, 2], x[:, 1] ** 2 * x[:, 4]], 1)),
    ]:
        result = arithmos.train(model.double(), (x, t), method="auto")
        assert result.exact, type(model)
        assert is_whole(model)
        torch.testing.assert_close(model(x), t)


def test_a_noisy_product_of_inputs():
    x, _, _ = rows(300, 5)
    t = x[:, :1] * x[:, 3:4]
    model = NMU(5, 1).double()
    result = arithmos.train(model, (x, t + 0.01 * torch.randn(t.shape, dtype=D)), method="auto")
    assert result.exact
    assert model.weight.tolist() == [[1, 0, 0, 1, 0]]
    assert result.noise[0] == pytest.approx(0.01, rel=0.2)


def test_outputs_share_factors():
    x, a, b = rows(low=-2, high=2)
    c = x[:, 10:12].sum(1, keepdim=True)
    model = nn.Sequential(NAU(20, 3), NMU(3, 3)).double()
    t = torch.cat([a * b, b * c, c], 1)
    result = arithmos.train(model, (x, t), method="auto")
    assert (result.exact, result.factors) == (True, 3)
    torch.testing.assert_close(model(x), t)


def test_says_when_outputs_need_more_factors_than_there_are():
    x, a, b = rows(low=-2, high=2)
    model = nn.Sequential(NAU(20, 2), NMU(2, 2)).double()
    result = arithmos.train(model, (x, torch.cat([a * b, x[:, 10:11] * b], 1)), method="auto")
    assert not result.exact
    assert result.message == "the formulas need 3 factors, and the network has 2"


def test_takes_a_function_of_the_step():
    seen = []

    def batch(step):
        seen.append(step)
        x, a, b = rows(128, seed=step)
        return x, a * b

    result = arithmos.train(product().double(), batch, method="auto")
    assert result.exact
    assert seen == list(range(len(seen)))
    assert len(seen) * 128 >= 672 + 256


def test_verifies_on_the_rows_given():
    x, a, b = rows()
    wrong = (x[:50], (a * b)[:50] + 1)
    result = arithmos.train(product().double(), (x, a * b), method="auto", validation=wrong, time_limit=1)
    assert not result.exact
    assert "No exact formula was found" in result.message


def test_one_percent_of_noise():
    x, a, b = rows(1000)
    t = a * b
    noisy = t + 0.01 * t.std() * torch.randn(t.shape, dtype=D)
    model = product().double()
    result = arithmos.train(model, (x, noisy), method="auto")
    assert result.exact
    assert result.noise[0] == pytest.approx(0.01 * t.std().item(), rel=0.1)
    assert "errors are those of noise" in result.message
    torch.testing.assert_close(model(x), t)


def test_without_a_formula_the_best_fit_is_left():
    x, _, _ = rows(200, 3)
    t = x.square().sum(1, keepdim=True)
    model = product(3).double()
    before = (model(x) - t).square().mean().item()
    result = arithmos.train(model, (x, t), method="auto", time_limit=2)
    assert not result.exact
    assert math.isnan(result.noise[0])
    assert result.error < before / 10
    assert (model[0].weight.abs() <= 1).all()


def test_reports_progress():
    x, a, b = rows()
    seen = []
    result = arithmos.train(
        product().double(), (x, a * b), method="auto", callback=lambda step, error: seen.append((step, error))
    )
    assert [step for step, _ in seen] == list(range(1, result.iterations + 1))
    assert seen[-1][1] == 0


def test_other_layers_are_trained_by_adam():
    x, a, b = rows(100)
    model = nn.Sequential(nn.Linear(20, 2), nn.ReLU(), NMU(2, 1)).double()
    for data in ((x, a * b), lambda step: (x, a * b)):
        result = arithmos.train(model, data, 10, method="auto")
        assert (result.method, result.exact) == ("adam", False)
        assert result.training.history[-1][0] == 10
        assert "trained by Adam" in result.message


def test_adam_ends_at_its_time_limit():
    x, a, b = rows(100)
    result = arithmos.train(product().double(), [(x, a * b)], 10**9, validation=(x, a * b), time_limit=0.2)
    assert result.history[-1][0] < 10**6


def test_uses_threads_as_before():
    before = torch.get_num_threads()
    x, a, b = rows()
    arithmos.train(product().double(), (x, a * b), method="auto")
    assert torch.get_num_threads() == before


class TestBadInput:
    def refused(self, data, match, error=ValueError, model=None, **options):
        with pytest.raises(error, match=match):
            arithmos.train(model or product().double(), data, method="auto", **options)

    def test_not_a_number(self):
        x, a, _ = rows()
        self.refused((x, a * math.nan), "data must be finite, got NaN or infinity in t")
        self.refused((x / 0, a), "data must be finite, got NaN or infinity in x")

    def test_empty(self):
        x, a, _ = rows(0)
        self.refused((x, a), "data must have at least one row, got none")

    def test_constant(self):
        x, a, _ = rows()
        self.refused((x, torch.full_like(a, 3)), "targets must vary, got 3 in every row of output 0")

    def test_shapes(self):
        x, a, _ = rows()
        self.refused((x, a[:, 0]), r"x of shape \(\*, 20\) and t of shape \(\*, 1\), got \(600, 20\) and \(600,\)")
        self.refused((x[:, 1:], a), r"got \(600, 19\)")
        self.refused((x[:3], a[:3]), "with at least 5 rows each", model=nn.Linear(20, 1).double())

    def test_not_a_pair(self):
        x, a, _ = rows()
        self.refused(x, "data must be a pair of tensors", TypeError)
        self.refused((x.numpy(), a.numpy()), "got ndarray and ndarray", TypeError)

    def test_words_and_numbers(self):
        x, a, _ = rows()
        with pytest.raises(ValueError, match="method must be one of adam, auto, got 'atuo'; did you mean 'auto'"):
            arithmos.train(product(), (x, a), method="atuo")
        with pytest.raises(TypeError, match="validation must be"):
            arithmos.train(product(), [(x, a)], 10)
        self.refused((x, a), "time_limit must be above 0, got 0", time_limit=0)


class TestLayout:
    @pytest.mark.parametrize(
        "model",
        [
            NAU(3, 1),
            NMU(3, 1),
            RealNPU(3, 1),
            nn.Sequential(nn.Sequential(NAU(3, 2)), nn.Identity(), NMU(2, 1)),
            nn.Sequential(NAU(3, 2), RealNPU(2, 1)),
            nn.Sequential(NAU(3, 2), NAU(2, 1)),
        ],
    )
    def test_is_known(self, model):
        found = layout(model)
        assert (found.inputs, found.outputs) == (3, 1)

    @pytest.mark.parametrize("model", [nn.Linear(3, 1), nn.Sequential(nn.Linear(3, 2), NMU(2, 1)), nn.Sequential()])
    def test_is_unknown(self, model):
        assert layout(model) is None

    def test_a_weight_of_two_is_the_sum_of_two_rows(self):
        model = nn.Sequential(NAU(3, 2), NAU(2, 1))
        layout(model).write([Formula(torch.tensor([[2.0, -1.0, 0.0]]), (1.0,), 0.0)])
        assert (model[1].weight @ model[0].weight).tolist() == [[2, -1, 0]]
        assert is_whole(model)
