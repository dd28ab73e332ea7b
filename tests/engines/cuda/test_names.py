"""What the host and its kernels share is written in Python only."""

import ctypes
import re
import subprocess

from arithmos import philox
from arithmos.engines.cuda.compile import SOURCES
from arithmos.engines.cuda.names import FIELDS, Settings, declarations
from arithmos.tasks import OPERATIONS


def test_both_have_the_same_layout(tmp_path):
    """A compiler's offsets of the fields are those of ctypes."""
    names = [name.partition("[")[0] for _, name, _ in FIELDS]
    body = "".join(f'printf("%zu ", offsetof(Settings, {name}));' for name in names)
    vectors = "struct float2 { float x, y; }; struct float4 { float x, y, z, w; };"
    source = f"#include <cstddef>\n#include <cstdio>\n{vectors}\n{declarations()}\nint main() {{ {body} }}\n"
    (tmp_path / "a.cpp").write_text(source)
    subprocess.run(["g++", "-std=c++17", "-w", "a.cpp", "-o", "a"], cwd=tmp_path, check=True)
    offsets = subprocess.run(["./a"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    assert [int(offset) for offset in offsets] == [getattr(Settings, name).offset for name in names]
    assert ctypes.sizeof(Settings) % 8 == 0


def test_nothing_is_typed_twice():
    text = declarations()
    shared = {
        word for line in text.splitlines() if line.startswith("enum") for word in re.findall(r"[A-Z][A-Z_0-9]+", line)
    }
    shared |= set(re.findall(r"constexpr \w+ (\w+) =", text))
    assert {name.upper() for name in OPERATIONS} < shared
    for path in (path for path in SOURCES.iterdir() if path.suffix in (".cu", ".cuh")):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"^enum|^struct Settings", source, re.MULTILINE), path.name
        assert not shared & set(re.findall(r"constexpr \w+ (\w+) =", source)), path.name
        for word in (*philox.MULTIPLIERS, *philox.INCREMENTS, philox.RUN):
            assert not re.search(f"{word:x}|{word}", source, re.IGNORECASE), path.name
