"""The contract accepts a layer that somebody wrote in ten lines, and tells the author of another what to change."""

from contextlib import suppress

import pytest
import torch
from tests.own_units import Branching, Counting, Dropped, HalfNMU, Integers, Normed
from torch import nn

from arithmos.nn import NMU, NACMulNMU, Unit
from arithmos.testing import CONTRACT, check_unit


class Mine(nn.Module):
    def __init__(self, in_features, out_features, *, device=None, dtype=None):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self, generator=None):
        nn.init.uniform_(self.weight, 0, 1, generator=generator)

    def forward(self, x):
        return x @ self.weight.T


class OneAxis(Mine):
    def forward(self, x):
        return torch.einsum("bi,oi->bo", x, self.weight)


class MixesRows(Mine):
    def forward(self, x):
        return (x - x.mean(0)) @ self.weight.T


class NoRowsFails(Mine):
    def forward(self, x):
        return torch.stack([row @ self.weight.T for row in x.reshape(-1, x.shape[-1])]).view(*x.shape[:-1], -1)


class AlwaysSingle(Mine):
    def forward(self, x):
        return (x.float() @ self.weight.T.float()).float()


class IgnoresDevice(Mine):
    def __init__(self, in_features, out_features, *, device=None, dtype=None):
        super().__init__(in_features, out_features, dtype=dtype)


class NoDtype(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)


class HiddenState(Mine):
    def reset_parameters(self, generator=None):
        super().reset_parameters(generator)
        self.scale = torch.rand(()).item()

    def forward(self, x):
        return self.scale * x @ self.weight.T


class Unpicklable(Mine):
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.activation = lambda z: z


class ByValue(Mine):
    def forward(self, x):
        return x @ self.weight.T if self.weight.sum() > 0 else x @ -self.weight.T


class GlobalRandomness(Mine):
    def reset_parameters(self, generator=None):
        nn.init.uniform_(self.weight)


class HidesNaN(Mine):
    def forward(self, x):
        return x.nan_to_num() @ self.weight.T


class WrongBounds(Mine):
    def bounds(self):
        return {"weights": (0.0, 1.0)}


class NoRange(Mine):
    def bounds(self):
        return {"weight": (1.0, 0.0)}


class WrongSparsity(NMU):
    def sparsity(self):
        return self.weight.sigmoid().mean(0)


class HalfLogs(NACMulNMU):
    def forward(self, x):
        return (x.log() @ self.weight.T).exp()


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_layer_in_ten_lines_passes():
    results = check_unit(Mine)
    assert list(results) == [check.__name__ for check in CONTRACT]
    assert set(results.values()) == {"passed"}


@pytest.mark.parametrize(
    ("layer", "check", "message"),
    [
        (OneAxis, "shapes", "treat the last axis as features"),
        (MixesRows, "shapes", "any others as a batch"),
        (NoRowsFails, "empty_batch", "allow 0 rows"),
        (AlwaysSingle, "dtype", "create no float32 constants"),
        (NoDtype, "dtype", "must take (in_features, out_features, *, device=None, dtype=None)"),
        (IgnoresDevice, "device", "take device=None as an argument"),
        (HalfLogs, "autocast", "compute them in float32"),
        (HiddenState, "state_dict", "registered buffers"),
        (Unpicklable, "copies", "no lambdas"),
        (ByValue, "compile", "free of Python that depends on values"),
        (ByValue, "vmap", "or branch on values in forward"),
        (ByValue, "export", "free of Python that depends on values"),
        (ByValue, "onnx", "operators that ONNX has"),
        (GlobalRandomness, "reset", "pass it to every random initializer"),
        (WrongBounds, "regularizer", "names of parameters"),
        (NoRange, "regularizer", "the range of weight is 1.0 to 0.0"),
        (WrongSparsity, "regularizer", "a tensor with one number"),
        (HidesNaN, "nan", "pass NaN through"),
        (Integers, "trial", "its output is torch.int64; it must be floating-point"),
        (Counting, "trial", "it keeps state that is no buffer"),
    ],
)
@pytest.mark.usefixtures("shapes_unchecked")
def test_a_broken_layer_is_told_what_to_change(layer, check, message):
    checks = {c.__name__.removeprefix("check_"): c for c in CONTRACT}
    with pytest.raises(AssertionError) as failure:
        checks[check](layer)
    assert str(failure.value).startswith(f"{layer.__name__}: ")
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (Dropped, "it draws random numbers"),
        (Normed, "it keeps running state, its buffer 1.norm.running_mean"),
        (Branching, "it branches on the values"),
    ],
)
@pytest.mark.usefixtures("shapes_unchecked")
def test_what_cannot_be_stacked_is_warned_of(layer, why):
    warned = pytest.warns(UserWarning, match=f"{layer.__name__} is trained seed by seed, which takes longer: {why}")
    with warned, suppress(AssertionError):  # some fail other checks
        check_unit(layer)


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_unit_derived_from_another_passes():
    assert set(check_unit(HalfNMU).values()) == {"passed"}


def test_a_unit_by_its_record():
    unit = Unit(WrongBounds, name="Sum", label="sum")
    with pytest.raises(AssertionError, match=r"Sum: bounds\(\)"):
        check_unit(unit)
