"""`Unit`, the record that a layer is known by, and `Catalogue`, an ordered collection of records by name."""

import fnmatch
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from torch import nn


@runtime_checkable
class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Catalogue(Mapping[str, T], Generic[T]):
    """Records by name, in the order given; an unknown name is answered with the nearest one.

    Args:
        kind: what a record is, for messages: "unit", "model".
        records: the records, in the order in which tables print.

    Example:
        >>> from arithmos.nn import UNITS
        >>> [unit.name for unit in UNITS.match("NAC*")]
        ['NACMulNMU', 'NACMulSigma', 'NACMul', 'NACAdd']
    """

    def __init__(self, kind: str, *records: T) -> None:
        self.kind = kind
        self._records: dict[str, T] = {}
        for record in records:
            if record.name in self._records:
                raise ValueError(f"{kind} {record.name!r} is in the catalogue twice")
            self._records[record.name] = record
        self._former = {old: record.name for record in records if (old := getattr(record, "former", ""))}

    def __getitem__(self, name: str) -> T:
        try:
            return self._records[self._former.get(name, name)]
        except KeyError:
            near = get_close_matches(name, self._records, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise KeyError(f"unknown {self.kind} {name!r}; {hint}known: {', '.join(self._records)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"Catalogue({self.kind}: {', '.join(self._records)})"

    def match(self, pattern: str) -> list[T]:
        """Return the records whose names match a wildcard pattern, in order."""
        return [record for name, record in self._records.items() if fnmatch.fnmatchcase(name, pattern)]

    def add(self, *records: T) -> "Catalogue[T]":
        """Return a new catalogue with these records at its end."""
        return Catalogue(self.kind, *self._records.values(), *records)


@dataclass(frozen=True)
class Unit:
    """Record of a unit: its layer class and names.

    Args:
        module: the layer's class, called as `module(in_features, out_features, **options)`.
        name: name in code, JSON and on the command line.
        label: name in a printed table.
        paper: the paper that introduced it.
        options: arguments of `module` that make this unit.
        version: changes when the same parameters and input give another output or start.
        former: an older name, which is still understood, and by which stored specs know it.
    """

    module: Callable[..., nn.Module]
    name: str
    label: str
    paper: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)  # a mapping has no hash
    version: int = 1
    former: str = ""

    def build(self, in_features: int, out_features: int, **options: Any) -> nn.Module:
        """Build a layer of this unit."""
        return self.module(in_features, out_features, **{**self.options, **options})
