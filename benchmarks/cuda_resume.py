"""Interrupt a campaign on the GPU, resume it, and compare it with uninterrupted runs.

    python benchmarks/cuda_resume.py STORE [--experiment all-models] [--interrupt 90] [--budget 390] [--again 200]

`arithmos run` receives SIGINT after `--interrupt` seconds and is started again for at most `--budget` seconds. Up to
`--again` of the runs that were in flight are then repeated without interruption in a second store, and must have the
same bits as the interrupted ones. Nothing may be lost or stored twice.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from arithmos.engines import Engines, Job
from arithmos.papers import EXPERIMENTS
from arithmos.store import Store
from arithmos.store._schema import COLUMNS

OWN_AFFAIR = ("elapsed_s", "written")


def campaign(arguments: list[str], interrupt_s: float | None = None) -> float:
    """Seconds that a campaign took, on the command line as a user would."""
    begun = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "arithmos", "run", *arguments, "--engine", "cuda"])
    try:
        process.wait(interrupt_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        process.wait()
    print(f"exit status {process.returncode} after {time.monotonic() - begun:.1f} s", flush=True)
    return time.monotonic() - begun


def again(cut: list[tuple[str, int]], experiment: str, folder: str) -> Store:
    """The same runs, undisturbed."""
    seeds = defaultdict(list)
    for spec_id, seed in cut:
        seeds[spec_id].append(seed)
    jobs = [Job(spec, tuple(seeds[spec.id])) for spec in EXPERIMENTS[experiment].specs if spec.id in seeds]
    store = Store(folder)
    store.append(Engines("cuda").choose(jobs[0].spec).run(jobs))
    return store


def differing(cut: list[tuple[str, int]], one: Store, other: Store) -> list[str]:
    """Columns in which the runs of two stores are not the same bits."""
    columns = [name for name in COLUMNS if name not in OWN_AFFAIR]
    ids = [spec_id for spec_id, _ in cut]
    tables = []
    for store in (one, other):
        frame = store.load(specs=ids, columns=columns).set_index(["spec_id", "seed"])
        tables.append(frame[frame["engine"] == "cuda"].loc[cut])
    return [
        name
        for name in columns[2:]
        if not all(
            np.array_equal(a, b, equal_nan=isinstance(a, float | np.ndarray))
            for a, b in zip(*(table[name] for table in tables), strict=True)
        )
    ]


def main() -> None:
    """Do it and print what was seen, as JSON in the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--experiment", default="all-models")
    parser.add_argument("--interrupt", type=float, default=90)
    parser.add_argument("--budget", type=int, default=390)
    parser.add_argument("--again", type=int, default=200)
    asked = parser.parse_args()
    command = [asked.experiment, "--store", asked.store]
    seen = {"runs": EXPERIMENTS[asked.experiment].runs, "before": len(Store(asked.store))}
    seen["first_s"] = campaign(command, asked.interrupt)
    store = Store(asked.store)
    in_the_air = [(spec_id, seed) for spec_id, seed, _ in store.suspended]
    kept = set(map(tuple, store.load(columns=[])[["spec_id", "seed"]].to_numpy().tolist()))
    seen |= {"stored_at_interrupt": len(store), "in_the_air": len(in_the_air)}
    seen["second_s"] = campaign([*command, "--budget", f"{asked.budget}s"])
    store = Store(asked.store)
    now = set(map(tuple, store.load(columns=[])[["spec_id", "seed"]].to_numpy().tolist()))
    seen |= {"stored": len(store), "lost": len(kept - now), "twice": store.duplicates, "damaged": len(store.damaged)}
    cut = [run for run in in_the_air if run in now][: asked.again]
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        seen |= {"compared": len(cut), "differing": differing(cut, store, again(cut, asked.experiment, folder))}
        seen["again_s"] = time.monotonic() - begun
    Path(asked.store, "..", "resume.json").write_text(json.dumps(seen))
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
