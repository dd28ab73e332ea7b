"""Engines: one contract, several speeds. Each is imported when it is asked for."""

from collections.abc import Callable, Mapping

from ..spec import Spec
from .contract import Control as Control
from .contract import Curve as Curve
from .contract import Engine as Engine
from .contract import Job as Job
from .contract import Run as Run


def _torch() -> Engine:
    from .torch import TorchEngine

    return TorchEngine()


def _cpu(threads: int | None = None) -> Engine:
    from .cpu import CpuEngine

    return CpuEngine(threads)


def _cuda() -> Engine:
    from .cuda import CudaEngine

    return CudaEngine()


ENGINES: dict[str, Callable[[], Engine]] = {"cuda": _cuda, "cpu": _cpu, "torch": _torch}
"""From the fastest to the most general, which is the order in which `choose` asks them."""


class Refused(ValueError):
    """The engine that was asked for by name cannot run a spec, or is not there."""


class Engines:
    """The engines of this machine, each made once.

    Args:
        name: "auto" for the fastest that can run a spec, or one of `ENGINES`.
        threads: how many threads the cpu engine uses; all cores unless told.
        say: told, in a line, why a faster engine is passed over.
        makers: engines of another place, by the same names.
    """

    def __init__(
        self,
        name: str = "auto",
        *,
        threads: int | None = None,
        say: Callable[[str], None] = print,
        makers: Mapping[str, Callable[[], Engine]] | None = None,
    ) -> None:
        if name not in ("auto", *ENGINES):
            raise ValueError(f"engine must be auto, {', '.join(ENGINES)}, got {name!r}")
        self.name, self.threads, self._say = name, threads, say
        self._makers = {**ENGINES, "cpu": lambda: _cpu(threads), **(makers or {})}
        self._made: dict[str, Engine | str] = {}
        self._said: set[str] = set()

    def choose(self, spec: Spec, preferred: str | None = None) -> Engine:
        """The engine for a spec.

        Args:
            spec: what is to be run.
            preferred: engine that has run this spec before; "auto" stays with it if it can, so that a cell of a
                table does not mix engines.
        """
        if self.name != "auto":
            engine, why = self._ask(self.name, spec)
            if engine is None:
                raise Refused(f"engine {self.name!r} cannot run this: {why}")
            return engine
        for name in dict.fromkeys([preferred or "cuda", *ENGINES]):
            engine, why = self._ask(name, spec)
            if engine is not None:
                return engine
            if name != "cuda" and why not in self._said:
                self._said.add(why)
                self._say(f"not on the {name} engine: {why}")
        raise AssertionError("the torch engine runs every spec")

    def able(self, spec: Spec) -> list[str]:
        """Names of the engines that can run a spec on this machine."""
        return [name for name in ENGINES if self._ask(name, spec)[0] is not None]

    def _ask(self, name: str, spec: Spec) -> tuple[Engine | None, str]:
        if name not in self._made:
            try:
                self._made[name] = self._makers[name]()
            except (ImportError, RuntimeError) as error:
                self._made[name] = str(error)
        made = self._made[name]
        if isinstance(made, str):
            return None, made
        why = made.refuses(spec)
        return (made, "") if why is None else (None, why)
