"""macOS and Windows, simulated: their functions are taken away, or fail, or wait, as they do there."""

import ast
import errno
import os
import platform
import re
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from tests.factories import make_run, make_runs

from arithmos import _platform
from arithmos._files import write_whole
from arithmos.bench._run import interruptible
from arithmos.cli import main
from arithmos.judging.thin import thin
from arithmos.store import Store

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "arithmos"
IN_USE = [5, 32]


def reloaded() -> SimpleNamespace:
    """The module, run anew on the system that is simulated now."""
    return SimpleNamespace(**runpy.run_path(_platform.__file__))


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """No affinity, no folder can be opened, and none of the modules and signals that Windows lacks."""
    opened = os.open

    def open_file(path: Any, *rest: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *rest)

    monkeypatch.setattr(_platform, "WINDOWS", True)
    monkeypatch.setattr(_platform, "fcntl", None)
    monkeypatch.setattr(os, "open", open_file)
    for name in ("sched_getaffinity", "fork", "sysconf", "geteuid", "O_DIRECTORY"):
        monkeypatch.delattr(os, name)
    for name in ("SIGHUP", "SIGPIPE", "SIGKILL", "SIGALRM"):
        monkeypatch.delattr(signal, name)


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_platform, "MACOS", True)
    monkeypatch.delattr(os, "sched_getaffinity")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr(_platform.time, "sleep", waited.append)
    return waited


