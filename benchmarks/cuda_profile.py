"""Measure where the time of the cuda engine goes: kernels under Nsight Compute, by kind of instruction and stall.

    python benchmarks/cuda_profile.py [--out FOLDER] [--only NAME ...]

Needs a GPU and `ncu`. A kernel trains as many runs as fit on the GPU for 200 iterations without a record. All counts
are warp instructions per iteration of one run; *samples* are the shares of the warps' time that the profiler found at
instructions of a kind, waiting or not, and *waits* what they waited for most. The profiler takes counters in several
passes, so the times of day are those of `cuda_engine.py`.
"""

import argparse
import csv
import dataclasses
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("default, with evaluation", "NALU", "gated", "300 inputs", "32 hidden units", "10 inputs")
ITERATIONS, WARM = 200, 300
KINDS = {
    "products of the generator": r"IMAD\.WIDE",
    "other integers and logic": r"LOP3|LEA|I?ADD3|VIADD|IMAD|SHF|SEL|ISETP|PRMT|MOV|CS2R",
    "float arithmetic": r"FFMA|FADD|FMUL",
    "float comparisons": r"FSEL|FSETP|FMNMX",
    "special functions and conversions": r"MUFU|I2F|F2F|F2I",
    "shared memory": r"LDS|STS",
    "shuffles": r"SHFL",
    "barriers and branches": r"BAR|BRA|BSSY|BSYNC|WARPSYNC|LDC|CALL|RET",
    "the rest": r"",
}
WAITS = {
    "wait": "a fixed latency", "dispatch": "the dispatch unit", "math": "a busy pipe", "short_sb": "shared memory",
    "not_selected": "other warps", "barrier": "a barrier", "mio": "the memory queue", "long_sb": "global memory",
    "branch_resolving": "a branch", "no_inst": "instructions",
}  # fmt: skip


def train(name: str) -> None:
    """Launch a kernel three times; the third is profiled."""
    import cuda_engine

    spec = dataclasses.replace(cuda_engine.targets()[name][0], iterations=10**8, evaluate_every=10**6)
    bench = cuda_engine.Bench(cuda_engine.Gpu())
    bench.compile([spec])
    group, kernel = bench.runs(spec, waves=1)
    for iterations in (WARM, ITERATIONS):
        group.launch(iterations)
        group.wait()
    print(f"runs {len(group.seeds)} resident {kernel.resident}", flush=True)


def profiled(name: str, folder: Path) -> tuple[int, list[dict[str, str]], dict[str, float]]:
    """Return the number of runs, the instructions with their counts and samples, and metrics of the kernel."""
    report = folder / "report.ncu-rep"
    sections = ("SpeedOfLight", "WarpStateStats", "SourceCounters", "SchedulerStats")
    command = ["ncu", "--clock-control", "none", "--force-overwrite", *(f"--section={one}" for one in sections)]
    command += ["--kernel-name", "train", "--launch-skip", "2", "--launch-count", "1", "-o", str(report)]
    command += [sys.executable, __file__, "--train", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    runs = int(re.search(r"runs (\d+)", done.stdout)[1])

    def page(kind: str) -> list[list[str]]:
        shown = subprocess.run(
            ["ncu", "-i", str(report), "--page", kind, "--csv"], capture_output=True, text=True, check=True
        )
        return [row for row in csv.reader(shown.stdout.splitlines()) if row]

    source = page("source")
    start = next(k for k, row in enumerate(source) if row[0] == "Address")
    lines = [
        dict(zip(source[start], row, strict=True)) for row in source[start + 1 :] if len(row) == len(source[start])
    ]
    details = page("details")
    named, value = details[0].index("Metric Name"), details[0].index("Metric Value")
    metrics = {
        row[named]: float(row[value].replace(",", "")) for row in details[1:] if re.match(r"[\d.,]+$", row[value])
    }
    return runs, lines, metrics


def number(text: str) -> float:
    return float(text) if re.match(r"[\d.]+$", text) else 0.0


def section(name: str, folder: Path) -> str:
    """Return the table of a kernel."""
    runs, lines, metrics = profiled(name, folder)
    counts, samples, waits = Counter(), Counter(), {kind: Counter() for kind in KINDS}
    for line in lines:
        operation = next(word for word in line["Source"].split() if not word.startswith("@"))
        kind = next(kind for kind, pattern in KINDS.items() if re.match(pattern, operation))
        counts[kind] += number(line["Instructions Executed"]) / runs / ITERATIONS
        samples[kind] += number(line["# Samples"])
        waits[kind].update({wait: number(line[f"stall_{wait}"]) for wait in WAITS})
    total = sum(samples.values())
    head = (
        f"## {name}\n\n{runs} runs; {sum(counts.values()):.0f} warp instructions per iteration, issued in "
        f"{metrics['One or More Eligible']:.0f} % of the cycles; {metrics['Active Warps Per Scheduler']:.1f} warps per "
        f"scheduler; {metrics['L1/TEX Cache Throughput']:.0f} % of the shared memory's throughput.\n"
    )
    rows = ["| kind | instructions | samples | waits |", "| --- | --- | --- | --- |"]
    for kind in sorted(KINDS, key=lambda kind: -samples[kind]):
        most = ", ".join(
            f"{WAITS[wait]} {n / total:.0%}" for wait, n in waits[kind].most_common(3) if n / total >= 0.005
        )
        rows.append(f"| {kind} | {counts[kind]:.0f} | {samples[kind] / total:.0%} | {most} |")
    return head + "\n" + "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--train", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        train(options.train)
        return
    import machine
    import torch

    parts = [
        "# Where the time of the cuda engine goes",
        f"{torch.cuda.get_device_name()}; {machine.describe('torch')} Made by `benchmarks/cuda_profile.py`, whose head "
        "says how. The floor would be an instruction in every cycle of every scheduler.",
    ]
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            parts.append(section(name, Path(folder)))
        print(parts[-1], flush=True)
        (options.out / "cuda_profile.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
