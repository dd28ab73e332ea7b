"""Experiments as data, to list them with their costs: specs know their units, so that to load them loads torch.

`listed.json` holds the experiments of the package. It is written by `python tools/listed.py`, and a test compares it
with them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._choices import ENGINE_NAMES
from ._platform import may_have_gpu
from .engines.cost import TIMES, Clock, Work, work
from .store import Snapshot, Store

if TYPE_CHECKING:
    from .papers import Experiment, Paper
    from .spec import Spec

FILE = Path(__file__).with_suffix(".json")
PAPERS = "arithmos.papers"
"""Entry point group of installed packages with papers."""


@dataclass(frozen=True)
class Listed:
    """Experiment, or a surface, which has no specs.

    Args:
        qualified_name: its name, with that of its paper.
        item: its place in the paper.
        seeds: number of seeds of each spec.
        specs: what the time of its specs' runs depends on.
    """

    qualified_name: str
    item: str
    seeds: int = 0
    specs: tuple[Work, ...] = ()

    @property
    def runs(self) -> int:
        """Number of runs in all."""
        return len(self.specs) * self.seeds

    @property
    def iterations(self) -> int:
        """Number of training iterations in all."""
        return sum(spec.iterations + 1 for spec in self.specs) * self.seeds


def listed(papers: "Iterable[Paper]") -> list[Listed]:
    """Return the experiments of papers, and then their surfaces."""
    papers = list(papers)
    found = [
        Listed(experiment.qualified_name, experiment.item, experiment.seeds, tuple(map(work, experiment.specs)))
        for paper in papers
        for experiment in paper.experiments
    ]
    return found + [Listed(f"{paper.key}/{one.name}", one.item) for paper in papers for one in paper.surfaces]


def written(experiments: Iterable[Listed]) -> str:
    """Return experiments as JSON, with one line per spec."""
    lines = []
    for one in experiments:
        specs = ",\n".join(json.dumps(astuple(spec), separators=(",", ":")) for spec in one.specs)
        head = json.dumps([one.qualified_name, one.item, one.seeds], ensure_ascii=False)
        lines.append(f"{head[:-1]}, [\n{specs}\n]]" if specs else f"{head[:-1]}, []]")
    return "[\n" + ",\n".join(lines) + "\n]\n"


def shipped() -> list[Listed]:
    """Return the experiments of the package, from its data."""
    return [
        Listed(name, item, seeds, tuple(Work(*spec) for spec in specs))
        for name, item, seeds, specs in json.loads(FILE.read_text(encoding="utf-8"))
    ]


def suffices() -> bool:
    """Return whether `shipped_rows` are all: no package has other papers, and torch cannot find a GPU here."""
    return not entry_points(group=PAPERS) and not may_have_gpu()


def shipped_rows(store: str | Path) -> list[dict[str, Any]]:
    """Return what `bench.catalogue` does, on a machine without a GPU, from the package's data and without torch."""
    stored, experiments = Store(store).snapshot(TIMES), shipped()
    pace = Clock(stored.table(TIMES), [spec for one in experiments for spec in one.specs])
    here = {"torch", "cpu"} if find_spec("numba") else {"torch"}

    def likely(spec: Work, preferred: str) -> str:
        able = here if spec.fused else {"torch"}
        return next(name for name in (preferred, *ENGINE_NAMES) if name in able)

    return [*rows(experiments, stored, likely, pace.seconds)]


def rows(
    experiments: "Iterable[Experiment | Listed]",
    stored: Snapshot,
    likely: Callable[[Any, str], str],
    seconds: Callable[[Any, str, int], float],
    engine: str = "auto",
) -> Iterator[dict[str, Any]]:
    """Yield what a list shows of each experiment.

    Args:
        experiments: the experiments.
        stored: the stored runs.
        likely: function of a spec and its preferred engine that names the engine of its runs.
        seconds: function of a spec, an engine and a number of runs that estimates the time of each.
        engine: engine that was asked for.
    """
    for experiment in experiments:
        left, total = 0, 0.0
        for spec in {spec.id: spec for spec in experiment.specs}.values():
            lacking, preferred = missing(stored, spec, experiment.seeds)
            if engine == "auto" and not lacking[preferred]:
                continue
            name = likely(spec, preferred)
            if runs := len(lacking[name]):
                left, total = left + runs, total + seconds(spec, name, runs) * runs
        yield {
            "name": experiment.qualified_name,
            "item": experiment.item,
            "runs": experiment.runs,
            "iterations": experiment.iterations,
            "stored": experiment.runs - left,
            "seconds": total,
        }


def missing(stored: Snapshot, spec: "Spec | Work", count: int) -> tuple[dict[str, Sequence[int]], str]:
    """Return the seeds that each engine has not run, and the engine that has run most."""
    found: dict[str, Sequence[int]] = {name: stored.missing(spec, count, name) for name in ENGINE_NAMES}
    return found, min(found, key=lambda name: len(found[name]))
