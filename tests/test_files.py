"""Whatever a user asks us to write is there whole or not at all."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import altair as alt
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.factories import make_run, make_spec
from tests.faults import Disk

from arithmos._files import check_place, write_whole
from arithmos.cli import main
from arithmos.export import save as export
from arithmos.nn import NAU
from arithmos.regression import from_csv
from arithmos.report.charts.files import SUFFIXES, save
from arithmos.report.page import fit, html
from arithmos.store import Store

OLD = b"what was there before"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes half of what is written, and is full."""
    write = os.write

    def fail(descriptor: int, data: bytes) -> int:
        write(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", fail)


def test_a_fault_at_any_point_leaves_the_old_file_or_the_new(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "file"
    for error in (disk.error, KeyboardInterrupt()):
        disk.error = error
        for point in disk.points(lambda: write_whole(path, b"new" * 1000)):
            path.write_bytes(OLD)
            disk.failing(point)
            with pytest.raises(type(error)) as raised:
                write_whole(path, b"new" * 1000)
            disk.well()
            moved = point > 4  # open, write, fsync, close and replace; then the folder is flushed
            assert path.read_bytes() == (b"new" * 1000 if moved else OLD)
            assert os.listdir(tmp_path) == ["file"]
            assert isinstance(raised.value, KeyboardInterrupt) or raised.value.filename == str(path)
    assert disk.met[:5] == ["open", "write", "fsync", "close", "replace"]


def test_a_link_is_followed_and_permissions_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(OLD)
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, "new")
    assert (link.is_symlink(), path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (True, b"new", 0o640)


def test_what_is_no_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "new")
        assert os.read(reader, 100) == b"new"
    finally:
        os.close(reader)
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write_whole(tmp_path, "new")
    with pytest.raises(FileNotFoundError, match="nowhere/file"):
        write_whole(tmp_path / "nowhere" / "file", "new")
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_character_without_a_code_becomes_its_number(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", os.fsdecode(b"part-\xff") + " é")
    assert (tmp_path / "file").read_bytes() == b"part-\\udcff \xc3\xa9"


CHART = alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_point().encode(x="x:Q")
ENDINGS = (".safetensors", ".pt2", ".onnx", ".py", ".c")


@pytest.mark.usefixtures("full", "shapes_unchecked")
@pytest.mark.parametrize(
    ("name", "writer"),
    [(f"figure{suffix}", lambda path: save(CHART, path)) for suffix in SUFFIXES]
    + [(f"network{ending}", lambda path: export(NAU(2, 1), path)) for ending in ENDINGS]
    + [("report.html", html.write)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_writer(tmp_path: Path, monkeypatch, name: str, writer: Callable[[Path], object]) -> None:
    monkeypatch.setattr(html, "page", lambda store, paper, *, criterion: "<!doctype html>")
    path = tmp_path / name
    path.write_bytes(OLD)
    with pytest.raises(OSError, match=rf"No space left on device.*{name}"):
        writer(path)
    assert path.read_bytes() == OLD
    assert os.listdir(tmp_path) == [name]


class Found:
    """A fit that was not made."""

    table = SimpleNamespace(remarks=())

    def __str__(self) -> str:
        return "y = a*b"


def test_a_formula_is_told_even_if_it_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the page goes away while the formula is looked for."""
    (folder := tmp_path / "gone").mkdir()

    def find(*file: object, **options: object) -> Found:
        folder.rmdir()
        return Found()

    monkeypatch.setattr(from_csv, "fit_csv", find)
    monkeypatch.setattr(fit, "draw", lambda found: CHART)
    done = CliRunner().invoke(main, ["fit", "data.csv", "--target", "y", "-o", str(folder / "fit.json")])
    assert (done.exit_code, done.stdout) == (1, "y = a*b\n\n")
    assert done.stderr == f"arithmos: No such file or directory: {folder / 'fit.json'}\n"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("loss-surface.json", ["figure", "loss-surface", "--format", "json"]),
        ("report.html", ["report"]),
        ("network.c", ["export", make_spec().id, "0", "--to", "network.c"]),
        ("data-fit.html", ["fit", "data.csv", "--target", "y"]),
    ],
    ids=["figure", "report", "export", "fit"],
)
def test_every_command_says_in_a_line_which_file(tmp_path: Path, request, monkeypatch, name, command) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(html, "page", lambda store, paper, *, criterion: "<!doctype html>")
    monkeypatch.setattr(from_csv, "fit_csv", lambda *file, **options: Found())
    monkeypatch.setattr(fit, "page_of", lambda found, data: "<!doctype html>")
    Store("runs").append([make_run()])
    Path(name).write_bytes(OLD)
    before = sorted(os.listdir())
    request.getfixturevalue("full")
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    assert (done.exit_code, done.stderr) == (1, f"arithmos: No space left on device: {name}\n")
    assert Path(name).read_bytes() == OLD
    assert sorted(os.listdir()) == before


DESTINATIONS = [
    ("report", "-o"),
    ("figure", "table-1", "-o"),
    ("fit", "data.csv", "--target", "y", "-o"),
    ("fit", "data.csv", "--target", "y", "--export"),
    ("export", "0" * 16, "1", "--to"),
]


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("command", DESTINATIONS, ids=lambda command: f"{command[0]} {command[-1]}")
def test_the_place_of_a_file_is_looked_at_before_the_work(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    for owner, name in ((Store, "__init__"), (from_csv, "fit_csv")):
        monkeypatch.setattr(owner, name, work)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    suffix = ".py" if command[-1] in ("--export", "--to") else ".svg"
    (tmp_path / f"folder{suffix}").mkdir()
    for path, why in (("missing/a", errno.ENOENT), ("file/a", errno.ENOTDIR), ("folder", errno.EISDIR)):
        place = f"{path}{suffix}"
        done = CliRunner().invoke(main, [*command, place])
        hint = f". See 'arithmos {command[0]} --help'." if why == errno.ENOENT else ""
        assert done.exit_code == (2 if hint else 1), done.output
        assert done.stderr == f"arithmos: {os.strerror(why)}: {place}{hint}\n"


def test_the_default_page_of_a_fit_needs_a_folder_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data-fit.html").mkdir()
    done = CliRunner().invoke(main, ["fit", "data.csv", "--target", "y"])
    assert (done.exit_code, done.stderr) == (1, f"arithmos: {os.strerror(errno.EISDIR)}: data-fit.html\n")


def test_a_pipe_is_a_place(tmp_path: Path) -> None:
    check_place(tmp_path / "new.html")
    check_place(os.devnull)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        check_place(tmp_path / "pipe")
