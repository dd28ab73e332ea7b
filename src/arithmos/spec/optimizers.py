"""Optimizers of a spec, and the penalties on its parameters.

An optimizer is a frozen dataclass of plain values. Fields that were added after the first release appear in its plain
form only if they differ from their defaults, so that the ids of older specs stay as they are.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, cast, get_args

import torch

from .. import _checks

LEAST, MOST = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max


def _limited(name: str, value: object) -> float:
    """Return a number above 0 in the range of float32, or raise."""
    number = float(_checks.number(name, value))
    if not LEAST <= _checks.positive(name, number) <= MOST:
        raise ValueError(f"{name} must be from {LEAST:.2g} to {MOST:.2g}, the range of float32, got {number}")
    return number


def _not_negative(name: str, value: object) -> float:
    number = float(_checks.number(name, value))
    if not 0 <= number <= MOST:
        raise ValueError(f"{name} must be from 0 to {MOST:.2g}, got {number}")
    return number


def _share(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value}")
    return value


class OptimizerSettings:
    """Plain values of an optimizer, which is a dataclass."""

    name: ClassVar[str]
    always: ClassVar[tuple[str, ...]]
    """Fields that are always in the plain form."""

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def added(self) -> dict[str, Any]:
        """OptimizerSettings beside those that are always written that differ from their defaults, by name."""
        fields = [field for field in dataclasses.fields(cast(Any, self)) if field.name not in self.always]
        return {field.name: value for field in fields if (value := getattr(self, field.name)) != field.default}

    def plain(self) -> dict[str, Any]:
        """Return the optimizer as values that JSON can hold."""
        own = {name: getattr(self, name) for name in self.always}
        added = {name: list(value) if isinstance(value, tuple) else value for name, value in self.added.items()}
        return ({} if self.name == Adam.name else {"name": self.name}) | own | added


@dataclass(frozen=True, kw_only=True)
class FirstOrder(OptimizerSettings):
    """OptimizerSettings that all first-order optimizers share.

    Args:
        layer_rates: factor of the learning rate for each layer; empty for 1 everywhere.
        clip_value: largest magnitude of a gradient's entry; 0 for no limit.
        clip_norm: largest norm of the gradient of all parameters together; 0 for no limit.
        scale_loss: whether the squared error is divided by the variance of the validation targets.
        reinitialize: iterations of a stagnating run after which it starts again with new weights; 0 for never.
        precondition: whether the gradient of the first layer's weights is multiplied by the inverse root of the second
            moments of the inputs, which removes the effect of their mean.
    """

    layer_rates: tuple[float, ...] = ()
    clip_value: float = 0.0
    clip_norm: float = 0.0
    scale_loss: bool = False
    reinitialize: int = 0
    precondition: bool = False

    def _check_shared(self) -> None:
        if not isinstance(self.layer_rates, tuple | list):
            raise ValueError(f"layer_rates must be a list of numbers, got {_checks.shown(self.layer_rates)}")
        self._set("layer_rates", tuple(_limited("layer_rates", rate) for rate in self.layer_rates))
        for name in ("clip_value", "clip_norm"):
            self._set(name, _not_negative(name, getattr(self, name)))
        for name in ("scale_loss", "precondition"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {_checks.shown(getattr(self, name))}")
        self._set("reinitialize", _checks.whole("reinitialize", self.reinitialize))


@dataclass(frozen=True)
class Adam(FirstOrder):
    """OptimizerSettings of Adam; the defaults are torch's.

    Example:
        >>> Adam(lr=0.01, layer_rates=(1, 0.1)).plain()
        {'lr': 0.01, 'beta1': 0.9, 'beta2': 0.999, 'eps': 1e-08, 'layer_rates': [1.0, 0.1]}
    """

    name = "adam"
    always = ("lr", "beta1", "beta2", "eps")

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    def __post_init__(self) -> None:
        for name in self.always:
            self._set(name, float(_checks.number(name, getattr(self, name))))
        for name in ("lr", "eps"):
            _limited(name, getattr(self, name))
        for name in ("beta1", "beta2"):
            _share(name, getattr(self, name))
        if self.lr / (1 - self.beta1) > MOST:
            raise ValueError(f"lr must be at most {MOST * (1 - self.beta1):.2g} with beta1 {self.beta1}, got {self.lr}")
        self._check_shared()


ADAM = Adam()
"""Adam as in the published runs."""


@dataclass(frozen=True)
class RMSprop(FirstOrder):
    """OptimizerSettings of RMSprop without momentum; the defaults are torch's.

    Args:
        lbfgs: iteration in which L-BFGS takes over and ends the training, in float64; 0 for never. Only differential
            equations are trained so.

    Example:
        >>> RMSprop(lr=5e-3, alpha=0.9).plain()
        {'name': 'rmsprop', 'lr': 0.005, 'alpha': 0.9, 'eps': 1e-08}
    """

    name = "rmsprop"
    always = ("lr", "alpha", "eps")

    lr: float = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    lbfgs: int = 0

    def __post_init__(self) -> None:
        self._set("lbfgs", _checks.whole("lbfgs", self.lbfgs))
        for name in ("lr", "eps"):
            self._set(name, _limited(name, getattr(self, name)))
        self._set("alpha", _share("alpha", float(_checks.number("alpha", self.alpha))))
        self._check_shared()


@dataclass(frozen=True)
class LM(OptimizerSettings):
    """OptimizerSettings of the second-order recipe: Levenberg-Marquardt on networks that grow factor by factor.

    One iteration solves for the step of all weights together. The recipe fits one factor, then more, with exponents
    where the last layer has them; after every iteration it rounds the weights, and a run is done when the rounded
    network fits its batch.

    Args:
        damping: initial damping.
        factors: most factors of a product, or terms of a quotient, that are tried.
        fresh: whether every iteration has a new batch; otherwise all have the first one, as with little data.
        single: whether observations are rounded to float32, as for other optimizers, and not kept in float64.
        noise: standard deviation of normal noise in the training targets, as a share of their own.

    Example:
        >>> LM(fresh=False).plain()
        {'name': 'lm', 'damping': 0.01, 'factors': 3, 'fresh': False}
    """

    name = "lm"
    always = ("damping", "factors")

    damping: float = 1e-2
    factors: int = 3
    fresh: bool = True
    single: bool = False
    noise: float = 0.0

    def __post_init__(self) -> None:
        self._set("damping", _limited("damping", self.damping))
        self._set("factors", _checks.whole("factors", self.factors, 1, 8))
        self._set("noise", _not_negative("noise", self.noise))
        for name in ("fresh", "single"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {_checks.shown(getattr(self, name))}")


Optimizer = Adam | RMSprop | LM

OPTIMIZERS: dict[str, type[Adam] | type[RMSprop] | type[LM]] = {kind.name: kind for kind in (Adam, RMSprop, LM)}
"""Optimizers by name."""


def from_plain(plain: object) -> Optimizer:
    """Return the optimizer with a plain form; without a name it is Adam."""
    values = _checks.table("optimizer", plain)
    kind = OPTIMIZERS[_checks.one_of("name of the optimizer", values.pop("name", Adam.name), OPTIMIZERS)]
    known = [field.name for field in dataclasses.fields(kind)]
    given = [name for name in known if name in kind.always or name in values]
    return kind(**_checks.table("optimizer", values, given if values.keys() <= {*known} else known))


PenaltyKind = Literal["l1", "norm", "pull"]
PENALTIES: tuple[PenaltyKind, ...] = get_args(PenaltyKind)

PULLED = 20.0
"""Magnitude up to which the penalty `pull` acts."""


@dataclass(frozen=True, kw_only=True)
class Penalty:
    r"""Regularizer of a network's parameters, with its schedule.

    The strength starts at `strength` and is multiplied by ten every `every` iterations until it is `most`.

    Args:
        kind: "l1" for :math:`\sum |p|` over all parameters; "norm" for :math:`\sum_P \|P\|_2` over the parameter
            tensors, which only the torch engine has; "pull", which pushes parameters away from 0, for
            :math:`\sum_P \mathrm{mean} \max(20 - |p|, 0)`.
        strength: strength at the start.
        most: final strength; by default it stays at `strength`.
        every: iterations between two steps of the strength.
        after: last iteration without it; by default it acts from the start.
        below: validation error of the last record below which it acts; 0 for any.

    Example:
        >>> penalty = Penalty(kind="l1", strength=1e-9, most=1e-7)
        >>> [penalty.at(step) for step in (0, 9_999, 10_000, 50_000)]
        [1e-09, 1e-09, 1e-08, 1e-07]
    """

    kind: PenaltyKind
    strength: float
    most: float = 0.0
    every: int = 10_000
    after: int = -1
    below: float = 0.0

    def __post_init__(self) -> None:
        _checks.one_of("kind of a penalty", self.kind, PENALTIES)
        object.__setattr__(
            self, "strength", _checks.positive("strength", float(_checks.number("strength", self.strength)))
        )
        object.__setattr__(self, "most", _not_negative("most", self.most) or self.strength)
        if self.most < self.strength:
            raise ValueError(f"most must be at least strength {self.strength}, got {self.most}")
        object.__setattr__(self, "every", _checks.whole("every", self.every, 1))
        object.__setattr__(self, "after", _checks.whole("after", self.after, -1))
        object.__setattr__(self, "below", _not_negative("below", self.below))

    def at(self, step: int) -> float:
        """Return the strength at a step, whatever the validation error."""
        if step <= self.after:
            return 0.0
        return min(self.most, self.strength * 10.0 ** min(step // self.every, 300))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Penalty":
        """Return the penalty with a plain form, which has all its fields."""
        return cls(**_checks.table("penalty", plain, [field.name for field in dataclasses.fields(cls)]))
