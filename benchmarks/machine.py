"""What a table of measurements says about where and when it was made, and how it is written."""

import datetime
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def describe(*packages: str) -> str:
    """The kind of machine, the versions of some packages, and the date."""
    versions = "".join(f", {name} {version(name)}" for name in packages)
    system = f"{platform.system()}, Python {platform.python_version()}{versions}"
    return f"{processor()}, {len(os.sched_getaffinity(0))} cores; {system}; {datetime.date.today()}."


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