@pytest.fixture
def in_use(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Makes a function of `os` fail a few times as on Windows, where another process has the file open."""

    def failing(name: str, times: int, winerrors: list[int] = IN_USE) -> None:
        real, left = getattr(os, name), [times]

        def call(*paths: Any) -> None:
            if left[0]:
                left[0] -= 1
                error = PermissionError(errno.EACCES, "The process cannot access the file", str(paths[0]))
                error.winerror = winerrors[left[0] % len(winerrors)]
                raise error
            real(*paths)

        monkeypatch.setattr(os, name, call)

    return failing


@pytest.mark.parametrize("system", ["macos", "windows"])
@pytest.mark.parametrize("command", [["list"], ["run", "table-1", "--dry-run"]], ids=["list", "dry-run"])
def test_commands_that_count_cores(system: str, command: list[str], request, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    request.getfixturevalue(system)
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    assert done.exit_code == 0
    assert re.search("table-1|300 of 300 runs", done.stdout)


@pytest.mark.usefixtures("windows")
def test_a_store_on_windows(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("runs", "others"):
        for run in make_runs(3):
            with Store(name).writer() as writer:
                writer.add(run)
    for command in (["merge", "others"], ["pack"], ["check"], ["thin", "--into", "small"]):
        done = CliRunner().invoke(main, ["store", *command], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert (len(Store("runs")), Store("runs").summary().files, len(Store("small"))) == (3, 1, 3)


def test_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    assert _platform.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert _platform.cores() == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _platform.cores() == 1


def test_a_new_file_is_binary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "O_BINARY", 1 << 15, raising=False)
    assert reloaded().CREATE & (1 << 15)
    monkeypatch.delattr(os, "O_BINARY")
    assert reloaded().CREATE == os.O_WRONLY | os.O_CREAT | os.O_EXCL


@pytest.mark.usefixtures("windows")
def test_a_folder_that_cannot_be_opened_is_not_synced_on_windows_only(tmp_path: Path, monkeypatch) -> None:
    write_whole(tmp_path / "file", "new")
    assert (tmp_path / "file").read_bytes() == b"new"
    monkeypatch.setattr(_platform, "WINDOWS", False)
    with pytest.raises(PermissionError, match="file"):
        write_whole(tmp_path / "file", "newer")


@pytest.mark.parametrize("times", [1, 4, 7])
def test_a_file_in_use_is_tried_again(tmp_path: Path, in_use, pauses: list[float], times: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    in_use("replace", times)
    write_whole(path, "new")
    in_use("unlink", times)
    assert path.read_text() == "new"
    _platform.remove(path)
    assert os.listdir(tmp_path) == []
    assert len(pauses) == 2 * times


def test_but_not_for_ever(tmp_path: Path, in_use, pauses: list[float]) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    in_use("replace", 1000)
    with pytest.raises(PermissionError) as raised:
        write_whole(path, "new")
    assert raised.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]
    assert 1 < sum(pauses) < 2
    in_use("unlink", 1000)
    with pytest.raises(PermissionError):
        _platform.remove(path)


@pytest.mark.parametrize("winerror", [None, 19])  # a read-only disk, say
def test_other_errors_are_raised_at_once(tmp_path: Path, in_use, pauses: list[float], winerror: int | None) -> None:
    in_use("replace", 1, [winerror])
    with pytest.raises(PermissionError):
        write_whole(tmp_path / "file", "new")
    assert pauses == []


def test_a_store_is_packed_while_others_read_it(tmp_path: Path, in_use, pauses: list[float]) -> None:
    store = Store(tmp_path)
    for run in make_runs(3):
        store.append([run])
    in_use("unlink", 3)
    store.pack()
    assert (len(store), store.summary().files, len(pauses)) == (3, 1, 3)


def test_a_file_is_flushed_through_the_drives_cache_on_macos(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    met: list[Any] = []

    def control(descriptor: int, command: int) -> None:
        met.append(command)
        if len(met) > 1:
            raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(_platform, "fcntl", SimpleNamespace(F_FULLFSYNC=51, fcntl=control))
    monkeypatch.setattr(_platform.os, "fsync", lambda descriptor: met.append("fsync"))
    _platform.flush(0)
    assert met == [51]
    _platform.flush(0)  # a network disk has no such call
    assert met == [51, 51, "fsync"]


def test_without_fcntl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    there = reloaded()
    assert there.fcntl is None
    with (tmp_path / "file").open("wb") as file:
        there.flush(file.fileno())


def test_signals_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reloaded().STOP_SIGNALS == (signal.SIGINT, signal.SIGTERM)
    monkeypatch.delattr(signal, "SIGTERM")
    assert reloaded().STOP_SIGNALS == (signal.SIGINT,)
    monkeypatch.setattr(signal, "SIGBREAK", signal.SIGUSR1, raising=False)
    assert reloaded().STOP_SIGNALS == (signal.SIGINT, signal.SIGUSR1)
    monkeypatch.setattr("arithmos.bench._run.STOP_SIGNALS", reloaded().STOP_SIGNALS)
    with interruptible() as stopped:
        assert not stopped()
        signal.raise_signal(signal.SIGUSR1)
        assert stopped()


def test_the_processors_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_platform.Path, "exists", lambda path: False)
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert _platform.processor() == "arm64"
    monkeypatch.setattr(_platform, "MACOS", True)
    answer = SimpleNamespace(stdout="Apple M4 Pro\n")
    monkeypatch.setattr(subprocess, "run", lambda command, **options: answer)
    assert _platform.processor() == "Apple M4 Pro"
    answer.stdout = ""
    assert _platform.processor() == "arm64"


def test_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "Local"))
    assert _platform.cache_folder() == tmp_path / "cache" / "arithmos"
    monkeypatch.setattr(_platform, "WINDOWS", True)
    assert _platform.cache_folder() == tmp_path / "Local" / "arithmos"


def test_a_store_is_not_thinned_into_itself_under_another_case(tmp_path: Path, monkeypatch) -> None:
    assert _platform.same(tmp_path / "nowhere", tmp_path / "a" / ".." / "nowhere")
    store, twin = Store(tmp_path / "runs"), Store(tmp_path / "Runs")
    store.append([make_run()])
    twin.append([make_run()])  # a disk that ignores case has one folder here
    monkeypatch.setattr(os.path, "samefile", lambda one, other: str(one).casefold() == str(other).casefold())
    with pytest.raises(ValueError, match="into must be another store"):
        thin(store, twin)


ABSENT = {
    "modules": {"fcntl", "grp", "msvcrt", "multiprocessing", "pwd", "resource", "termios", "tty", "winreg"},
    "os": {"fork", "forkpty", "getuid", "geteuid", "getpgid", "killpg", "link", "mkfifo", "nice", "sched_getaffinity"}
    | {"setsid", "statvfs", "symlink", "sysconf", "uname", "wait", "waitpid", "fsync", "replace", "rename", "unlink"},
    "signal": {"SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGTERM", "SIGUSR1", "alarm", "setitimer"},
    "select": {"epoll", "kqueue", "poll"},
    "sys": {"executable", "platform"},
}
"""What some system lacks, or has otherwise, or starts a process."""


def _used(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in ABSENT["modules"]}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {alias.name for alias in node.names} & ABSENT.get(str(node.module), set())
            found |= names | ({str(node.module)} & ABSENT["modules"])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found |= {f"{node.value.id}.{name}" for name in {node.attr} & ABSENT.get(node.value.id, set())}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/proc"):
            found.add(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            text = node.func.attr in ("read_text", "write_text")
            if text and not any(keyword.arg == "encoding" for keyword in node.keywords):
                found.add(f"{node.func.attr} without an encoding")
    return found


def test_one_module_knows_the_systems() -> None:
    files = {path.relative_to(SOURCE).as_posix(): _used(path) for path in sorted(SOURCE.rglob("*.py"))}
    assert "fcntl" in files.pop("_platform.py")
    assert files.pop("_files.py") == {"os.unlink"}  # of a file that nobody else knows of
    assert {name: used for name, used in files.items() if used} == {}


def test_every_file_can_be_there_on_every_disk() -> None:
    """Names that Windows refuses, and names that are one on a disk that ignores case."""
    kept = [ROOT / name for name in ("src", "tests", "docs", "examples", "benchmarks", "results", "tools")]
    names = [path.relative_to(ROOT) for folder in kept for path in folder.rglob("*") if "__pycache__" not in path.parts]
    assert len({str(name).casefold() for name in names}) == len(names)
    refused = re.compile(r'[<>:"|?*\\]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
    assert [str(name) for name in names if any(refused.search(part) for part in name.parts)] == []
