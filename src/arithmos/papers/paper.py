"""`Paper`: everything that belongs to one publication; a folder may hold one."""

import dataclasses
import hashlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from .. import _checks
from ..judging.cells import Estimator
from .comparison import COMPARISONS, Comparison
from .evidence import Claim
from .experiment import Experiment
from .finding import Finding
from .not_run import NotRun
from .surface import Surface


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """Named thresholds of a paper, with the estimators that go with them.

    Args:
        note: a sentence or two on the thresholds and estimators.
        estimators: estimators of the paper's own, by measure.
    """

    note: str
    estimators: Mapping[str, Estimator] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Record of everything that belongs to one publication.

    Args:
        key: short name, the first part of the full names of its experiments.
        title: title of the publication.
        reference: authors, venue and year.
        experiments: its experiments, in its order.
        surfaces: its figures without runs.
        claims: its claims about its experiments.
        findings: findings on its numbers.
        not_run: its numbers that were not run, with the reasons.
        criteria: named thresholds that decide which runs are solved; the first is the default.
        comparisons: how each published measure is compared with ours, by the estimator behind it.
        introduction: first paragraph of its page.
    """

    key: str
    title: str
    reference: str
    experiments: tuple[Experiment, ...]
    surfaces: tuple[Surface, ...] = ()
    claims: tuple[Claim, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    criteria: Mapping[str, Criterion] = field(default_factory=dict)
    comparisons: Mapping[str, Comparison] = field(default_factory=lambda: COMPARISONS)
    introduction: str = ""

    def __post_init__(self) -> None:
        for name in ("key", "title", "reference"):
            _checks.text(name, getattr(self, name))
        if "/" in self.key:
            raise ValueError(f"key must not contain '/', got {self.key!r}")
        for name, kind in (
            ("experiments", Experiment),
            ("surfaces", Surface),
            ("claims", Claim),
            ("findings", Finding),
            ("not_run", NotRun),
        ):
            for record in getattr(self, name):
                if not isinstance(record, kind):
                    raise ValueError(f"{name} must hold values of {kind.__name__}, got {_checks.shown(record)}")
        for name in ("experiments", "surfaces", "claims", "not_run"):
            own = tuple(dataclasses.replace(record, paper=self.key) for record in getattr(self, name))
            object.__setattr__(self, name, own)
        first = next(iter(self.criteria), "")
        judged = tuple(dataclasses.replace(one, criterion=one.criterion or first) for one in self.experiments)
        object.__setattr__(self, "experiments", judged)
        names = {experiment.name for experiment in self.experiments}
        spoken_of = [name for claim in self.claims for name in claim.experiments]
        spoken_of += [finding.experiment for finding in self.findings]
        spoken_of += [group.name for group in self.not_run if group.published is None]
        for name in spoken_of:
            if name not in names:
                raise ValueError(f"paper {self.key!r} has no experiment {name!r}{_checks.nearest(name, names)}")
        for group in self.not_run:
            if group.published is not None and group.name in names:
                raise ValueError(f"paper {self.key!r} has an experiment {group.name!r}, whose own table is the place")

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    def reason(self, experiment: str, model: str) -> str:
        """Return why a model's numbers in an experiment's table were not run; empty if the paper does not say."""
        groups = (one for one in self.not_run if one.name == experiment)
        return next((one.reason for one in groups if not one.models or model in one.models), "")

    def findings_on(self, experiment: str) -> list[Finding]:
        """Return the findings on an experiment, in the order in which they were written."""
        return [finding for finding in self.findings if finding.experiment == experiment]


def load_paper(folder: str | Path) -> Paper:
    """Load a paper from a folder: its `__init__.py` runs, and must define `paper`, a `Paper`.

    Files of the folder import each other as those of a package do: `from .experiments import …`. Relative paths of
    published numbers start at the folder.

    Raises:
        FileNotFoundError: the folder has no `__init__.py`.
        ValueError: it does not load, or defines no paper.
    """
    file = Path(folder) / "__init__.py"
    if not file.is_file():
        raise FileNotFoundError(f"paper {str(folder)!r} must be a folder with an __init__.py")
    digest = hashlib.blake2b(str(file.resolve()).encode(), digest_size=8).hexdigest()
    name = f"arithmos_paper_{digest}"
    module_spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
    if module_spec is None or module_spec.loader is None:
        raise ValueError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    try:
        module_spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(f"paper {str(folder)!r} does not load: {type(error).__name__}: {error}") from error
    found = getattr(module, "paper", None)
    if not isinstance(found, Paper):
        raise ValueError(f"{file} must define `paper`, a Paper, got {_checks.shown(found)}")
    return dataclasses.replace(
        found, experiments=_within(file.parent, found.experiments), not_run=_within(file.parent, found.not_run)
    )


Printed = TypeVar("Printed", Experiment, NotRun)


def _within(folder: Path, records: tuple[Printed, ...]) -> tuple[Printed, ...]:
    """Return records with the paths of their published numbers taken from a folder."""
    return tuple(dataclasses.replace(one, published=one.published and one.published.within(folder)) for one in records)
