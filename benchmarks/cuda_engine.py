"""Time the cuda engine and the compiled torch engine on what has a target, then on all models and sizes, run the tests
that need a GPU, and estimate the whole campaign.

    python benchmarks/cuda_engine.py [--out FOLDER] [--minutes 9.5] [--only TEXT,…] [--host]

One process on one GPU. A rate is iterations per second, summed over all runs in flight, with evaluation every 1000
iterations, for twice as many runs as the GPU holds at a time, as the engine keeps them. Compilation and warm-up are not
timed. Sections come in the order of their weight; what has not begun when the time is over is left out, and the tests
are given what is left; `--only` chooses sections by texts in their titles. The files are written after every section.
`--host` only plans and compiles what would be timed, on a machine without a GPU.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from units import UNITS, spec_of

from arithmos.engines import Control, Job
from arithmos.engines.cuda import CudaEngine
from arithmos.engines.cuda.compile import cubin
from arithmos.engines.cuda.device import Gpu
from arithmos.engines.cuda.group import RunGroup
from arithmos.engines.cuda.plan import H200, make_plan
from arithmos.engines.torch import _Stack
from arithmos.papers import EXPERIMENTS
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic, Rows

# Simulating the true thresholds would take longer than all timings.
Arithmetic.thresholds = lambda self: dict.fromkeys(self.criteria, 0.1)

DEFAULT = Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"])
SECONDS = 0.6
WAVES = 2
"""Runs in flight, as a multiple of those that fit on the GPU at a time; the engine keeps so many."""
FIRST = EXPERIMENTS["table-1"].paper


def with_inputs(spec, size):
    fixed = ((0, 1), (1, 2)) if size == 2 else None
    return dataclasses.replace(spec, task=dataclasses.replace(spec.task, input_size=size, fixed=fixed))


def targets():
    """Return the specs that have a target, with it, in M it/s."""
    model = {name: dataclasses.replace(DEFAULT, model=MODELS[name]) for name in ("NALU", "GatedNAUNMU")}
    specs = {
        "default, with evaluation": (DEFAULT, 100),
        "NALU": (model["NALU"], 60),
        "gated": (model["GatedNAUNMU"], 60),
    }
    specs["300 inputs"] = with_inputs(DEFAULT, 300), 40
    for hidden, target in ((32, 10), (64, 6)):
        specs[f"{hidden} hidden units"] = dataclasses.replace(DEFAULT, hidden_size=hidden), target
    for size in (2, 4, 10):
        specs[f"{size} inputs"] = with_inputs(DEFAULT, size), 1000
    strangers = {name: spec_of(unit) for name, unit in UNITS.items() if not unit.endswith(":MLP")}
    return specs | {name: (spec, 40) for name, spec in strangers.items()}


def compiled(seeds=1024, steps=4000):
    """The compiled torch engine on the same GPU, without evaluation."""
    rows = []
    for name, spec, target in (
        ("NMU", DEFAULT, 4),
        ("MLP behind a NAU", spec_of(UNITS["MLP with one hidden layer"]), 2),
    ):
        said = []
        stack = _Stack(spec, tuple(range(seeds)), torch.device("cuda"), Control(say=said.append))
        begun = time.perf_counter()
        for end in (1000, 1000 + steps):
            torch.cuda.synchronize()
            warm, begun, before = time.perf_counter() - begun, time.perf_counter(), stack.step
            while stack.step < end:
                stack.iterate()  # many, up to the next record
        torch.cuda.synchronize()
        rate = seeds * (stack.step - before) / (time.perf_counter() - begun)
        kind = "compiled" if stack._compiled is not None else f"eager: {said[-1:]}"
        rows.append({"network": name, "how": kind, "M it/s": rate / 1e6, "target": target, "warm-up s": warm})
    return rows


def tests(seconds):
    """Run the tests that need a GPU, and return their last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu and not slow", "tests"]
    root = Path(__file__).parents[1]
    try:
        done = subprocess.run(command, cwd=root, timeout=seconds, capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return [{"pytest -m gpu": line} for line in [*lines, done.stdout.strip().splitlines()[-1]]]
    except subprocess.TimeoutExpired as error:
        return [{"pytest -m gpu": f"not finished after {seconds:.0f} s", "so far": str(error.stdout)[-200:]}]


class Bench:
    def __init__(self, device):
        self.device, self.kernels, self.memory, self.rates = device, {}, {}, {}

    def compile(self, specs, **layout):
        plans = {plan.source: plan for plan in (make_plan(spec, self.device.limits, **layout) for spec in specs)}
        new = [plan for plan in plans.values() if plan.source not in self.kernels]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for plan, code in zip(new, pool.map(self.device.compile, new), strict=True):
                self.kernels[plan.source] = self.device.load(code, plan)

    def keep(self, key, make):
        if key not in self.memory:
            self.memory[key] = self.device.upload(make())
        return self.memory[key]

    def runs(self, spec, runs=None, waves=WAVES, **layout):
        plan = make_plan(spec, self.device.limits, **layout)
        kernel = self.kernels[plan.source]
        runs = runs or waves * kernel.resident * self.device.limits.multiprocessors
        # Sixteen runs are enough for a timing: preparing more would take longer than timing them. Those that meet NaN
        # before their third record are left out, because a run that has ended takes no time.
        states = {seed: None for seed in range(16)}
        first = RunGroup(self.device, plan, kernel, spec, states, Control(), self.keep)
        template = [state for _, state in first.suspended()]
        first.launch(2 * min(spec.evaluate_every, 1000) + 1)
        first.wait()
        template = [state for _, state in first.suspended()] or template
        states = {seed: template[seed % len(template)] for seed in range(runs)}
        return RunGroup(self.device, plan, kernel, spec, states, Control(), self.keep), kernel

    def rate(self, spec, *, runs=None, seconds=SECONDS, **layout):
        """Return iterations per second, summed over all runs."""
        plan = make_plan(spec, self.device.limits, **layout)
        key = (plan.source, spec.evaluate_every, runs)
        if key not in self.rates:
            self.compile([spec], **layout)
            group, kernel = self.runs(dataclasses.replace(spec, iterations=10**8), runs, **layout)
            timed = []
            chunk = spec.evaluate_every
            for _ in range(3):
                begun = time.perf_counter()
                group.launch(chunk)
                done = group.wait()
                elapsed = time.perf_counter() - begun
                timed.append(done / elapsed)
                per = elapsed / chunk
                chunk = max(1, round(seconds / per / spec.evaluate_every)) * spec.evaluate_every
            self.rates[key] = {
                "rate": timed[-1], "before": timed[-2], "first": timed[0],
                "threads": plan.threads, "resident": kernel.resident,
                "shared_KiB": plan.shared_bytes / 1024, "runs": len(group.seeds),
            }  # fmt: skip
        return self.rates[key]


def table(title, rows):
    head = list(rows[0])
    lines = [f"\n## {title}\n", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values())
        lines.append("| " + " | ".join(cells) + " |")
    text = "\n".join(lines)
    print(text, flush=True)
    return text


def shown(label, r):
    return {
        **label, "M it/s": round(r["rate"] / 1e6, 1), "again": round(r["before"] / 1e6, 1), "runs": r["runs"],
        "blocks/SM": r["resident"], "threads": r["threads"], "KiB": round(r["shared_KiB"], 1),
    }  # fmt: skip


def same_bits(device):
    """Bits of the same runs for different chunks and runs in flight."""
    rows = []
    for name in ("NMU", "NALU", "GatedNAUNMU"):
        spec = dataclasses.replace(DEFAULT, model=MODELS[name], iterations=3000, evaluate_every=500)
        prints = set()
        for runs, chunk_s in ((3, 0.001), (3, 10.0), (700, 0.05), (700, 10.0)):
            engine = CudaEngine(device, chunk_s=chunk_s)
            found = {run.seed: run for run in engine.run([Job(spec, tuple(range(runs)))]) if run.seed < 3}
            prints.add(
                b"".join(
                    found[s].end_weights.tobytes() + found[s].best_weights.tobytes() + found[s].curve.test.tobytes()
                    for s in range(3)
                )
            )
        rows.append({"model": name, "distinct results": len(prints)})
    return rows


def campaign(bench):
    """Seconds of every experiment at the measured rates of its specs, if the GPU stays full."""
    rows, total, runs, iterations = [], 0.0, 0, 0
    seen = set()
    # Without the sequences of digits, and without table-2, which is part of all-models.
    own = (e for e in EXPERIMENTS.values() if e.paper == FIRST and e.name != "table-2")
    experiments = [e for e in own if all(isinstance(spec.task, Arithmetic) for spec in e.specs)]
    bench.compile([spec for experiment in experiments for spec in experiment.specs])
    for experiment in experiments:
        seconds = 0.0
        for spec in experiment.specs:
            measured = bench.rate(spec, seconds=0.05)
            rate = measured["rate"] or measured["first"]  # every run may have met NaN by then
            seconds += experiment.seeds * (spec.iterations + 1) / rate
            seen.add(spec.id)
        rows.append({
            "experiment": experiment.name, "runs": experiment.runs, "iterations": f"{experiment.iterations:.2g}",
            "minutes": seconds / 60, "M it/s": experiment.iterations / seconds / 1e6,
        })  # fmt: skip
        total, runs, iterations = total + seconds, runs + experiment.runs, iterations + experiment.iterations
    rows.append({
        "experiment": "all", "runs": runs, "iterations": f"{iterations:.2g}", "minutes": total / 60,
        "M it/s": iterations / total / 1e6,
    })  # fmt: skip
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--minutes", type=float, default=9.5, help="Time after which no section begins.")
    parser.add_argument("--only", default="", help="Texts of which a section's title has one, separated by commas.")
    parser.add_argument("--host", action="store_true", help="Plan and compile what has a target, without a GPU.")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    if arguments.host:
        for name, (spec, target) in targets().items():
            plan = make_plan(spec, H200)
            size = len(cubin(plan.source, "sm_90"))
            print(f"{name}: target {target}, {plan.threads} threads, {plan.shared_bytes} bytes, {size} of machine code")
        return
    device = Gpu()
    bench = Bench(device)
    import cuda.bindings
    import cuda.core

    from arithmos.engines.cuda.compile import _version

    machine = (
        f"{device.name}, {device.limits.multiprocessors} multiprocessors, NVRTC {_version()}, "
        f"cuda-core {cuda.core.__version__}, cuda-bindings {cuda.bindings.__version__}, torch {torch.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}, {datetime.date.today()}"
    )
    print(machine, flush=True)
    parts, data = [f"# The cuda engine\n\n{machine}\n"], {"machine": machine}

    def section(title, make):
        if not any(text in title for text in arguments.only.split(",")):
            return
        if time.monotonic() > end:
            print(f"{title}: left out, the time is over", flush=True)
            return
        begun = time.perf_counter()
        try:
            rows = make()
        except Exception as error:
            rows = [{"failed": repr(error)}]
            import traceback

            traceback.print_exc()
        parts.append(table(title, rows))
        data[title] = rows
        print(f"({time.perf_counter() - begun:.0f} s)", flush=True)
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "cuda.md").write_text("\n".join(parts) + "\n", encoding="utf-8")
        (arguments.out / "cuda.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    def first():
        bench.compile([spec for spec, _ in targets().values()])
        return [shown({"spec": name, "target": target}, bench.rate(spec)) for name, (spec, target) in targets().items()]

    def models():
        specs = [dataclasses.replace(DEFAULT, model=model) for model in MODELS.values()]
        bench.compile(specs)
        return [shown({"model": spec.model.name}, bench.rate(spec)) for spec in specs]

    def default():
        rows = []
        for runs in (132, 264, 528, 1056, 2112):
            rows.append(shown({"runs in flight": runs}, bench.rate(DEFAULT, runs=runs)))
        rare = dataclasses.replace(DEFAULT, evaluate_every=1_000_000)
        rows.append(shown({"runs in flight": "no evaluation"}, bench.rate(rare)))
        return rows

    def sizes():
        specs = [with_inputs(DEFAULT, n) for n in (2, 4, 10, 25, 50, 100, 125, 150, 200, 250, 300)]
        bench.compile(specs)
        return [shown({"inputs": spec.task.input_size}, bench.rate(spec)) for spec in specs]

    def layouts():
        rows = []
        for n in (4, 10, 100, 150, 200, 300):
            spec = with_inputs(DEFAULT, n)
            for tile, split in ((128, 1), (128, 2), (128, 4), (64, 1), (64, 2), (64, 4), (32, 4)):
                try:
                    r = bench.rate(spec, seconds=0.3, tile=tile, split=split)
                except ValueError:
                    continue
                rows.append(shown({"inputs": n, "tile": tile, "split": split}, r))
        return rows

    def hidden():
        sizes = {"NMU": (2, 4, 7, 10, 16, 32, 64), "NALU": (2, 4, 7, 10, 16, 32)}  # that fit into shared memory
        specs = [
            dataclasses.replace(DEFAULT, model=MODELS[name], hidden_size=h) for name, own in sizes.items() for h in own
        ]
        bench.compile(specs)
        return [shown({"model": s.model.name, "hidden": s.hidden_size}, bench.rate(s, seconds=0.3)) for s in specs]

    def rows_task():
        rng = np.random.default_rng(0)
        x = rng.uniform(1, 2, (5000, 10)).astype(np.float32)
        spec = Spec(task=Rows(x, x[:, 0] * x[:, 1]), model=MODELS["NMU"])
        return [shown({"task": "5000 rows of 10"}, bench.rate(spec))]

    section("What has a target", first)
    section("The compiled torch engine, 1,024 seeds, without evaluation", compiled)
    section("The campaign", lambda: campaign(bench))
    section("Default problem", default)
    section("Models", models)
    section("Hidden units", hidden)
    section("Inputs", sizes)
    section("A user's rows", rows_task)
    section("Same bits for different chunks and runs in flight", lambda: same_bits(device))
    section("Tests", lambda: tests(max(30.0, end - time.monotonic())))
    section("Layouts of a block", layouts)


if __name__ == "__main__":
    sys.exit(main())
