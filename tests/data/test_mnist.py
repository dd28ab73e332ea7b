import dataclasses
import errno
import gzip
import hashlib
import os
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pooch
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal
from tests.digits import idx, make_digits, write_digits

from arithmos.cli import main
from arithmos.data import MNIST_DIGEST, BadFile, _mnist, fetch_mnist, mnist

DIGITS = make_digits(train=20, test=10)
REAL = os.environ.get("ARITHMOS_DATA")
NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens


@pytest.fixture(autouse=True)
def tiny(tmp_path, monkeypatch):
    """MNIST is twenty digits and ten, the cache is empty, and there is no network."""
    for field, file in _mnist.FILES.items():
        data = idx(getattr(DIGITS, field))
        hashes = {
            "unpacked": hashlib.sha256(data).hexdigest(),
            "gzipped": hashlib.sha256(gzip.compress(data, mtime=0)).hexdigest(),
        }
        monkeypatch.setitem(_mnist.FILES, field, dataclasses.replace(file, **hashes))
    monkeypatch.setattr(_mnist, "MIRRORS", (NOWHERE,))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("ARITHMOS_DATA", raising=False)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        self.server.asked.append(self.path)


@pytest.fixture
def mirror(tmp_path):
    """A mirror of the tiny digits on this machine: its folder and its address."""
    folder = write_digits(tmp_path / "mirror", DIGITS)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.url = f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()
        thread.join()


def is_tiny(digits):
    return digits.digest == DIGITS.digest


@pytest.mark.parametrize("zipped", [True, False])
def test_reads_a_folder_of_gzipped_or_plain_files(tmp_path, zipped):
    read = mnist(write_digits(tmp_path / "digits", DIGITS, zipped=zipped))
    assert is_tiny(read)
    assert_array_equal(read.train_images, DIGITS.train_images, strict=True)


def test_reads_any_mix(tmp_path):
    folder = write_digits(tmp_path, DIGITS)
    packed = folder / "t10k-labels-idx1-ubyte.gz"
    (folder / "t10k-labels-idx1-ubyte").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    assert is_tiny(mnist(folder))


def test_the_argument_goes_before_the_variable_and_the_variable_before_the_cache(tmp_path, monkeypatch):
    write_digits(tmp_path / "cache" / "arithmos" / "mnist", DIGITS)
    assert is_tiny(mnist())
    monkeypatch.setenv("ARITHMOS_DATA", str(tmp_path / "variable"))
    with pytest.raises(FileNotFoundError, match="variable"):
        mnist()
    write_digits(tmp_path / "variable", DIGITS)
    assert is_tiny(mnist())
    with pytest.raises(FileNotFoundError, match="argument"):
        mnist(tmp_path / "argument")


def test_a_missing_file_is_named_and_what_would_help(tmp_path):
    folder = write_digits(tmp_path, DIGITS)
    (folder / "train-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError) as raised:
        mnist(folder)
    message = str(raised.value)
    assert message.startswith(f"there is no train-labels-idx1-ubyte in {folder}, gzipped or not; put train-images")
    for way in ("ARITHMOS_DATA", "root", "`arithmos data mnist`"):
        assert way in message


def test_damage_is_found_and_the_file_named(tmp_path):
    folder = write_digits(tmp_path, DIGITS, zipped=False)
    path = folder / "t10k-images-idx3-ubyte"
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + b"\xff")
    with pytest.raises(BadFile, match=f"{path.name} is not the expected file: its SHA-256"):
        mnist(folder)
    assert mnist(folder, verify=False).test_images[-1, -1, -1] == 255
    path.write_bytes(sound[:-1])
    with pytest.raises(BadFile, match=f"{path.name} is truncated"):
        mnist(folder, verify=False)


def test_digits_of_ones_own(tmp_path):
    own = make_digits(train=3, test=2, seed=1)
    folder = write_digits(tmp_path, own)
    with pytest.raises(BadFile, match=r"train-images-idx3-ubyte\.gz is not the expected file"):
        mnist(folder)
    assert mnist(folder, verify=False).digest == own.digest


def test_fetches_into_the_cache_once(tmp_path, monkeypatch, mirror):
    monkeypatch.setattr(_mnist, "MIRRORS", (mirror.url,))
    assert is_tiny(mnist())
    assert sorted(mirror.asked) == [f"/{name}.gz" for name in sorted(_mnist.NAMES)]
    assert sorted(path.name for path in (tmp_path / "cache" / "arithmos" / "mnist").iterdir()) == [
        f"{name}.gz" for name in sorted(_mnist.NAMES)
    ]
    assert is_tiny(mnist())
    assert len(mirror.asked) == 4


