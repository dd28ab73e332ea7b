"""Measure the cost of float64 targets on the cuda engine, and their effect on networks with many inputs.

    python benchmarks/cuda_targets.py --out FOLDER [--before SRC] [--sizes 125,150,175,200] [--models NMU,NACMulNMU]

One process at a time on one GPU. First measures iterations per second, summed over all runs in flight, of this package
and of the one in the folder SRC, alternately. Then makes the runs of the experiment input-size with these inputs and
models at full length, stores them in FOLDER/runs, and prints the sparsity errors of the solved ones next to those of
the store `results`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS = 5.0
BUDGET_S = 240.0


def rates() -> dict[str, float]:
    """Million iterations per second of full GPUs, evaluation included, without the first chunk of each."""
    from arithmos.engines.contract import Control, Job
    from arithmos.engines.cuda import CudaEngine
    from arithmos.spec import MODELS, Spec
    from arithmos.tasks import Arithmetic

    tasks = {
        "default": (528, 81e6, Arithmetic(operation="mul")),
        "range [-2, 2)": (528, 81e6, Arithmetic(operation="mul", interpolation=((-2.0, 2.0),))),
        "150 inputs": (264, 48e6, Arithmetic(operation="mul", input_size=150)),
    }
    engine, found = CudaEngine(), {}
    for name, (runs, guess, task) in tasks.items():
        spec = Spec(task=task, model=MODELS["NMU"], iterations=round(SECONDS * guess / runs))
        marks: list[tuple[float, int]] = []
        control = Control(advance=lambda _, done, marks=marks: marks.append((time.perf_counter(), done)))
        for _ in engine.run([Job(spec, tuple(range(runs)))], control):
            pass
        begun, ended = marks[0][0], marks[-1][0]
        found[name] = sum(done for _, done in marks[1:]) / (ended - begun) / 1e6
    return found


def timed(source: Path) -> dict[str, float]:
    """The rates of the package in a folder."""
    command = [sys.executable, __file__, "--rates"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(source)}, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def campaign(out: Path, sizes: set[int], models: set[str]) -> None:
    """Runs a part of the experiment input-size, and prints what became of its weights."""
    import dataclasses

    from arithmos import bench
    from arithmos.store import Store

    [whole] = bench.select(["input-size"], models=sorted(models))
    specs = tuple(spec for spec in whole.specs if spec.task.input_size in sizes)
    outcome = bench.run([dataclasses.replace(whole, specs=specs)], engine="cuda", store=out / "runs", budget_s=BUDGET_S)
    print(f"\n{outcome.finished} runs in {outcome.elapsed_s:.0f} s, {outcome.left} left", flush=True)
    columns = ["best_sparsity", "solved_at"]
    frames = {"now": Store(out / "runs").load(columns=columns)}
    if (ROOT / "results").is_dir():
        frames["results"] = Store(ROOT / "results").load(columns=columns)
    print("\n| model | inputs | store | solved | mean sparsity error | median |\n|---|---|---|---|---|---|")
    for spec in specs:
        for store, frame in frames.items():
            runs = frame[(frame.spec_id == spec.id) & (frame.engine == "cuda")]
            error = runs.best_sparsity[runs.solved_at_released >= 0]
            cells = (spec.model.name, spec.task.input_size, store, f"{len(error)}/{len(runs)}")
            print("| " + " | ".join(map(str, cells)) + f" | {error.mean():.2e} | {error.median():.2e} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--before", type=Path, metavar="SRC")
    parser.add_argument("--sizes", default="125,150,175,200")
    parser.add_argument("--models", default="NMU,NACMulNMU")
    parser.add_argument("--rates", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rates:
        print(json.dumps(rates()))
        return
    sources = {"after": ROOT / "src"} | ({"before": options.before} if options.before else {})
    turns = list(chain(sources, reversed(sources)))
    measured = [(name, timed(sources[name])) for name in turns]
    print("| M it/s | " + " | ".join(turns) + " |\n|" + "---|" * (1 + len(turns)))
    for kind in measured[0][1]:
        print(f"| {kind} | " + " | ".join(f"{found[kind]:.1f}" for _, found in measured) + " |", flush=True)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "rates.json").write_text(json.dumps(measured, indent=1))
        campaign(options.out, {int(size) for size in options.sizes.split(",")}, set(options.models.split(",")))


if __name__ == "__main__":
    main()
