"""Workers on this machine: who can reach them, and what they load."""

import asyncio
import os
import stat
import sys
import tempfile
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psutil
import pytest
from distributed.comm import CommClosedError, connect
from distributed.security import Security
from tests.engines.cluster.test_cluster import EVEN

from arithmos.engines import Refused
from arithmos.engines.cluster import Cluster

PLANTED = """
import sys
open({mark!r}, "w").close()
sys.path.remove("")
del sys.modules["socket"]
import socket
"""


def scratch(dask_worker):
    return dask_worker.local_directory, list(sys.path), os.getpid(), os.environ["PYTHONPATH"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A temporary folder where another user was first, and a current folder where somebody left a module."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "dask-scratch-space").mkdir()
    (folder / "socket.py").write_text(PLANTED.format(mark=str(folder / "mark")))
    return folder


@pytest.fixture(scope="module")
def own(shared):
    before = list(sys.path), set(shared.iterdir())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(shared)
        patch.setattr(tempfile, "tempdir", str(shared))
        patch.setenv("PYTHONPATH", str(shared / "kept"), prepend=os.pathsep)
        patch.delenv("PYTHONSAFEPATH", raising=False)
        with Cluster("local:1", EVEN, threads=1, say=lambda line: None) as made:
            yield made
        assert "PYTHONSAFEPATH" not in os.environ
        assert (sys.path, set(shared.iterdir())) == before


def listening():
    """Addresses at which this process and those that it started listen."""
    here = psutil.Process()
    return [
        found.laddr
        for process in (here, *here.children(recursive=True))
        for found in process.net_connections()
        if found.status == psutil.CONN_LISTEN
    ]


def get(port, page="/"):
    """What HTTP answers there, None where there is none."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", page)
        return connection.getresponse().status
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def test_nothing_listens_beyond_this_machine(own):
    assert own.address.startswith("tls://127.0.0.1:")
    assert len(listening()) >= 3  # a scheduler, a nanny, a worker
    assert {address.ip for address in listening()} == {"127.0.0.1"}


@pytest.mark.parametrize("scheme", ["tcp", "tls"])
def test_a_stranger_is_not_answered(own, scheme):
    stranger = Security.temporary() if scheme == "tls" else Security()

    async def talk(port):
        await connect(f"{scheme}://127.0.0.1:{port}", timeout=2, **stranger.get_connection_args("client"))

    ports = [address.port for address in listening() if get(address.port) is None]
    assert len(ports) >= 3
    for port in ports:
        with pytest.raises(CommClosedError):
            asyncio.run(talk(port))


def test_there_is_no_dashboard(own):
    pages = ["/", "/status", "/health", "/metrics", "/info/main/workers.html", "/json/identity.json"]
    assert {get(address.port, page) for address in listening() for page in pages} <= {404, None}


def test_scratch_folders_are_private(own, shared):
    [(folder, paths, *_)] = own._client.run(scratch).values()
    found = [
        path for path in (folder, *paths, *sys.path) if path.startswith(str(shared)) and path != str(shared / "kept")
    ]
    assert len(found) > 2
    for path in found:
        private = shared / Path(path).relative_to(shared).parts[0]
        assert private.name.startswith("arithmos-")
        assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_a_module_in_the_current_folder_is_not_loaded(own, shared):
    [(*_, process, python_path)] = own._client.run(scratch).values()
    assert python_path.startswith(str(shared / "kept"))
    psutil.Process(process).kill()  # and another is started
    while [other for *_, other, _ in own._client.run(scratch, on_error="ignore").values()] in ([], [process]):
        time.sleep(0.1)
    assert not (shared / "mark").exists()


def test_without_certificates_there_is_no_cluster(monkeypatch):
    def missing():
        raise ImportError("Using `Security.temporary` requires `cryptography`")

    monkeypatch.setattr(Security, "temporary", missing)
    with pytest.raises(Refused, match=r"local:1 needs the package cryptography; install it with pip .*\[cluster\]"):
        Cluster("local:1", EVEN)
