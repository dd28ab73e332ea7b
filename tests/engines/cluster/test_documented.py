"""The commands of the documentation, on loopback: that they work together, and what they listen on."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import yaml
from distributed import Client
from distributed.security import Security
from tests.engines.cluster.test_processes import wait_for

HOWTO = Path(__file__).parents[3] / "docs" / "howto"
LOOPBACK = next(
    name for name, found in psutil.net_if_addrs().items() if "127.0.0.1" in {address.address for address in found}
)


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (HOWTO / page).read_text(), re.MULTILINE | re.DOTALL)


def commands(page, port):
    """The schedulers and workers of a page, with loopback for its network."""
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    for line in lines:
        words = shlex.split(line, comments=True)
        if "dask" in words:
            words = words[words.index("dask") + 1 :]
            ours = {"eth0": LOOPBACK, "8786": port, "tcp://host:8786": f"tcp://127.0.0.1:{port}"}
            ours |= {"tls://host:8786": f"tls://127.0.0.1:{port}", "127.0.0.1:8787": "127.0.0.1:0"}
            yield [
                *(ours.get(word, word) for word in words),
                *([] if "--interface" in words else ["--host", "127.0.0.1"]),
            ]


def listening(process):
    return [
        (found.laddr.ip, found.laddr.port)
        for one in (process, *process.children(recursive=True))
        for found in one.net_connections()
        if found.status == psutil.CONN_LISTEN
    ]


@pytest.fixture
def port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


@pytest.fixture
def start(tmp_path):
    started = []

    def start(words):
        environment = os.environ | {"DASK_CONFIG": str(tmp_path)}
        with open(tmp_path / f"{len(started)}.log", "w") as log:
            command = [sys.executable, "-m", "dask", *words]
            process = psutil.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
        started.append(process)
        return process

    yield start
    for process in reversed(started):
        for one in (*process.children(recursive=True), process):
            one.kill()
        process.wait()


def check(page, address, start, security):
    """Starts what a page tells to start, and connects to it."""
    port = address.rpartition(":")[2]
    [scheduler, *workers] = commands(page, port)
    assert scheduler[0] == "scheduler"
    assert {words[0] for words in workers} == {"worker"}
    running = [start(words) for words in (scheduler, *workers)]

    def up():
        with socket.socket() as wire:
            return wire.connect_ex(("127.0.0.1", int(port))) == 0

    wait_for(up)
    with Client(address, security=security, set_as_default=False) as client:
        client.wait_for_workers(len(workers), timeout=120)
        found = [listening(process) for process in running]
    assert all(found)
    assert {address for addresses in found for address, _ in addresses} == {"127.0.0.1"}


def test_a_cluster_listens_where_it_is_told(port, start):
    check("cluster.md", f"tcp://127.0.0.1:{port}", start, Security())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_cluster_under_tls_listens_where_it_is_told(port, start, tmp_path):
    for line in blocks("tls.md", "bash")[0].replace("rsa:4096", "rsa:2048").splitlines():
        subprocess.run(shlex.split(line), cwd=tmp_path, capture_output=True, check=True)
    text = blocks("tls.md", "yaml")[0].replace("FOLDER", str(tmp_path))
    (tmp_path / "tls.yaml").write_text(text)
    tls = yaml.safe_load(text)["distributed"]["comm"]["tls"]
    pem = {f"tls_client_{kind}": path for kind, path in tls["client"].items()}
    check("tls.md", f"tls://127.0.0.1:{port}", start, Security(tls_ca_file=tls["ca-file"], **pem))
    assert (tmp_path / "dask-scratch-space").is_dir()


@pytest.mark.parametrize("page", ["slurm.md", "lsf.md"])
def test_a_queue_is_told_the_same(page):
    text = "".join(blocks(page, "py"))
    jobs = text.count("Cluster(")
    assert text.count('"dashboard_address": "127.0.0.1:8787"') == jobs
    assert text.count('"--dashboard-address", "127.0.0.1:0"') == jobs
