"""MNIST, the handwritten digits of LeCun, Cortes and Burges: found on this machine, or fetched.

The files are known by the SHA-256 of what is in them, so it does not matter who packed them, or whether.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .._platform import cache_folder
from ._digits import Digits
from ._idx import read_idx

VARIABLE = "ARITHMOS_DATA"

MNIST_DIGEST = "0a171bd8ae48927ede6000b71abe62ba"
"""`digest` of the digits that `mnist` gives."""

MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
    "https://raw.githubusercontent.com/fgnt/mnist/master",
)


@dataclass(frozen=True)
class File:
    """One of the four files: its name, its dimensions, and its SHA-256 as mirrors have it and unpacked."""

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

Watch = Callable[[str, int, int], None]
"""Told the name of a file, how many bytes of it came, and how many it has."""


def mnist(root: str | os.PathLike[str] | None = None, *, verify: bool = True) -> Digits:
    """The digits of MNIST: 60,000 to train on, 10,000 to test on.

    Without a folder given, here or by the variable `ARITHMOS_DATA`, they come from the user's cache, and into that
    from a mirror.

    Args:
        root: folder of the four files under their usual names, each gzipped or not.
        verify: whether the files must be those of MNIST; without it any digits in the same form will do, and their
            `digest` tells them apart.

    Raises:
        FileNotFoundError: a file is missing, and could not be fetched; the message says what would help.
        BadFile: a file is damaged, or another one.
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


def fetch_mnist(root: str | os.PathLike[str] | None = None, *, watch: Watch | None = None) -> Path:
    """Fetch what is missing of MNIST, and say in which folder it is.

    Args:
        root: the folder; by default that of `ARITHMOS_DATA`, or else the user's cache.
        watch: told how each download goes.
    """
    folder = mnist_folder(root)
    found = _found(folder)
    for file in FILES.values():
        if file.name not in found:
            _download(file, folder, watch or (lambda name, done, total: None))
    return folder


def mnist_folder(root: str | os.PathLike[str] | None = None) -> Path:
    """Where the files are looked for: the argument, `ARITHMOS_DATA`, the user's cache."""
    return Path(root or os.environ.get(VARIABLE) or cache_folder() / "mnist")


def _found(folder: Path) -> dict[str, Path]:
    paths = ((name, folder / f"{name}{ending}") for name in NAMES for ending in (".gz", ""))
    return {name: path for name, path in paths if path.is_file()}


def _download(file: File, folder: Path, watch: Watch) -> None:
    name = f"{file.name}.gz"
    try:
        import pooch
        from requests import RequestException
    except ModuleNotFoundError as error:
        raise FileNotFoundError(
            f"there is no {name} in {folder}, and {error.name}, which would fetch it, is not installed; "
            f"install arithmos[mnist], or {_ways(folder)}"
        ) from error
    pooch.get_logger().setLevel("WARNING")  # it would say the same as the caller's bar
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
        except OSError as error:  # of the disk; pooch has removed what it had of the file
            raise OSError(error.errno, error.strerror, str(folder / name)) from error
    raise FileNotFoundError(f"no mirror gave {name} ({', '.join(failures)}); {_ways(folder)}")


def _ways(folder: Path) -> str:
    return (
        f"put {', '.join(NAMES)}, gzipped or not, into {folder} or into a folder named by {VARIABLE} or by root; "
        f"where there is a network, `arithmos data mnist` fetches them"
    )


def _reason(error: Exception) -> str:
    """In a word or two what requests tells in a paragraph."""
    if isinstance(error, ValueError):
        return "the SHA-256 is another"
    response = getattr(error, "response", None)
    return type(error).__name__ if response is None else f"status {response.status_code}"


class _Meter:
    """Counts what pooch downloads."""

    total = 0

    def __init__(self, told: Callable[[int, int], None]) -> None:
        self._told, self._done = told, 0

    def update(self, count: int) -> None:
        self._done = min(self._done + count, self.total)
        self._told(self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None: ...
