"""Engines on a Dask cluster: its workers train chunks of runs, each with its own engine.

Dask's protocol carries pickles, which run code when they are opened: anyone who can reach the scheduler can run
anything on the workers and on the client. Keep a cluster on a network that you trust, or use TLS. A local cluster uses
TLS, with its own certificate.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import TracebackType

from distributed import Client
from distributed.security import Security

from ...spec import Spec
from .. import Refused
from ..code import SOURCE
from ..contract import Engine
from ..cost import Clock
from ..cpu import CpuEngine
from ..cuda import refusal
from ..cuda.plan import Limits
from ..torch import TorchEngine
from .connection import connected
from .local import PREFIX, local_cluster
from .remote import Remote
from .worker import GPU, SLOT, Admission, Description, describe

__all__ = ["Cluster"]

WORKERS_S = 60.0
"""Seconds to wait for the first worker."""

ATTEMPTS = 5

PACKAGES = ("arithmos", "dask", "distributed", "numba", "numpy", "torch")
"""Packages whose versions must match; build tags, as in 2.11.0+cu130, may differ."""


class Cluster:
    """Connection to a cluster whose workers match this machine.

    As a context manager it cancels what is in flight at the end, and shuts a local cluster down.

    Args:
        address: address of a scheduler, or "local:N" for N workers on this machine.
        pace: estimate of how long runs take on one core.
        threads: threads per worker of a local cluster; by default the cores are divided among them.
        say: receives a line about the cluster.

    Attributes:
        address: address of the scheduler.
        threads: number of threads of all workers together.

    Raises:
        ConnectionError: no scheduler answers, or it has no workers.
        Refused: versions differ, or the address is not valid.
    """

    def __init__(
        self, address: str, pace: Clock, *, threads: int | None = None, say: Callable[[str], None] = print
    ) -> None:
        self._pace = pace
        with ExitStack() as stack:
            stack.enter_context(_quiet())
            if address.startswith(PREFIX):
                local = stack.enter_context(local_cluster(address, threads))
                self.address, security = local.scheduler_address, local.security
            elif threads is not None:
                raise Refused(f"threads must be None for the workers at {address}, which set their own, got {threads}")
            else:
                self.address, security = address, Security()
            self._client = stack.enter_context(connected(self.address, security))
            found = _admitted(self._client, self.address)
            self._stack = stack.pop_all()
        self._gpus = [worker.gpu for worker in found.values() if isinstance(worker.gpu, Limits)]
        self._no_gpu = next((worker.gpu for worker in found.values() if isinstance(worker.gpu, str)), "")
        self.threads = sum(self._client.nthreads().values())
        say(f"{len(found)} workers with {self.threads} threads and {len(self._gpus)} GPUs at {self.address}")

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def engines(self) -> Mapping[str, Callable[[], Engine]]:
        """Factories of the workers' engines, by name."""
        remote = partial(Remote, self._client, self._pace)
        return {
            "cuda": self._cuda,
            "cpu": lambda: remote("cpu", SLOT, CpuEngine(threads=1).refuses),
            "torch": lambda: remote("torch", SLOT, TorchEngine().refuses),
        }

    def _cuda(self) -> Engine:
        if not self._gpus:
            raise RuntimeError(f"no worker has a GPU: {self._no_gpu}")
        kinds = set(self._gpus)

        def refuses(spec: Spec) -> str | None:
            return next((why for limits in kinds if (why := refusal(spec, limits)) is not None), None)

        return Remote(self._client, self._pace, "cuda", GPU, refuses)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's logs of what is reported here on one line, or repaired."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in ("distributed", "tornado")]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _admitted(client: Client, address: str) -> dict[str, Description]:
    """Wait for workers and return their descriptions; see `_admit`."""
    for _ in range(ATTEMPTS):
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError as error:
            raise ConnectionError(
                f"the Dask scheduler at {address} has no workers, and none came within {WORKERS_S:.0f} s"
            ) from error
        with suppress(OSError):  # a worker was lost meanwhile
            return _admit(client)
    raise ConnectionError(f"workers at {address} keep being lost as they join")


def _admit(client: Client) -> dict[str, Description]:
    """Return descriptions of the workers if each matches this machine; matching ones that join later are admitted."""
    versions = client.get_versions(packages=list(PACKAGES))
    here = _versions(versions["client"])
    for address, worker in versions["workers"].items():
        there = _versions(worker)
        if differing := [name for name in here if here[name] != there[name]]:
            theirs, ours = (", ".join(f"{name} {side[name]}" for name in differing) for side in (there, here))
            raise Refused(f"the worker at {address} has {theirs}, this machine {ours}; install the same on both")
    found = client.run(describe, on_error="return")
    for address, worker in found.items():
        if isinstance(worker, OSError):
            raise worker
        if not isinstance(worker, Description) or worker.code != SOURCE:
            raise Refused(
                f"the worker at {address} has another build of arithmos {here['arithmos']}; install the same on both"
            )
    client.register_plugin(Admission(SOURCE))
    return dict(found)


def _versions(machine: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
    found = machine["packages"]
    python = ".".join(str(found["python"]).split(".")[:2])
    return {"python": python} | {name: (found[name] or "not installed").partition("+")[0] for name in PACKAGES}
