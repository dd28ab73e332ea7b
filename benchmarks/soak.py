"""Check that memory stays constant while one process runs the whole catalogue for an hour, with more and more seeds.

Every experiment that the cpu engine supports, shortened to 1,000 iterations per run, goes into one store; each round
adds a few seeds. So all models, tasks and kernels take turns, and planning, storing and resuming happen as in a long
campaign. Another process reads the resident memory every few seconds.

    python benchmarks/soak.py [--minutes 60] [--write]

`--write` writes the table to `soak.md` and the figure to `soak.svg`, next to this file.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import machine
import numpy as np

from arithmos import bench
from arithmos.engines.cpu import CpuEngine
from arithmos.papers import EXPERIMENTS
from arithmos.store import Store

HERE = Path(__file__).parent
EVERY_S = 5.0
SEEDS_A_ROUND = 5
ITERATIONS = 1000

Sample = tuple[float, float, int, float]
"""Minutes, resident MB, runs stored, minutes of processor time."""


def campaign(store: Path, seconds: float) -> None:
    """Runs the catalogue, as far as the engine goes, with more and more seeds."""
    engine = CpuEngine(1)
    experiments = [e for e in EXPERIMENTS.values() if all(engine.refuses(spec) is None for spec in e.specs)]
    end, seeds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        seeds += SEEDS_A_ROUND
        bench.run(
            experiments,
            seeds=seeds,
            iterations=ITERATIONS,
            engine="cpu",
            threads=1,
            store=store,
            budget_s=end - time.monotonic(),
        )


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_minutes(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") / 60


def watch(folder: Path, minutes: float) -> list[Sample]:
    """Samples of a campaign in a process of its own."""
    command = [sys.executable, __file__, "--campaign", str(folder), "--minutes", str(minutes)]
    begun, samples = time.monotonic(), []
    store = Store(folder)
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            time.sleep(EVERY_S)
            if resident := resident_mb(process.pid):  # none of a process that has just ended
                at = (time.monotonic() - begun) / 60
                samples.append((at, resident, len(store), processor_minutes(process.pid)))
            if len(samples) % 12 == 1:
                print("{:.1f} min, {:.1f} MB, {} runs, {:.1f} min of work".format(*samples[-1]), flush=True)
    if process.returncode:
        raise SystemExit(f"the campaign ended with status {process.returncode}")
    return samples


def text(samples: list[Sample], folder: Path) -> str:
    at, mb, runs, work = (np.array(column) for column in zip(*samples, strict=True))
    summary = Store(folder).summary()
    warm = runs >= SEEDS_A_ROUND * summary.specs
    slope = np.polyfit(at[warm], mb[warm], 1)[0] * 60
    rows = []
    for begin in range(0, int(at[-1]), 10):
        inside = (at >= begin) & (at < begin + 10)
        rows.append([f"{begin}–{begin + 10}", f"{median(mb[inside]):.1f}", f"{mb[inside].max():.1f}", runs[inside][-1]])
    return "\n\n".join(
        [
            "# One hour of `run`",
            f"{machine.describe('numba', 'pyarrow', 'torch')} Made by `benchmarks/soak.py`, at low priority, with "
            "other work on the machine.",
            f"One process with the cpu engine and one thread made {summary.runs:,} runs of {ITERATIONS:,} iterations "
            f"of {summary.specs} specs, in {summary.files:,} files with {summary.bytes / 1e6:.0f} MB in total. It used "
            f"{work[-1]:.0f} minutes of processor time in {at[-1]:.0f} minutes. Its resident memory was sampled "
            f"{len(samples)} times.",
            machine.table(["minutes", "median MB", "highest MB", "runs stored"], rows),
            f"The first round, which ends in minute {at[warm][0]:.0f}, compiles the kernels. After that a line "
            f"through the samples rises by {slope:.1f} MB per hour, {100 * slope / median(mb[warm]):.1f} % of the "
            "memory in use.",
            "![Resident memory over time](soak.svg)",
        ]
    )


def draw(samples: list[Sample], path: Path) -> None:
    import altair as alt
    import pandas as pd

    from arithmos.report.charts.files import save
    from arithmos.report.charts.style import BLUE, GRAY, styled

    frame = pd.DataFrame(samples, columns=["minutes", "mb", "runs", "work"])
    base = alt.Chart(frame).encode(alt.X("minutes:Q", title="minutes"))
    memory = base.mark_line(color=BLUE, strokeWidth=1.5).encode(
        alt.Y("mb:Q", title="resident memory, MB", scale=alt.Scale(zero=True), axis=alt.Axis(titleColor=BLUE))
    )
    stored = base.mark_line(color=GRAY, strokeDash=[4, 3]).encode(
        alt.Y("runs:Q", title="runs stored", axis=alt.Axis(titleColor=GRAY, grid=False))
    )
    chart = alt.layer(memory, stored).resolve_scale(y="independent").properties(width=560, height=240)
    save(styled(chart), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="Duration.")
    parser.add_argument("--write", action="store_true", help="write soak.md and soak.svg")
    parser.add_argument("--campaign", type=Path, metavar="STORE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.campaign:
        campaign(options.campaign, 60 * options.minutes)
        return
    with tempfile.TemporaryDirectory() as folder:
        samples = watch(Path(folder), options.minutes)
        written = text(samples, Path(folder))
    print(written)
    if options.write:
        (HERE / "soak.md").write_text(written + "\n", encoding="utf-8")
        draw(samples, HERE / "soak.svg")


if __name__ == "__main__":
    main()