def test_fetches_only_what_is_missing(tmp_path, monkeypatch, mirror):
    monkeypatch.setattr(_mnist, "MIRRORS", (mirror.url,))
    folder = write_digits(tmp_path / "digits", DIGITS, zipped=False)
    (folder / "t10k-labels-idx1-ubyte").unlink()
    counts = []
    assert fetch_mnist(folder, watch=lambda *count: counts.append(count)) == folder
    size = (folder / "t10k-labels-idx1-ubyte.gz").stat().st_size
    assert mirror.asked == ["/t10k-labels-idx1-ubyte.gz"]
    assert counts[-1] == ("t10k-labels-idx1-ubyte.gz", size, size)


def test_goes_on_to_the_next_mirror(tmp_path, monkeypatch, mirror):
    wrong = mirror.url + "/wrong"
    write_digits(Path(tmp_path / "mirror" / "wrong"), make_digits(seed=2))
    monkeypatch.setattr(_mnist, "MIRRORS", (NOWHERE, f"{mirror.url}/none", wrong, mirror.url))
    assert is_tiny(mnist())


def test_without_a_mirror_the_error_lists_what_would_help(tmp_path, monkeypatch, mirror):
    write_digits(tmp_path / "mirror" / "wrong", make_digits(seed=2))
    monkeypatch.setattr(_mnist, "MIRRORS", (NOWHERE, f"{mirror.url}/none", f"{mirror.url}/wrong"))
    with pytest.raises(FileNotFoundError) as raised:
        mnist()
    message = str(raised.value)
    place = mirror.url.removeprefix("http://")
    assert message.startswith(
        "no mirror gave train-images-idx3-ubyte.gz "
        f"(127.0.0.1:9: ConnectionError, {place}: status 404, {place}: the SHA-256 differs); put train-images"
    )
    for way in (str(tmp_path / "cache" / "arithmos" / "mnist"), "ARITHMOS_DATA", "`arithmos data mnist`"):
        assert way in message
    assert not list((tmp_path / "cache").rglob("*-ubyte*"))


def test_without_pooch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r"pooch, which would fetch it, is not installed; .*\[mnist\]"):
        mnist()


def command(*arguments):
    return CliRunner().invoke(main, ["data", "mnist", *map(str, arguments)], catch_exceptions=False)


def test_command(tmp_path, monkeypatch, mirror):
    monkeypatch.setattr(_mnist, "MIRRORS", (mirror.url,))
    done = command()
    assert done.exit_code == 0, done.output
    folder = tmp_path / "cache" / "arithmos" / "mnist"
    assert done.stdout == f"Verified 20 training digits and 10 test digits in {folder}.\n"
    assert done.stderr.count("fetching ") == 4
    assert command("--root", folder).stderr == ""


def test_command_that_fails_says_so_in_a_line(tmp_path):
    done = command("--root", tmp_path / "new")
    assert done.exit_code == 1
    assert done.stderr.startswith("arithmos: no mirror gave train-images-idx3-ubyte.gz (127.0.0.1:9: ConnectionError)")
    (write_digits(tmp_path, DIGITS) / "t10k-labels-idx1-ubyte.gz").write_bytes(b"")
    done = command("--root", tmp_path)
    assert done.exit_code == 1
    assert "t10k-labels-idx1-ubyte.gz is truncated" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_full_disk_leaves_nothing_and_the_file_is_named(tmp_path, monkeypatch, mirror):
    monkeypatch.setattr(_mnist, "MIRRORS", (mirror.url,))

    def fail(self, url, output, pooch):
        Path(output).write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", fail)
    done = command("--root", tmp_path / "new")
    name = tmp_path / "new" / "train-images-idx3-ubyte.gz"
    assert (done.exit_code, done.stderr) == (1, f"arithmos: No space left on device: {name}\n")
    assert os.listdir(tmp_path / "new") == []


@pytest.mark.skipif(not REAL, reason="ARITHMOS_DATA does not say where MNIST is")
def test_the_digits_themselves(monkeypatch):
    monkeypatch.undo()
    digits = mnist(REAL)
    assert digits.digest == MNIST_DIGEST
    assert digits.train_images.shape == (60_000, 28, 28)
    assert digits.test_images.shape == (10_000, 28, 28)
    first = [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert digits.train_labels[:10].tolist() == first
    counts = np.bincount(digits.train_labels[:55_000])
    assert counts[1:].sum() == 49_566
    assert (digits.train_labels[55_000:] > 0).sum() == 4511
    assert (digits.test_labels > 0).sum() == 9020
