"""Distributions of inputs, written as text: "U[-2,2]", "N(0,1)[-5,5]", "Exp(0.2)", "Benford(10,100)".

| text | distribution |
|---|---|
| `U[a,b]` | uniform from a to b |
| `N(m,s)[a,b]` | normal with mean m and standard deviation s, cut to a … b |
| `Exp(s)` | exponential with mean s |
| `Benford(10,100)` | first digit by Benford's law, second digit 1 … 9 |
| `Benford(100,1000)` | first digit by Benford's law, then 10 … 99 |

Two uniform parts joined by "∪" are equally likely for each number. Two distributions joined by " | " are those of the
first and of the second half of the inputs.

A number is a function of one random word: the inverse of the distribution's cumulative function at (word + ½) / 2³².
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from ..philox import Words

Floats = NDArray[np.float64]
HALVES = " | "
EITHER = "∪"
NUMBER = r"[-+]?[0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?"
BENFORD = (30.1, 17.6, 12.5, 9.7, 7.9, 6.7, 5.8, 5.1, 4.6)
"""Chances of the first digits 1 … 9 in percent, as Mistry et al. (2022) round them."""
WORDS = 2.0**32


@dataclass(frozen=True)
class Form:
    """Form of a distribution.

    Args:
        pattern: its text, with `#` for a number.
        sample: function from numbers of (0, 1) and the numbers of the text to the sample.
        fits: condition on the numbers of the text.
        wanted: that condition in words.
    """

    pattern: str
    sample: Callable[..., Floats]
    fits: Callable[..., bool]
    wanted: str

    def read(self, text: str) -> tuple[float, ...] | None:
        """Return the numbers of a text of this form; None if it is of another one."""
        found = re.fullmatch(re.escape(self.pattern).replace(r"\#", f"({NUMBER})"), text)
        return None if found is None else tuple(map(float, found.groups()))


def _uniform(u: Floats, low: float, high: float) -> Floats:
    return low + (high - low) * u


def _normal(u: Floats, mean: float, deviation: float, low: float, high: float) -> Floats:
    normal = NormalDist(mean, deviation)
    ends = normal.cdf(low), normal.cdf(high)
    inverse = np.vectorize(normal.inv_cdf, otypes=[np.float64])
    x: Floats = inverse(np.clip(ends[0] + (ends[1] - ends[0]) * u, 1e-300, 1 - 2**-53))
    return x.clip(low, high)


def _exponential(u: Floats, mean: float) -> Floats:
    return -mean * np.log1p(-u)


def _benford(u: Floats, low: float, high: float) -> Floats:
    ends = np.cumsum(BENFORD) / np.sum(BENFORD)
    digit = np.minimum(np.searchsorted(ends, u, side="right"), 8)
    starts = np.concatenate([[0.0], ends])
    rest = (u - starts[digit]) / (ends[digit] - starts[digit])  # uniform again, given the digit
    least = low / 10  # 1 or 10: the digits after the first have no leading 0
    x: Floats = (digit + 1) * low + np.minimum(np.floor(least + 9 * least * rest), low - 1)
    return x


FORMS = (
    Form("U[#,#]", _uniform, lambda low, high: low < high, "low below high"),
    Form(
        "N(#,#)[#,#]", _normal, lambda m, s, low, high: s > 0 and low < high, "a deviation above 0 and low below high"
    ),
    Form("Exp(#)", _exponential, lambda mean: mean > 0, "a mean above 0"),
    Form("Benford(#,#)", _benford, lambda *ends: ends in ((10, 100), (100, 1000)), "10,100 or 100,1000"),
)


def checked(name: str, value: object) -> str:
    """Return the text of a distribution, or raise.

    Example:
        >>> checked("training", "U[-2,-0.1] | U[0.1,2]")
        'U[-2,-0.1] | U[0.1,2]'
    """
    if not isinstance(value, str):
        raise ValueError(f'{name} must be the text of a distribution such as "U[-2,2]", got {_checks.shown(value)}')
    halves = value.split(HALVES)
    if len(halves) > 2 or any(half.count(EITHER) > 1 for half in halves):
        raise ValueError(f"{name} must have at most two halves of at most two parts, got {_checks.shown(value)}")
    for part in (part for half in halves for part in half.split(EITHER)):
        form, numbers = _form(name, part)
        if not form.fits(*numbers):
            raise ValueError(f"{name} must have {form.wanted} in {part!r}")
    return value


def _form(name: str, text: str) -> tuple[Form, tuple[float, ...]]:
    for form in FORMS:
        if (numbers := form.read(text)) is not None:
            return form, numbers
    known = ", ".join(form.pattern for form in FORMS)
    raise ValueError(f"{name} must be one of {known} with numbers for #, got {_checks.shown(text)}")


def sample(text: str, words: Words) -> NDArray[np.float32]:
    """Return the sample that a distribution makes of random words `[rows, columns]`.

    Example:
        >>> sample("U[1,2]", np.array([[0, 2**31]], np.uint32))
        array([[1. , 1.5]], dtype=float32)
    """
    u = (words.astype(np.float64) + 0.5) / WORDS
    halves = text.split(HALVES)
    cut = words.shape[1] // 2 if len(halves) == 2 else words.shape[1]
    parts = [u[:, :cut], u[:, cut:]][: len(halves)]
    return np.concatenate([_half(*pair) for pair in zip(halves, parts, strict=True)], axis=1).astype(np.float32)


def _half(text: str, u: Floats) -> Floats:
    """Return the sample of one half; which of two parts a number is from decides the upper or lower half of u."""
    parts = [_form("", part) for part in text.split(EITHER)]
    if len(parts) == 1:
        [(form, numbers)] = parts
        return form.sample(u, *numbers)
    upper = u >= 0.5
    own = 2 * u - upper
    first, second = (form.sample(own, *numbers) for form, numbers in parts)
    return np.where(upper, second, first)
