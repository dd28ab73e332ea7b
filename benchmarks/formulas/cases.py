"""The formulas of the benchmark, and how their rows are drawn."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .physics import EQUATIONS

FAR = 3.0
"""Factor by which ranges are stretched to check a formula."""
USUAL = (1.0, 5.0)

FUNCTIONS = {"sqrt": np.sqrt, "pi": np.pi}


@dataclass(frozen=True)
class Case:
    """A formula and the table it is to be found in.

    Args:
        group: heading of the tables.
        name: unique name.
        formula: Python text, one formula per target, joined by semicolons.
        ranges: names that share a range, such as `"a b 1..2, c"`; without one it is U[1, 5].
        rows: number of rows.
        noise: standard deviation of the noise, relative to the target's.
        others: number of columns that the formula does not use.
        decimals: digits to which columns and targets are rounded.
    """

    group: str
    name: str
    formula: str
    ranges: str
    rows: int = 500
    noise: float = 0.0
    others: int = 0
    decimals: int | None = None

    @property
    def exact(self) -> bool:
        """Whether the formula holds for the rows to float precision."""
        return not self.noise and self.decimals is None

    @property
    def key(self) -> str:
        """Name with the noise."""
        return f"{self.group} | {self.name}" + (f" | {self.noise:g}" if self.noise else "")

    @property
    def columns(self) -> dict[str, tuple[float, float]]:
        """Ranges by the name of the column, those that the formula does not use last."""
        found = {}
        for part in self.ranges.split(","):
            *names, last = part.split()
            low, dots, high = last.partition("..")
            found |= dict.fromkeys(names if dots else [*names, last], (float(low), float(high)) if dots else USUAL)
        return found | {f"other{number}": USUAL for number in range(1, self.others + 1)}

    def rows_of(self, seed: int, rows: int | None = None, far: bool = False) -> tuple[Any, Any]:
        """Draw inputs `[rows, columns]` and targets `[rows, targets]` without noise, within ranges or far beyond.

        Ranges that include 0 are stretched about 0, others upwards. Rows without a value, such as those with a root
        of a negative number, are drawn again.
        """
        rng = np.random.default_rng([seed, far])
        ends = np.array([*self.columns.values()]).T
        if far:
            low, high = ends
            ends = np.where(low < 0, FAR * ends, np.stack([low, low + FAR * (high - low)]))
        wanted, parts = rows or self.rows, []
        while sum(map(len, parts)) < wanted:
            x = rng.uniform(*ends, (wanted, len(self.columns)))
            x = x if self.decimals is None else x.round(self.decimals)
            parts.append(x[np.isfinite(self.values(x)).all(1)])
        x = np.concatenate(parts)[:wanted]
        return x, self.values(x)

    def values(self, x: Any) -> Any:
        """Evaluate the formulas on rows; returns `[rows, targets]`."""
        columns = dict(zip(self.columns, x.T, strict=True))
        with np.errstate(all="ignore"):
            values = [eval(text, FUNCTIONS, columns) for text in self.formula.split(";")]
        return np.stack([np.broadcast_to(value, len(x)) for value in values], 1)

    def data(self, seed: int) -> tuple[Any, Any]:
        """Return the rows to learn from; targets are `[rows]` if there is one."""
        x, y = self.rows_of(seed)
        y = y + self.noise * y.std(0) * np.random.default_rng([seed, 7]).normal(size=y.shape)
        y = y if self.decimals is None else y.round(self.decimals)
        return x, y[:, 0] if y.shape[1] == 1 else y


def _sum(first: int, last: int) -> str:
    return "(" + " + ".join(f"x{i}" for i in range(first, last + 1)) + ")"


def _x(count: int) -> str:
    return " ".join(f"x{i}" for i in range(1, count + 1)) + " 1..2"


PRODUCTS = [
    ("(x1 + x2)*(x1 + x2 + x3 + x4)", 4),
    ("x1*x2", 4),
    ("(x1 + x2)**2", 4),
    ("(x1 - x2)*(x3 + x4)", 4),
    ("x1 + x2; x1*x2; (x1 - x2)**2", 4),
    ("(x1 - x2)**2", 5),
    ("x1*x2*x3", 5),
    ("(x1 + x2)*(x3 + x4)*(x5 + x6)", 6),
    ("(x1 + x2)*(x2 + x3)*(x3 + x1)", 6),
    ("x1*x2*x3*x4", 8),
    ("x1 + x2 - x3", 10),
    ("x1*(x2 + x3 + x4 - x5)", 10),
    ("(x1 - x2)*(x3 - x4)", 10),
    ("x1**2*(x2 + x3)", 10),
    ("(x1 + x2)*x3; (x1 - x4)*(x2 + x5)", 10),
    (f"{_sum(1, 10)}*{_sum(11, 20)}", 20),
    (f"{_sum(1, 5)}**2", 20),
    ("(x1 + x2)*(x3 - x4)*(x5 + x6)", 50),
    ("x1*x2", 100),
    ("(x1 - x2)*(x3 + x4 + x5)", 100),
    (f"{_sum(1, 25)}*{_sum(13, 37)}", 100),
    ("x1*x2*x3*x4*x5", 6),
    ("(x1 + x2)*(x3 + x4)*(x5 - x6)*(x7 + x8)", 8),
    ("x1*x2*x3*x4*x5*x6", 7),
]
SUMS = [
    ("x1*x2 + x3*x4", 6),
    ("x1*x2*x3 + x4", 6),
    ("x1*x2 + x3*x4 - x5", 10),
    ("3.7*x1*(x2 + x3)", 6),
    ("0.5*x1*x2**2 + 9.81*x1*x3", 4),
    ("x1**3 - 2*x1*x2 + 1.5", 3),
    ("2.5*x1 - 0.75*x2 + 12", 5),
    ("x1*x2 + x2*x3 + x3*x1", 4),
]
RATIOS = [
    "a/b",
    "a*b/c",
    "(a + b)/(c - d + 6)",
    "1/(a + b)",
    "a/(b + c)",
    "(a - b)/(a + b)",
    "a/b + c/d",
    "a/b - 2.5",
    "(a*b + c)/d",
    "a/(1 + b*c)",
    "(a + 2*b)/(c + 3)",
    "a*b/(a + b)",
    "(a + b)*(c + d)/(a + d)",
    "100*(a - b)/b",
    "1/a + 1/b + 1/c",
    "(a**2 + b**2)/(a*b)",
]
POWERS = [
    "sqrt(a*b)",
    "a**1.5",
    "a*b**2/c",
    "sqrt(a**2 + b**2)",
    "a**2/sqrt(b)",
    "sqrt(a + b)",
    "2*sqrt(a/b)",
    "a**0.75*b**0.25",
    "(a + b)**1.5",
    "1/sqrt(a*b + c)",
    "a**3 - b**3",
    "(a**3 + b**3)**(1/3)",
    "a*sqrt(b) + c*sqrt(d)",
    "1.2*a**0.8*b**-0.4",
    "sqrt(a) + b",
    "a**(2/3)*b",
]
ACCOUNTS = {
    "gross": ("1.19*net", "net 1..900, quantity 1..40, discount 0..0.3"),
    "invoice": ("quantity*price", "quantity 1..40, price 0.5..99, weight 1..9"),
    "discounted": ("quantity*price*(1 - discount)", "quantity 1..40, price 5..99, discount 0..0.3"),
    "margin": ("(price - cost)*quantity", "price 20..60, cost 5..18, quantity 1..40, staff 2..9"),
    "with shipping": ("1.19*quantity*price + 4.99", "quantity 1..40, price 5..99, weight 1..9"),
    "interest": ("capital*rate/100*days/360", "capital 100..9000, rate 0.5..8, days 1..360"),
    "unit price": ("total/quantity", "total 10..900, quantity 1..40, weight 1..9"),
    "return": ("100*(value - cost)/cost", "value 80..150, cost 60..120, fee 1..5"),
    "after tax": ("(income - expenses)*(1 - 0.3)", "income 900..5000, expenses 100..800, staff 2..9"),
}
SIZES = [20, 30, 50, 100, 10_000, 100_000]
OTHERS = [10, 50, 100, 200]
SCALES = [
    ("mass*a", "mass 1e-6..5e-6, a 1..5"),
    ("F/A", "F 1e6..5e6, A 1e-4..9e-4"),
    ("a*b", "a 1e4..1e5, b 1e3..1e4"),
    ("a + b", "a 1e8..1e9, b 1e8..9e8"),
    ("a/b", "a 1e-6..9e-6, b 1e-3..9e-3"),
    ("a*b", "a -3..3, b -3..3"),
    ("(a - b)*c", "a b -2..2, c -1..1"),
    ("a*b/c", "a -3..3, b -3..3, c"),
    ("a**2 - b**2", "a b -3..3"),
    ("a/b**2", "a 1e5..1e7, b 10..1000"),
    ("sqrt(a**2 + b**2)", "a b -4..4"),
    ("a*b + c", "a 1e3..9e3, b 1e3..9e3, c 1e6..9e7"),
    ("6.674e-11*m1*m2/r**2", "m1 m2 1e9..9e9, r 1e3..9e3"),
]


def _clean() -> Iterator[Case]:
    """Yield the cases without noise."""
    for formula, count in PRODUCTS:
        yield Case("products of sums", _short(formula, count), formula.partition(",")[0], _x(count), 1000)
    for formula, count in SUMS:
        yield Case("sums of products, constants", _short(formula, count), formula, _x(count), 1000)
    for formula in RATIOS:
        yield Case("ratios", formula, formula, "a b c d")
    for formula in POWERS:
        yield Case("powers and roots", formula, formula, "a b c d")
    for name, (formula, ranges) in EQUATIONS.items():
        yield Case("physics", name, formula, ranges)
    for name, (formula, ranges) in ACCOUNTS.items():
        yield Case("accounts rounded to cents", name, formula, ranges, decimals=2)
    for rows in SIZES:
        yield Case("rows", f"a*b/c, {rows} rows", "a*b/c", "a b c d", rows)
        yield Case("rows", f"a*(b - c), {rows} rows", "a*(b - c)", "a b c d", rows)
    for others in OTHERS:
        yield Case("irrelevant columns", f"a*b/c, of {3 + others}", "a*b/c", "a b c", others=others)
        yield Case("irrelevant columns", f"a*b + c, of {3 + others}", "a*b + c", "a b c", others=others)
        yield Case("irrelevant columns", f"sqrt(a*b), of {2 + others}", "sqrt(a*b)", "a b", others=others)
    for formula, ranges in SCALES:
        yield Case("scales, signs", f"{formula}, {ranges}", formula, ranges)


def _short(formula: str, count: int) -> str:
    """Return a name for a formula of x1, x2, … with long sums abbreviated."""
    for first, last in ((1, 10), (11, 20), (1, 5), (1, 25), (13, 37)):
        formula = formula.replace(_sum(first, last), f"(x{first} + … + x{last})")
    return f"{formula.partition(',')[0]}, of {count}"


CLEAN = list(_clean())
NOISY = ("products of sums", "sums of products, constants", "ratios", "powers and roots", "physics")
"""Groups that are also tried with noise of 1 %, and every fifth of them with the other sizes of noise."""
CASES = [
    *CLEAN,
    *(replace(case, noise=0.01) for case in CLEAN if case.group in NOISY),
    *(
        replace(case, noise=noise)
        for noise in (0.001, 0.05)
        for case in [case for case in CLEAN if case.group in NOISY][::5]
    ),
]


FUNCTIONS_OUT_OF_REACH = {
    "sin x": np.sin,
    "exp x": np.exp,
    "log x": np.log,
    "tanh(x - 3)": lambda x: np.tanh(x - 3),
}
WITH_NOISE = ", 1 % noise"
KINDS = (
    "random",
    "sine",
    "lookup table",
    *(f"{kind}{WITH_NOISE}" for kind in (*FUNCTIONS_OUT_OF_REACH, "lookup table")),
)
"""Targets without a formula."""


def without_formula(kind: str, seed: int) -> tuple[Any, Any]:
    """Return rows whose target is no arithmetic formula of the columns: random, a function, or a lookup table."""
    rng = np.random.default_rng([seed, 3])
    x = rng.uniform(*USUAL, (300, 3))
    if kind == "random":
        return x, rng.normal(size=len(x))
    if kind == "sine":
        return x, np.sin(3 * x[:, 0])
    name = kind.removesuffix(WITH_NOISE)
    if name == "lookup table":
        levels = np.floor(x[:, :2]).astype(int)
        y = rng.normal(size=(9, 9))[levels[:, 0], levels[:, 1]]
    else:
        y = FUNCTIONS_OUT_OF_REACH[name](x[:, 0])
    return x, y if name == kind else y + 0.01 * y.std() * rng.normal(size=len(y))
