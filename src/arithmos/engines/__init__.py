"""Engines: one contract, several speeds. Each is imported when it is asked for."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from .._choices import ENGINE_NAMES
from .contract import Control as Control
from .contract import Curve as Curve
from .contract import Engine as Engine
from .contract import Job as Job
from .contract import Run as Run

if TYPE_CHECKING:
    from ..spec import Spec


def _torch() -> Engine:
    from .torch import TorchEngine

    return TorchEngine()


def _cpu(threads: int | None = None) -> Engine:
    from .cpu import CpuEngine

    return CpuEngine(threads)


def _cuda() -> Engine:
    from .cuda import CudaEngine

    return CudaEngine()


ENGINES: dict[str, Callable[[], Engine]] = dict(zip(ENGINE_NAMES, (_cuda, _cpu, _torch), strict=True))
"""Engines from the fastest to the most general, the order in which `choose` tries them."""


class Refused(ValueError):
    """Raised when no engine can run a spec, or the one asked for by name cannot or does not exist."""


class Engines:
    """Engines of this machine, each created once.

    Args:
        name: "auto" for the fastest that can run a spec, or one of `ENGINES`.
        threads: number of threads of the cpu engine; all cores by default.
        say: receives a line on why a faster engine is not used.
        makers: factories of other engines, by the same names.
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

    def choose(self, spec: "Spec", preferred: str | None = None) -> Engine:
        """Return the engine for a spec.

        Args:
            spec: the spec to run.
            preferred: engine that has run this spec before; "auto" stays with it if it can, so that a cell of a
                table does not mix engines.

        Raises:
            Refused: a unit of the spec fails a trial, or the engine that was asked for by name cannot run it.
        """
        from .probe import finding

        found, engine = finding(spec), None
        if found.refused:
            raise Refused(found.refused)
        for name in self._names(preferred):
            engine, why = self._ask(name, spec)
            if engine is not None:
                break
            if self.name != "auto":
                raise Refused(f"engine {name!r} cannot run this: {why}")
            if name != "cuda":
                self.say(f"not on the {name} engine: {why}")
        assert engine is not None, "the torch engine runs every spec"
        if engine.name == "torch" and found.alone:
            self.say(f"seed by seed: {spec.model.name}: {found.alone}")
        return engine

    def likely(self, spec: "Spec", preferred: str | None = None) -> str:
        """Return the name of the engine that `choose` will probably return, without a trial of the spec's units."""
        from .probe import unsuited

        def may_run(name: str) -> bool:
            return name == "torch" or not (unsuited(spec) or isinstance(self._make(name), str))

        return next(filter(may_run, self._names(preferred)), self.name)

    def _names(self, preferred: str | None) -> list[str]:
        return list(dict.fromkeys([preferred or "cuda", *ENGINES])) if self.name == "auto" else [self.name]

    def say(self, line: str) -> None:
        """Report a line once."""
        if line not in self._said:
            self._said.add(line)
            self._say(line)

    def able(self, spec: "Spec") -> list[str]:
        """Return the names of the engines that can run a spec on this machine."""
        return [name for name in ENGINES if self._ask(name, spec)[0] is not None]

    def _make(self, name: str) -> Engine | str:
        """Return an engine, or why this machine has none."""
        if name not in self._made:
            try:
                self._made[name] = self._makers[name]()
            except (ImportError, RuntimeError) as error:
                self._made[name] = str(error)
        return self._made[name]

    def _ask(self, name: str, spec: "Spec") -> tuple[Engine | None, str]:
        made = self._make(name)
        if isinstance(made, str):
            return None, made
        why = made.refuses(spec)
        return (made, "") if why is None else (None, why)
