"""Text page on the formula of a stored run: the formula, the target, and the rounding."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...formula.expression import SNAP
from ...store import Store

if TYPE_CHECKING:
    from ...export import StoredNetwork

_SHOWN = 5


def formula_page(store: Store, spec_id: str, seed: int | None, snap: float = SNAP) -> str:
    """Return the formula of a run, for each engine that made it, with the target and the rounding of its weights.

    Raises:
        KeyError: the store has no such run.
        ValueError: it has no formula.
    """
    from ...export.stored import stored_networks

    if seed is None:
        raise ValueError("seed must be given, got none; a formula belongs to one run")
    return "\n\n".join("\n".join(_lines(network, snap)) for network in stored_networks(store, spec_id, seed))


def _lines(network: "StoredNetwork", snap: float) -> Iterator[str]:
    found = network.expression(snap)
    yield f"{found}" if len(found.outputs) > 1 else f"y = {found}"
    if network.target is not None:
        verdict = "is" if network.exact else "is not"
        yield f"target {network.target}: with all weights rounded, the network {verdict} that"
    if found.rounded:
        furthest = max(found.rounded, key=lambda rounding: rounding.distance)
        yield (
            f"{len(found.rounded)} numbers rounded, by at most {furthest.distance:.2g}: "
            f"{furthest.where} is {furthest.value:.6g}, rounded to {furthest.exact}"
        )
    if found.approximate:
        more = f", and {len(found.approximate) - _SHOWN} more" if len(found.approximate) > _SHOWN else ""
        yield f"not within {snap:g} of an exact number: {'; '.join(found.approximate[:_SHOWN])}{more}"
