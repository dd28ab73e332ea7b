"""Several campaigns on one store, on one machine or over a network disk, without a server or locks.

Each starts at a different place and checks now and then what the others have stored, to skip it. Runs that two
campaigns have in progress at the same time are made twice; the store keeps the first, and `store info` counts the rest.
"""

import math
import random
import time
from collections.abc import Callable, Sequence, Set

from ..engines import ENGINES, Job
from ..spec import Spec
from ..store import Store

LOOK_S = 2.0
"""Seconds between two checks of the store."""


def arrange(jobs: Sequence[Job], seconds: Callable[[Spec], float], suspended: Set[tuple[str, int]]) -> list[Job]:
    """Order jobs: suspended runs first, so that they finish; then long runs, which would otherwise finish last.

    Similar runs come in a random order, so that campaigns do not collide.

    Args:
        jobs: jobs to order.
        seconds: estimated time of a run of a spec; runs within a factor of about two are similar.
        suspended: spec id and seed of the suspended runs.
    """
    rng = random.SystemRandom()

    def key(job: Job) -> tuple[int, float]:
        return -round(math.log(max(seconds(job.spec), 1e-9), 4)), rng.random()

    def only(begun: bool) -> list[Job]:
        chosen = [(job, [seed for seed in job.seeds if ((job.spec.id, seed) in suspended) == begun]) for job in jobs]
        mixed = [Job(job.spec, tuple(rng.sample(seeds, len(seeds)))) for job, seeds in chosen if seeds]
        return sorted(mixed, key=key)

    return only(True) + only(False)


class Others:
    """Runs that other campaigns have stored since this one was planned.

    Args:
        store: the shared store.
        jobs: jobs of this campaign.
        any_engine: whether a spec that another engine has completed counts as made.
    """

    def __init__(self, store: Store, jobs: Sequence[Job], *, any_engine: bool) -> None:
        self._store, self._any_engine = store, any_engine
        self._asked = {job.spec.id: job.seeds for job in jobs}
        self._looked = -math.inf

    def made(self, spec: Spec, seed: int, engine: str) -> bool:
        """Return whether this run with this engine need no longer be made."""
        if time.monotonic() - self._looked > LOOK_S:
            self._stored = self._store.seeds()
            self._whole: dict[tuple[str, str], bool] = {}
            self._looked = time.monotonic()
        mine = self._stored.get((spec.id, engine), set())
        if seed in mine or not self._any_engine:
            return seed in mine
        if (spec.id, engine) not in self._whole:  # once per check, for all seeds together
            others = [found for name in ENGINES if (found := self._stored.get((spec.id, name)))]
            whole = mine.union(self._asked[spec.id]) if others else mine
            self._whole[spec.id, engine] = any(whole <= found for found in others)
        return self._whole[spec.id, engine]
