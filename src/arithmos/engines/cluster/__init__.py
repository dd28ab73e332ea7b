"""A Dask cluster in place of this machine: its workers train chunks of runs, each with an engine of its own.

Dask's wire carries pickles, which run code when they are opened: whoever can reach the scheduler can run anything on
the workers and on the client. Keep a cluster on a network that you trust, or under TLS. A local cluster is under TLS,
with a certificate of its own.
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
from ..contract import Engine
from ..cost import Clock
from ..cpu import CpuEngine
from ..cuda import refusal
from ..cuda.plan import Limits
from ..torch import TorchEngine
from .connection import connected
from .local import PREFIX, local_cluster
from .remote import Remote
from .worker import CODE, GPU, SLOT, Admission, Description, describe

__all__ = ["Cluster"]

WORKERS_S = 60.0
"""Seconds to wait for the first worker."""

ATTEMPTS = 5

PACKAGES = ("arithmos", "dask", "distributed", "numba", "numpy", "torch")
"""Packages whose versions are compared; the tags of a build, as in 2.11.0+cu130, may differ."""


class Cluster:
    """A cluster whose workers have been compared with this machine and found the same.

    As a context it is left in order: what is in flight is cancelled, and a local cluster ends.

    Args:
        address: of a scheduler, or "local:N" for N workers on this machine.
        pace: how long runs take on one core.
        threads: of each worker of a local cluster; the cores shared out unless told.
        say: told, in a line, what the cluster has.

    Attributes:
        address: of the scheduler.
        threads: of all workers together.

    Raises:
        ConnectionError: no scheduler answers, or it has no workers.
        Refused: versions differ, or the address is none.
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
                raise Refused(f"threads are a matter of the workers at {address}, got {threads}")
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
        """Makers of the engines that the workers have, by name."""
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
    """Dask logs what we say in a line, or mend."""
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
    """What the workers are, once there are any; see `_admit`."""
    for _ in range(ATTEMPTS):
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError as error:
            raise ConnectionError(
                f"the Dask scheduler at {address} has no workers, and none came within {WORKERS_S:.0f} s"
            ) from error
        with suppress(OSError):  # a worker was lost meanwhile
            return _admit(client)
    raise ConnectionError(f"workers at {address} are lost as fast as they come")


def _admit(client: Client) -> dict[str, Description]:
    """What the workers are, if each is like this machine; those that join later are admitted if they are."""
    versions = client.get_versions(packages=list(PACKAGES))
    here = _versions(versions["client"])
    for address, worker in versions["workers"].items():
        there = _versions(worker)
        if differing := [name for name in here if here[name] != there[name]]:
            theirs, ours = (", ".join(f"{name} {side[name]}" for name in differing) for side in (there, here))
            raise Refused(f"the worker at {address} has {theirs}, and this machine {ours}; install the same on both")
    found = client.run(describe, on_error="return")
    for address, worker in found.items():
        if isinstance(worker, OSError):
            raise worker
        if not isinstance(worker, Description) or worker.code != CODE:
            raise Refused(
                f"the worker at {address} has another arithmos {here['arithmos']} than this machine; install the same"
            )
    client.register_plugin(Admission(CODE))
    return dict(found)


def _versions(machine: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
    found = machine["packages"]
    python = ".".join(str(found["python"]).split(".")[:2])
    return {"python": python} | {name: (found[name] or "not installed").partition("+")[0] for name in PACKAGES}
