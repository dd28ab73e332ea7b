"""Workers on this machine, reachable only from this machine and only by this process."""

import logging
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import LocalCluster
from distributed.security import Security

from ..._extras import advice
from ..._platform import cores, safe_path
from .. import Refused

PREFIX = "local:"

NO_PAGES: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Route that answers every request with 404: Dask serves HTTP without TLS even without a dashboard."""

KEEP_NANNIES = {"distributed.deploy.lost-worker-timeout": "365 days"}
"""A nanny starts its worker again; Dask closes it for good if the worker happens to be down 15 s after it died."""


@contextmanager
def local_cluster(address: str, threads: int | None) -> Iterator[LocalCluster]:
    """Start a cluster on this machine, and shut it down at the end.

    Every connection needs a certificate that exists only in this process and its workers. Without it, any other user of
    the machine could run programs as this one over loopback.

    Args:
        address: "local:N" for N workers.
        threads: number of threads per worker; the cores divided among the workers by default.

    Raises:
        Refused: the number of workers is missing, or the package for certificates is.
    """
    count = address.removeprefix(PREFIX)
    if not count.isdecimal() or int(count) < 1:
        raise Refused(f"dask must be the address of a scheduler, or local:N with N at least 1, got {address!r}")
    workers = int(count)
    try:
        security = Security.temporary()
    except ImportError as error:
        raise Refused(f"{address} needs the package cryptography; {advice('cluster')}") from error
    with _private_folder() as private, safe_path():
        with _deaf(), dask.config.set({"temporary-directory": private, **NO_PAGES}):
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=threads or max(1, cores() // workers),
                memory_limit=0,
                host="127.0.0.1",
                security=security,
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            )
        with dask.config.set(KEEP_NANNIES), cluster:
            yield cluster


@contextmanager
def _private_folder() -> Iterator[str]:
    """Create a folder that nobody else can open, and remove it: Dask adds its scratch folders to `sys.path`."""
    with tempfile.TemporaryDirectory(prefix="arithmos-", ignore_cleanup_errors=True) as folder:
        try:
            yield folder
        finally:
            sys.path[:] = [path for path in sys.path if not path.startswith(folder)]


@contextmanager
def _deaf() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all: the client stops them in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
