"""Units of measurement: which formulas they allow.

A unit is a product of powers of base units, `kg*m/s^2`. Terms of a sum must have the same unit. A number other than 1
and -1 may have any unit, since it may be a constant of nature or a price.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from .terms import Column, Node, PowerProduct

UnitPowers = Mapping[str, Fraction]
"""Exponents by the name of the base unit, without zeros."""

DERIVED = {
    "Hz": "1/s",
    "N": "kg*m/s^2",
    "Pa": "kg/(m*s^2)",
    "J": "kg*m^2/s^2",
    "W": "kg*m^2/s^3",
    "C": "A*s",
    "V": "kg*m^2/(A*s^3)",
    "F": "A^2*s^4/(kg*m^2)",
    "Ω": "kg*m^2/(A^2*s^3)",
    "ohm": "kg*m^2/(A^2*s^3)",
    "S": "A^2*s^3/(kg*m^2)",
    "Wb": "kg*m^2/(A*s^2)",
    "T": "kg/(A*s^2)",
    "H": "kg*m^2/(A^2*s^2)",
}
"""Units of the SI in base units."""

_TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d_]+|[%€$£°])|(?P<power>(?:\^|\*\*)?[+-]?\d+(?:/\d+)?)|(?P<mark>[*·/()]))")


class UnitError(ValueError):
    """Text that is no unit, or a unit of a column that does not exist."""


def parse_unit(text: str) -> UnitPowers:
    """Return a unit from its text: names and powers, joined by `*`, `·`, a space or `/`; 1 for a pure number.

    Example:
        >>> parse_unit("m/s^2") == parse_unit("N/kg"), parse_unit("J/(kg K)") == parse_unit("m2 s-2 K^-1")
        (True, True)
    """
    found: dict[str, Fraction] = {}
    last: dict[str, Fraction] = {}
    signs, sign, place = [1], 1, 0
    while place < len(text.rstrip()):
        token = _TOKEN.match(text, place)
        if token is None:
            raise UnitError(f"a unit must be written like kg*m/s^2, got {text!r}")
        place = token.end()
        name, power, mark = token["name"], token["power"], token["mark"]
        if name:
            base = parse_unit(DERIVED[name]) if name in DERIVED else {name: Fraction(1)}
            last = {one: signs[-1] * sign * p for one, p in base.items()}
            _add(found, last)
            sign = 1
        elif power and last:
            _add(found, {one: p * (Fraction(power.lstrip("^*")) - 1) for one, p in last.items()})
            last = {}
        elif mark == "(":
            signs.append(signs[-1] * sign)
            sign, last = 1, {}
        elif mark == ")" and len(signs) > 1:
            signs.pop()
            last = {}
        elif mark and mark in "*·/":
            sign, last = (-1 if mark == "/" else 1), {}
        elif power != "1":
            raise UnitError(f"a unit must be written like kg*m/s^2, got {text!r}")
    if len(signs) > 1:
        raise UnitError(f"a parenthesis is not closed in the unit {text!r}")
    return {one: p for one, p in found.items() if p}


def _add(unit: dict[str, Fraction], other: UnitPowers) -> None:
    for name, power in other.items():
        unit[name] = unit.get(name, Fraction(0)) + power


@dataclass(frozen=True)
class Units:
    """Units of the columns and of the target; None where it is unknown."""

    columns: Sequence[UnitPowers | None]
    target: UnitPowers | None

    def allow(self, node: Node) -> bool:
        """Return whether a formula adds nothing of different units and has the unit of the target."""
        try:
            unit = self._of(node)
        except _MixedUnitsError:
            return False
        return unit is None or self.target is None or unit == self.target

    def allow_part(self, node: Node) -> bool:
        """Return whether a part of a formula adds nothing of different units."""
        return Units(self.columns, None).allow(node)

    def _of(self, node: Node) -> UnitPowers | None:
        """Return the unit of a formula, or None if it can be any."""
        if isinstance(node, Column):
            return self.columns[node.index]
        if isinstance(node, PowerProduct):
            units = [self._of(factor) for factor in node.factors]
            whole: dict[str, Fraction] = {}
            for unit, power in zip(units, node.exponents, strict=True):
                if unit is None:
                    return None
                exact = Fraction(power).limit_denominator(1000)
                _add(whole, {name: p * exact for name, p in unit.items()})
            return {name: p for name, p in whole.items() if p}
        units = [self._of(term) for term in node.terms]
        known = [u for c, u in zip(node.coefficients, units, strict=True) if abs(c) == 1 and u is not None]
        known += [{}] if abs(node.constant) == 1 else []
        if any(unit != known[0] for unit in known):
            raise _MixedUnitsError
        return known[0] if known else None


class _MixedUnitsError(Exception):
    """Sum of terms of different units."""


def read_units(text: str) -> dict[str, str]:
    """Return units by column from text such as `"mass=kg, speed=m/s"`.

    Example:
        >>> read_units("mass=kg, speed=m/s")
        {'mass': 'kg', 'speed': 'm/s'}
    """
    found = {}
    for part in filter(str.strip, text.split(",")):
        name, equals, unit = part.rpartition("=")
        if not equals or not name.strip():
            raise UnitError(f"units must be written like mass=kg, speed=m/s, got {part.strip()!r}")
        parse_unit(unit)
        found[name.strip()] = unit.strip()
    return found


def units_of(given: Mapping[str, str], columns: Sequence[str], targets: Sequence[str]) -> list[Units]:
    """Return the units of each target with those of the columns."""
    for name in given:
        if name not in (*columns, *targets):
            raise UnitError(f"units has {name!r}, which is none of {', '.join([*columns, *targets])}")
    known = {name: parse_unit(unit) for name, unit in given.items()}
    return [Units([known.get(name) for name in columns], known.get(target)) for target in targets]
