"""MNIST, the handwritten digits of LeCun, Cortes and Burges: found on this machine, or downloaded.

The files are identified by the SHA-256 of their unpacked contents, so any packing will do.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .._extras import advice
from .._platform import cache_folder
from ._digits import Digits
from ._idx import read_idx

VARIABLE = "ARITHMOS_DATA"

MNIST_DIGEST = "0a171bd8ae48927ede6000b71abe62ba"
"""`digest` of the digits that `mnist` returns."""

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
    "https://raw.githubusercontent.com/fgnt/mnist/master",
)


@dataclass(frozen=True)
class File:
    """One of the four files: its name, dimensions, and SHA-256 on the mirrors and unpacked."""

    name: str
    dimensions: int
    gzipped: str
    unpacked: str


FILES = {
    "train_images": File(
        "train-images-idx3-ubyte",
        3,
        gzipped="440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        unpacked="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    "train_labels": File(
        "train-labels-idx1-ubyte",
        1,
        gzipped="3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        unpacked="65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    "test_images": File(
        "t10k-images-idx3-ubyte",
        3,
        gzipped="8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        unpacked="0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    "test_labels": File(
        "t10k-labels-idx1-ubyte",
        1,
        gzipped="f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        unpacked="ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
}

NAMES = [file.name for file in FILES.values()]

DownloadWatch = Callable[[str, int, int], None]
"""Callback that receives a file's name, the bytes downloaded so far and its size."""


def mnist(root: str | os.PathLike[str] | None = None, *, verify: bool = True) -> Digits:
    """Return the digits of MNIST: 60,000 for training, 10,000 for testing.

    If neither `root` nor the variable `ARITHMOS_DATA` names a folder, they come from the user's cache, which is filled
    from a mirror.

    Args:
        root: folder with the four files under their usual names, each gzipped or not.
        verify: whether the files must be those of MNIST; otherwise any digits in the same format will do, and their
            `digest` tells them apart.

    Raises:
        FileNotFoundError: a file is missing and could not be downloaded; the message says what to do.
        BadFile: a file is damaged or is not the expected one.
    """
    given = root is not None or bool(os.environ.get(VARIABLE))
    folder = mnist_folder(root) if given else fetch_mnist()
    found = _found(folder)
    if absent := [name for name in NAMES if name not in found]:
        raise FileNotFoundError(f"there is no {' and no '.join(absent)} in {folder}, gzipped or not; {_ways(folder)}")
    return Digits(
        **{
            field: read_idx(found[file.name], file.dimensions, sha256=file.unpacked if verify else None)
            for field, file in FILES.items()
        }
    )


def fetch_mnist(root: str | os.PathLike[str] | None = None, *, watch: DownloadWatch | None = None) -> Path:
    """Download the missing files of MNIST and return their folder.

    Args:
        root: the folder; by default that of `ARITHMOS_DATA`, or the user's cache.
        watch: callback for the progress of each download.
    """
    folder = mnist_folder(root)
    found = _found(folder)
    for file in FILES.values():
        if file.name not in found:
            _download(file, folder, watch or (lambda name, done, total: None))
    return folder


def mnist_folder(root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the files: the argument, `ARITHMOS_DATA` or the user's cache."""
    return Path(root or os.environ.get(VARIABLE) or cache_folder() / "mnist")


def _found(folder: Path) -> dict[str, Path]:
    paths = ((name, folder / f"{name}{ending}") for name in NAMES for ending in (".gz", ""))
    return {name: path for name, path in paths if path.is_file()}


def _download(file: File, folder: Path, watch: DownloadWatch) -> None:
    name = f"{file.name}.gz"
    try:
        import pooch
        from requests import RequestException
    except ModuleNotFoundError as error:
        raise FileNotFoundError(
            f"there is no {name} in {folder}, and {error.name}, which would fetch it, is not installed; "
            f"{advice('mnist')}, or {_ways(folder)}"
        ) from error
    pooch.get_logger().setLevel("WARNING")  # it would repeat the caller's bar
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    for mirror in MIRRORS:
        meter = _Meter(lambda done, total: watch(name, done, total))
        downloader = pooch.HTTPDownloader(progressbar=meter, chunk_size=2**16, timeout=(10, 30))
        try:
            pooch.retrieve(f"{mirror}/{name}", f"sha256:{file.gzipped}", name, folder, downloader=downloader)
            return
        except (RequestException, ValueError) as error:
            failures.append(f"{urlsplit(mirror).netloc}: {_reason(error)}")
        except OSError as error:  # of the disk; pooch has removed the partial file
            raise OSError(error.errno, error.strerror, str(folder / name)) from error
    raise FileNotFoundError(f"no mirror gave {name} ({', '.join(failures)}); {_ways(folder)}")


def _ways(folder: Path) -> str:
    return (
        f"put {', '.join(NAMES)}, gzipped or not, into {folder} or into a folder named by {VARIABLE} or by root; "
        f"with a network connection, `arithmos data mnist` fetches them"
    )


def _reason(error: Exception) -> str:
    """Return in a word or two what requests says in a paragraph."""
    if isinstance(error, ValueError):
        return "the SHA-256 differs"
    response = getattr(error, "response", None)
    return type(error).__name__ if response is None else f"status {response.status_code}"


class _Meter:
    """Progress bar for pooch that counts bytes."""

    total = 0

    def __init__(self, told: Callable[[int, int], None]) -> None:
        self._told, self._done = told, 0

    def update(self, count: int) -> None:
        self._done = min(self._done + count, self.total)
        self._told(self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None: ...
