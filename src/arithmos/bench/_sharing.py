"""Several campaigns on one store, on one machine or over a network disk, without a server or a lock.

Each begins at a place of its own, and looks now and then at what the others have stored, which it does not make again.
What two have under way at the same moment is made twice; the store keeps the first, and `store info` counts the rest.
"""

import math
import random
import time
from collections.abc import Callable, Sequence, Set

from ..engines import ENGINES, Job
from ..spec import Spec
from ..store import Store

LOOK_S = 2.0
"""Seconds between two looks at the store."""


def arrange(jobs: Sequence[Job], seconds: Callable[[Spec], float], suspended: Set[tuple[str, int]]) -> list[Job]:
    """Jobs in the order in which to run them: what was begun, so that it ends; then long runs, which would end last.

    What is alike comes in an order of this call's own.

    Args:
        jobs: what is to be run.
        seconds: what a run of a spec takes; within a factor of two or so, runs are alike.
        suspended: spec id and seed of the runs that were begun.
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
    """What other campaigns have stored since this one was planned.

    Args:
        store: the store that they share.
        jobs: what this campaign is to make.
        any_engine: a spec that another engine has made whole is made too.
    """

    def __init__(self, store: Store, jobs: Sequence[Job], *, any_engine: bool) -> None:
        self._store, self._any_engine = store, any_engine
        self._asked = {job.spec.id: job.seeds for job in jobs}
        self._looked = -math.inf

    def made(self, spec: Spec, seed: int, engine: str) -> bool:
        """Whether there is no need to make this run with this engine any more."""
        if time.monotonic() - self._looked > LOOK_S:
            self._stored = self._store.seeds()
            self._whole: dict[tuple[str, str], bool] = {}
            self._looked = time.monotonic()
        mine = self._stored.get((spec.id, engine), set())
        if seed in mine or not self._any_engine:
            return seed in mine
        if (spec.id, engine) not in self._whole:  # asked once per look, for it takes all seeds together
            others = [found for name in ENGINES if (found := self._stored.get((spec.id, name)))]
            whole = mine.union(self._asked[spec.id]) if others else mine
            self._whole[spec.id, engine] = any(whole <= found for found in others)
        return self._whole[spec.id, engine]
