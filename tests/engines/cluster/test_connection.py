"""Peers that are no Dask scheduler: one line each, in time."""

import gc
import http.server
import socketserver
import threading
from functools import partial

import dask
import pytest
from distributed import LocalCluster
from distributed.security import Security
from tests.engines.cluster.test_cluster import EVEN
from tests.test_cli import complaint

from arithmos.engines import Refused
from arithmos.engines.cluster import Cluster, connection


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    monkeypatch.setattr(connection, "CONNECT_S", 1.0)


@pytest.fixture
def peer():
    """Starts a server, and gives its port."""
    started = []

    def start(server):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        return server.server_address[1]

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


class Says(socketserver.BaseRequestHandler):
    """A peer that says something, listens to nothing, and waits until the other hangs up."""

    def __init__(self, words, *rest):
        self.words = words
        super().__init__(*rest)

    def handle(self):
        self.request.sendall(self.words)
        while self.request.recv(1024):
            pass


class Closes(socketserver.BaseRequestHandler):
    """A peer that hangs up at once."""


class Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True  # a client may never hang up


def serve(handler):
    return Server(("127.0.0.1", 0), handler)


SILENT = "the peer accepts connections, but says nothing within 1 s"
FOREIGN = "the peer does not speak Dask's protocol"
PEERS = {
    "silent": (partial(serve, partial(Says, b"")), SILENT),
    "closes": (partial(serve, Closes), "the peer closed the connection"),
    "ssh": (partial(serve, partial(Says, b"SSH-2.0-OpenSSH_9.2\r\n")), FOREIGN),
    "http answer": (partial(serve, partial(Says, b"HTTP/1.1 400 Bad Request\r\n\r\n")), FOREIGN),
    "short frames": (partial(serve, partial(Says, b"\x10" + bytes(7) + b"x" * 16)), FOREIGN),
    "http": (partial(http.server.ThreadingHTTPServer, ("127.0.0.1", 0), Pages), SILENT),
}


@pytest.mark.parametrize("kind", PEERS)
def test_a_peer_of_another_kind(peer, kind):
    make, reason = PEERS[kind]
    address = f"tcp://127.0.0.1:{peer(make())}"
    with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}: {reason}"):
        Cluster(address, EVEN)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # tornado forgets the socket of a failed handshake
@pytest.mark.parametrize("kind", PEERS)
def test_a_peer_of_another_kind_under_tls(peer, kind):
    address = f"tls://127.0.0.1:{peer(PEERS[kind][0]())}"
    nobody = pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}: .")
    with nobody, connection.connected(address, Security.temporary()):
        pass
    del nobody
    gc.collect()


@pytest.mark.parametrize("kind", PEERS)
def test_on_the_command_line(peer, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, reason = PEERS[kind]
    line = complaint("run", "table-1", "--dask", f"tcp://127.0.0.1:{peer(make())}", status=1)
    assert line.startswith("arithmos: no Dask scheduler answers at tcp://127.0.0.1:")
    assert reason in line


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://127.0.0.1:8787", "unknown address scheme 'http'"),
        ("tcp://127.0.0.1", "missing port number"),
        ("tcp://127.0.0.1:port", "'port'"),
        ("tcp://127.0.0.1:1", "no connection within 1 s"),
        ("127.0.0.1:1", "no connection within 1 s"),
        ("tcp://nowhere.invalid:1", "no connection within 1 s"),
        ("nowhere", "missing port number"),
        ("", "missing port number"),
    ],
)
def test_an_address_of_nobody(address, reason):
    with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}: .*{reason}"):
        Cluster(address, EVEN)


def test_a_worker_is_no_scheduler():
    options = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(1, threads_per_worker=1, **options) as own:
        address = own.workers[0].address
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at {address}: the peer is a Dask Worker"):
            Cluster(address, EVEN)


@pytest.fixture(scope="module")
def under_tls():
    security = Security.temporary()
    options = {"processes": False, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(0, protocol="tls", security=security, **options) as own:
        yield own.scheduler_address, security


def test_tls_is_needed(under_tls):
    address = under_tls[0].replace("tls:", "tcp:")
    with pytest.raises(ConnectionError, match="the peer closed the connection; is it under TLS"):
        Cluster(address, EVEN)


def test_a_certificate_of_somebody_else(under_tls):
    foreign = pytest.raises(ConnectionError, match="its certificate is not from the authority in Dask's configuration")
    with foreign, connection.connected(under_tls[0], Security.temporary()):
        pass


def test_the_right_certificate(under_tls):
    with connection.connected(*under_tls) as client:
        assert client.scheduler_info()["type"] == "Scheduler"


def test_tls_without_a_certificate():
    with pytest.raises(Refused, match=r"tls://127.0.0.1:1 needs a certificate"):
        Cluster("tls://127.0.0.1:1", EVEN)


def test_certificates_that_are_not_there(tmp_path):
    missing = {f"distributed.comm.tls.{name}": str(tmp_path / "no.pem") for name in ("ca-file", "client.cert")}
    with dask.config.set(missing), pytest.raises(Refused, match=r"certificates under distributed.comm.tls"):
        Cluster("tls://127.0.0.1:1", EVEN)


def test_a_wire_that_the_configuration_forbids():
    forbidden = pytest.raises(ConnectionError, match="encryption required by Dask configuration")
    with dask.config.set({"distributed.comm.require-encryption": True}), forbidden:
        Cluster("tcp://192.0.2.1:1", EVEN)
