"""Catalogue of papers, and of their experiments, figures and claims by name."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from .. import _checks
from ..listed import PAPERS as GROUP
from ..spec import Spec
from . import (
    arithmos2026,
    behind,
    heim2020,
    madsen2020,
    mistry2022,
    mistry2022division,
    mistry2022snmu,
    ranking,
    schloer2020,
)
from .evidence import Claim
from .experiment import Experiment
from .paper import Criterion, Paper, load_paper
from .surface import Surface


class OfPaper(Protocol):
    """Record that belongs to a paper."""

    @property
    def name(self) -> str: ...

    @property
    def paper(self) -> str: ...


T = TypeVar("T", bound=OfPaper, covariant=True)


class Papers(Mapping[str, Paper]):
    """Papers by key, in the order in which they were added."""

    def __init__(self, *papers: Paper) -> None:
        self._papers: dict[str, Paper] = {}
        self.add(*papers)

    def add(self, *papers: Paper) -> None:
        """Add papers; one that was added before is replaced."""
        for paper in papers:
            if paper.key in self._papers and self._papers[paper.key].title != paper.title:
                raise ValueError(f"key {paper.key!r} belongs to another paper: {self._papers[paper.key].title}")
            self._papers[paper.key] = paper

    def find(self, name: str) -> Paper:
        """Return a paper by its key, or load it from a folder and add it."""
        if name in self._papers or not Path(name).is_dir():
            return self[name]
        paper = load_paper(name)
        self.add(paper)
        return self[paper.key]

    def __getitem__(self, key: str) -> Paper:
        if key not in self._papers:
            raise KeyError(f"unknown paper {key!r}{_checks.nearest(key, self)}; known: {', '.join(self)}")
        return self._papers[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._papers)

    def __len__(self) -> int:
        return len(self._papers)


class Records(Mapping[str, T], Generic[T]):
    """Records of all papers by full name, `paper/name`; the bare name works while it is unique."""

    def __init__(self, kind: str, of: Callable[[Paper], Iterable[T]]) -> None:
        self.kind, self._of = kind, of

    def __iter__(self) -> Iterator[str]:
        return (f"{record.paper}/{record.name}" for paper in PAPERS.values() for record in self._of(paper))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> T:
        found = [
            record
            for paper in PAPERS.values()
            for record in self._of(paper)
            if name in (record.name, f"{record.paper}/{record.name}")
        ]
        if len(found) == 1:
            return found[0]
        if found:
            names = " or ".join(f"{record.paper}/{record.name}" for record in found)
            raise KeyError(f"{self.kind} {name!r} is in several papers; write {names}")
        known = list(self) if "/" in name else [full.partition("/")[2] for full in self]
        raise KeyError(f"unknown {self.kind} {name!r}{_checks.nearest(name, known)}; known: {', '.join(known)}")


def _installed() -> Iterator[Paper]:
    """Yield the papers of installed packages, with a warning for each that does not load."""
    for point in entry_points(group=GROUP):
        try:
            paper = point.load()
        except Exception as error:
            warnings.warn(f"paper {point.value!r} does not load: {type(error).__name__}: {error}", stacklevel=2)
            continue
        if isinstance(paper, Paper):
            yield paper
        else:
            warnings.warn(f"{point.value!r} must be a Paper, got {_checks.shown(paper)}", stacklevel=2)


OWN = (
    madsen2020.paper,
    schloer2020.paper,
    heim2020.paper,
    mistry2022.paper,
    mistry2022division.paper,
    mistry2022snmu.paper,
    ranking.paper,
    behind.paper,
    arithmos2026.paper,
)
"""Papers of this package."""

PAPERS = Papers(*OWN, *_installed())
"""Papers by key; `PAPERS.find("path/to/folder")` adds one from a folder."""

EXPERIMENTS: Records[Experiment] = Records("experiment", lambda paper: paper.experiments)
FIGURES: Records[Experiment | Surface] = Records("figure", lambda paper: (*paper.experiments, *paper.surfaces))
CLAIMS: Records[Claim] = Records("claim", lambda paper: paper.claims)


def find_spec(spec_id: str) -> Spec | None:
    """Return the spec of the catalogue with this id, or None if no experiment has it."""
    specs = (spec for experiment in EXPERIMENTS.values() for spec in experiment.specs)
    return next((spec for spec in specs if spec.id == spec_id), None)


def criteria_of(experiment: Experiment) -> Mapping[str, Criterion]:
    """Return what the paper of an experiment says about its thresholds, by name; nothing for one of the user's."""
    return PAPERS[experiment.paper].criteria if experiment.paper in PAPERS else {}
