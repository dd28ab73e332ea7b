"""The cache of compiled kernels: nothing damaged, nothing of other users, and no error where it cannot be written."""

import os
import subprocess
import sys

import pytest

from arithmos.engines import kernel_cache
from arithmos.engines.kernel_cache import digest, load, save

only_posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no owners in this sense")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    return tmp_path / "arithmos" / "kernels"


def test_an_entry_comes_back(folder):
    assert load("a") is None
    save("a", b"code")
    save("b", b"")
    assert (load("a"), load("b")) == (b"code", b"")
    save("a", b"other code")
    assert load("a") == b"other code"
    assert {path.name for path in folder.iterdir()} == {"a", "b"}


@pytest.mark.parametrize("damage", [lambda e: e[:-1], lambda e: e[:3], lambda e: b"", lambda e: e[:-1] + b"!"])
def test_a_damaged_entry_is_none_and_is_written_anew(folder, damage):
    save("a", b"code")
    (folder / "a").write_bytes(damage((folder / "a").read_bytes()))
    assert load("a") is None
    save("a", b"code")
    assert load("a") == b"code"


@only_posix
def test_only_the_user_can_read_it(folder):
    mask = os.umask(0)
    try:
        save("a", b"code")
    finally:
        os.umask(mask)
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "a")] == [0o700, 0o600]


@only_posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_to_is_not_used(folder, mode):
    save("a", b"code")
    folder.chmod(mode)
    assert load("a") is None
    save("b", b"code")
    assert not (folder / "b").exists()


@only_posix
def test_a_file_that_others_can_write_to_is_not_used(folder):
    save("a", b"code")
    (folder / "a").chmod(0o660)
    assert load("a") is None


@only_posix
def test_the_files_of_another_user_are_not_used(folder, monkeypatch):
    save("a", b"code")
    someone_else = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: someone_else)
    assert load("a") is None


def test_a_cache_that_cannot_be_written_is_no_error(folder, monkeypatch):
    folder.parent.parent.joinpath("file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent.parent / "file"))
    monkeypatch.setenv("LOCALAPPDATA", str(folder.parent.parent / "file"))
    save("a", b"code")
    assert load("a") is None


def test_a_read_only_folder_is_no_error(folder, monkeypatch):
    save("a", b"code")
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):  # the superuser may write anywhere

        def refused(*arguments, **options):
            raise PermissionError

        monkeypatch.setattr(kernel_cache, "write_whole", refused)
    try:
        save("b", b"code")
        assert (load("a"), load("b")) == (b"code", None)
    finally:
        folder.chmod(0o700)


def test_the_oldest_entries_are_removed(folder, monkeypatch):
    monkeypatch.setattr(kernel_cache, "MOST", 3)
    for age, name in enumerate("abcde"):
        save(name, b"code")
        if (folder / name).exists():
            os.utime(folder / name, (age, age))
    assert [name for name in "abcde" if load(name)] == ["c", "d", "e"]


def test_two_processes_at_once_leave_whole_entries():
    """Every entry that is read while another process writes it is one of those written, or none."""
    code = "from arithmos.engines.kernel_cache import save\nfor k in range(300): save('a', bytes([k % 250]) * 100_000)"
    with subprocess.Popen([sys.executable, "-c", code]) as other:
        seen = set()
        while other.poll() is None:
            save("a", bytes([251]) * 100_000)
            if contents := load("a"):
                assert contents == contents[:1] * 100_000
                seen.add(contents[0])
    assert other.returncode == 0
    assert len(seen) > 1


def test_names_depend_on_every_part():
    assert len({digest("a", "b"), digest("ab"), digest("a", "c"), digest("b", "a")}) == 4
