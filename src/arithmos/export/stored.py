"""Networks of stored runs, as formulas and for export."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._frames import records
from ..engines.stored import Described, described
from ..formula import Expression
from ..formula.exact_judge import sample_rows
from ..formula.expression import SNAP, express
from ..formula.network import of_weights
from ..formula.stored import judge
from ..spec.stored import sequential
from ..store import Store
from .rebuilt import rebuild
from .save import save


@dataclass(frozen=True)
class StoredNetwork:
    """Network of a stored run at its best record.

    Args:
        spec: canonical JSON of its spec.
        seed: seed of the run.
        engine: engine that made the run.
        weights: its effective weights.
        error: test error at the best record.
        thresholds: test errors below which it is solved, by name.
    """

    spec: str
    seed: int
    engine: str
    weights: NDArray[np.float32]
    error: float
    thresholds: Mapping[str, float]

    @property
    def exact(self) -> bool | None:
        """Whether it is the task's formula once its weights are rounded; None if the task has no formula."""
        return judge(self.spec, [self.seed], [self.weights])[0]

    @property
    def described(self) -> Described:
        """Layers, sizes and task of its spec."""
        return described(self.spec)

    @property
    def inputs(self) -> NDArray[np.float64] | None:
        """Rows that it is meant for, if its task is known."""
        draws = self.described.draws
        return None if draws is None else sample_rows(draws)

    @property
    def target(self) -> str | None:
        """Formula that it should learn, if there is one."""
        task = self.described.task
        return None if task is None else task.formula(self.seed) or None

    def expression(self, snap: float = SNAP) -> Expression:
        """Return the network as an expression, with gates rounded that are open or closed on the task's inputs."""
        known = self.described
        return express(of_weights(known.layers, known.sizes, self.weights), None, snap, inputs=self.inputs)

    def save(self, path: str | Path, format: str | None = None, *, snap: float = SNAP) -> Path:
        """Save the network for another program; see `export.save`."""
        known = self.described
        about = {"spec": self.spec, "seed": str(self.seed), "engine": self.engine}
        network = rebuild(known.layers, known.sizes, self.weights)
        return save(network, path, format, about=about, snap=snap, inputs=self.inputs)


def stored_networks(store: Store, spec_id: str, seed: int) -> list[StoredNetwork]:
    """Return the networks of a run, one per engine that made it.

    Raises:
        KeyError: the store has no such run.
        ValueError: its weights are not kept, or its network has other layers than units.
    """
    runs = store.load(specs=[spec_id], columns=["spec", "best_weights", "best_test", "thresholds"])
    runs = runs[runs["seed"] == seed]
    if runs.empty:
        raise KeyError(f"{store.path} has no run of spec {spec_id!r} with seed {seed}")
    if runs["best_weights"].isna().any():
        raise ValueError(f"{store.path} does not keep the weights of the run of spec {spec_id!r} with seed {seed}")
    known = described(runs["spec"].iloc[0])
    if sequential(runs["spec"].iloc[0]):
        raise ValueError("a network that reads digits cannot be exported: it has a CNN besides its layers")
    if wrong := {len(weights) for weights in runs["best_weights"]} - {known.length}:
        raise ValueError(
            f"the network of spec {spec_id!r} must have {known.length} weights, and the run with seed {seed} has "
            f"{min(wrong)}"
        )
    return [_network(row) for row in records(runs)]


def _network(row: Mapping[str, Any]) -> StoredNetwork:
    limits = {name.removeprefix("threshold_"): limit for name, limit in row.items() if name.startswith("threshold_")}
    return StoredNetwork(row["spec"], row["seed"], row["engine"], row["best_weights"], row["best_test"], limits)


def stored_network(store: Store, spec_id: str, seed: int, engine: str | None = None) -> StoredNetwork:
    """Return the network of a stored run.

    Args:
        store: the store of the run.
        spec_id: id of its spec.
        seed: its seed.
        engine: engine that made it; needed only if several did.

    Raises:
        KeyError: the store has no such run.
        ValueError: several engines have made it, another one has, or it has no network; see `stored_networks`.
    """
    made = {network.engine: network for network in stored_networks(store, spec_id, seed)}
    if engine is None and len(made) == 1:
        [engine] = made
    if engine not in made:
        raise ValueError(f"engine must be one of those that made this run, {', '.join(made)}, got {engine or 'none'}")
    return made[engine]
