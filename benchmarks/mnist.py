"""Time the torch engine on sequences of digits: convolutions, stacks, whole loops, and an estimate of all experiments.

    python benchmarks/mnist.py [--data FOLDER] [--out FOLDER] [--seconds 280] [--only PART,…]

One process on one GPU. A rate is training images per second, summed over all runs, including evaluation every fifth
epoch: `5 · images · runs / (5 · iterations · step + evaluation)`. Compilation and recording of graphs are not timed.
Results are written as they become available, one JSON line each, and as tables at the end. The part `full` takes a
quarter of an hour; when its time is over, it leaves the states of its runs in the folder, and goes on from there.
"""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import time
import traceback
from functools import partial
from pathlib import Path

import numpy as np
import torch
from scipy.stats import mannwhitneyu
from torch.nn import functional as F

from arithmos.engines import digits
from arithmos.engines.contract import Control, Job
from arithmos.engines.digits import fused as kernels
from arithmos.engines.digits.reader import grouped, read, unfolded
from arithmos.engines.digits.sequences import pixels
from arithmos.engines.digits.stack import Stack
from arithmos.papers import EXPERIMENTS
from arithmos.statistics import fisher_exact
from arithmos.store import Store

DEVICE = torch.device("cuda")
GRAPH = True
OWN = "fused"
PATHS = {
    "grouped": grouped,
    "unfolded": unfolded,
    "fused": kernels.fused,
    "fused tf32x3": partial(kernels.fused, precision="tf32x3"),
    "fused ieee": partial(kernels.fused, precision="ieee"),
    "fused tf32": partial(kernels.fused, precision="tf32"),
}
DECIDING = ("NMU", "ReferenceMul")
"""Models that decide on a kind of products."""

SOLVED = 10.0
"""Validation error of products between the runs that learn them, at most 8, and the others, at least 24."""

ROWS = []
BEGUN = time.monotonic()


def note(part, **values):
    ROWS.append({"part": part, **values})
    with (arguments.out / "mnist.jsonl").open("a") as file:
        file.write(json.dumps(ROWS[-1]) + "\n")
    print(f"{time.monotonic() - BEGUN:6.1f}s {part}: " + ", ".join(f"{k} {v}" for k, v in values.items()), flush=True)


def rounded(value, digits=3):
    return float(f"{value:.{digits}g}")


def set_tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def clock(function, times=1):
    """Seconds of one call, after a first one."""
    function()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(times):
        function()
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) / times


def models(operation):
    """The different models of a task, the reference last."""
    names = {"mul": ("mnist-product", "mnist-product-no-rz"), "add": ("mnist-sum", "mnist-sum-no-rz")}[operation]
    specs = {spec.id: spec for name in (*names, "mnist-reference") for spec in EXPERIMENTS[name].specs}
    return [spec for spec in specs.values() if spec.task.operation == operation]


def runs(operation, count):
    """So many runs, spread over all models."""
    specs = models(operation)
    seeds = [count // len(specs) + (place < count % len(specs)) for place in range(len(specs))]
    return [(spec, seed) for spec, own in zip(specs, seeds, strict=True) for seed in range(own)]


def stack(operation, count, path=OWN, graph=True):
    return Stack(runs(operation, count), DEVICE, Control(), convolve=PATHS[path], graph=graph and GRAPH)


def measure(name, chosen, tf32=False, steps=40):
    """Step, evaluation, rate and memory of a stack."""
    set_tf32(tf32)
    try:
        torch.cuda.reset_peak_memory_stats()
        chosen.advance(5)
        step = clock(lambda: chosen.advance(steps)) / steps
        record = clock(chosen.record)
    finally:
        set_tf32(False)
    task, count, epoch = chosen.task, len(chosen.runs), chosen.training.iterations
    images = task.sequences * task.length * count / 1e3
    note(
        "stack",
        task=task.operation,
        path=name,
        tf32=tf32,
        runs=count,
        step_ms=rounded(1e3 * step),
        evaluation_s=rounded(record),
        train_only_k_per_s=rounded(images / epoch / step),
        images_k_per_s=rounded(5 * images / (5 * epoch * step + record)),
        memory_gib=rounded(torch.cuda.max_memory_allocated() / 2**30),
    )


def agreement(images=512):
    """Errors of outputs and gradients against float64, on digits, two runs from a state along training."""
    trained = stack("mul", 9, "unfolded", graph=False)
    trained.advance(60)
    shown = trained.training.images[:images].reshape(2, -1, 28, 28)
    parameters = {name: value.detach()[:2].clone() for name, value in trained.reader.items()}
    upstream = torch.randn(shown.shape[:2], generator=torch.Generator().manual_seed(0)).to(DEVICE)

    def gradients(convolve, dtype):
        leaves = {name: value.to(dtype, copy=True).requires_grad_() for name, value in parameters.items()}
        numbers = read(leaves, shown.to(dtype), convolve)
        (numbers * upstream.to(dtype)).sum().backward()
        return {"read": numbers.detach(), **{name: value.grad for name, value in leaves.items()}}

    exact = gradients(unfolded, torch.float64)
    for name, convolve in PATHS.items():
        found = gradients(convolve, torch.float32)
        errors = {key: (found[key].double() - value).norm() / value.norm() for key, value in exact.items()}
        note("agreement", path=name, **{key: rounded(error.item(), 2) for key, error in errors.items()})


def repeated(steps=20):
    """Whether graphs and stacks give the same bits as plain iterations and runs alone."""
    for path in (OWN, "unfolded"):
        made = [stack("mul", 9, path), stack("mul", 9, path), stack("mul", 9, path, graph=False)]
        for one in made:
            one.advance(steps)
        graph, again, eager = (one.flat() for one in made)
        note("repeats", path=path, what="a graph repeated", **compared(graph, again))
        note("repeats", path=path, what="no graph", **compared(graph, eager))
        together = stack("mul", 9, path)
        together.advance(1)
        for place in (0, 5):
            alone = Stack([together.runs[place]], DEVICE, Control(), convolve=PATHS[path], graph=GRAPH)
            alone.advance(1)
            what = f"{together.runs[place][0].model.name} alone, one step"
            note("repeats", path=path, what=what, **compared([together.flat()[place]], alone.flat()))


def compared(first, second):
    pairs = list(zip(first, second, strict=True))
    largest = max(float(np.abs(a - b).max()) for a, b in pairs)
    return {"same_bits": all(np.array_equal(a, b) for a, b in pairs), "largest_difference": rounded(largest)}


def eager():
    """One run at a time: the network as it stands, torch's Adam, no graph, no stack."""
    for name in ("NMU", "ReferenceMul"):
        spec = next(spec for spec in models("mul") if spec.model.name == name)
        note("eager", model=name, **plain_loop(spec))


def plain_loop(spec, iterations=100):
    task, network = spec.task, spec.network(0).to(DEVICE)
    optimizer = torch.optim.Adam(network.parameters())
    images, labels = pixels(task, "training", DEVICE)
    evaluated = torch.cat([pixels(task, part, DEVICE)[0] for part in ("training", "validation", "test")])
    sequences = torch.from_numpy(task.training(0)).to(DEVICE)
    order = torch.randperm(len(sequences), device=DEVICE)

    def step(first):
        chosen = sequences[order[first : first + 64]]
        loss = F.mse_loss(network(images[chosen])[..., 0], labels[chosen].float().cumprod(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def evaluate():
        with torch.no_grad():
            return [network(part[:, None]) for part in evaluated.split(1000)]

    seconds = clock(lambda: [step(64 * i) for i in range(iterations)]) / iterations
    evaluation = clock(evaluate)
    rate = 5 * task.sequences * task.length / (5 * task.epoch(64) * seconds + evaluation)
    return {
        "step_ms": rounded(1e3 * seconds),
        "evaluation_s": rounded(evaluation),
        "images_k_per_s": rounded(rate / 1e3),
    }


THREE, FMA = "tf32x3", "ieee"
CANDIDATES = {
    ("forward", 1): [(32, 32, THREE, 4, 2), (32, 32, FMA, 4, 2), (64, 32, FMA, 8, 2)],
    ("forward", 20): [(64, 32, THREE, 8, 2), (64, 32, THREE, 8, 3), (32, 32, THREE, 4, 2), (32, 32, FMA, 8, 3)],
    ("weight", 1): [(16, 0, "", 4, 2), (32, 0, "", 8, 2), (8, 0, "", 4, 2)],
    ("weight", 20): [(16, 128, THREE, 8, 2), (16, 128, THREE, 8, 3), (32, 128, THREE, 8, 2), (16, 128, FMA, 8, 2)],
    ("image", 20): [
        (128, 32, THREE, 8, 3),
        (128, 32, THREE, 4, 3),
        (128, 64, THREE, 8, 2),
        (128, 32, FMA, 8, 3),
        (128, 64, FMA, 8, 2),
    ],
}
SIZES = {"forward": ("WINDOWS", "BK"), "weight": ("WINDOWS", "BN"), "image": ("BM", "BK")}


def blocks(s=90, n=128):
    """Single kernels at 90 runs of 128 images, for sizes of blocks that might be faster."""
    for (kind, c), choices in CANDIDATES.items():
        side, o = (28, 20) if c == 1 else (12, 50)
        x = torch.randn(s, n, side, side, c, device=DEVICE).permute(0, 1, 4, 2, 3).requires_grad_(kind == "image")
        w = torch.randn(s, o, c, 5, 5, device=DEVICE).requires_grad_(kind == "weight")
        b = torch.randn(s, o, device=DEVICE)
        usual = kernels.LAUNCH[kind, c]
        for *sizes, products, warps, stages in choices:
            launch = dict(zip(SIZES[kind], sizes, strict=True)) | {"num_warps": warps, "num_stages": stages}
            if products:
                launch["PRECISION"] = products
            else:
                launch.pop("BN")
            for splits in (usual["splits"], 2 * usual["splits"]) if kind == "weight" else (0,):
                kernels.LAUNCH[kind, c] = launch | ({"splits": splits} if splits else {})
                try:
                    outcome = {"ms": rounded(1e3 * kernel_time(kind, x, w, b))}
                except Exception as error:
                    outcome = {"failed": type(error).__name__}
                note("kernel", kernel=kind, channels=c, **kernels.LAUNCH[kind, c], **outcome)
        kernels.LAUNCH[kind, c] = usual
    a, w = torch.randn(s, n, 800, device=DEVICE), torch.randn(s, 800, 500, device=DEVICE)
    note("kernel", kernel="first linear layer, cuBLAS", ms=rounded(1e3 * clock(partial(torch.bmm, a, w), times=5)))


def kernel_time(kind, x, w, b):
    """Seconds that the profiler sees in the kernel itself."""
    call = kernel_call(kind, x, w, b)
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        for _ in range(3):
            call()
        torch.cuda.synchronize()
    own = [event for event in found.key_averages() if f"{kind}_" in event.key]
    return sum(event.self_device_time_total for event in own) / 3e6


def kernel_call(kind, x, w, b):
    if kind == "forward":
        return partial(kernels.fused, x, w, b)
    y = kernels.fused(x, w, b)
    return partial(torch.autograd.grad, y, [x if kind == "image" else w], torch.randn_like(y), retain_graph=True)


def profile(iterations=5):
    """Where the time of an iteration goes."""
    chosen = stack("mul", 90)
    chosen.advance(5)
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        chosen.advance(iterations)
        torch.cuda.synchronize()
    events = sorted(found.key_averages(), key=lambda event: -event.self_device_time_total)
    total = sum(event.self_device_time_total for event in events)
    count = sum(event.count for event in events) // iterations
    note("profile", share=100.0, count=count, us=rounded(total / iterations), kernel="all")
    for event in events[:18]:
        note(
            "profile",
            share=rounded(100 * event.self_device_time_total / total, 2),
            count=event.count // iterations,
            us=rounded(event.self_device_time_total / event.count),
            kernel=event.key[:80],
        )


def whole():
    """Five epochs through the engine itself, with an evaluation before and after."""
    for count in (40, 90):
        jobs = {}
        for spec, seed in runs("mul", count):
            jobs.setdefault(dataclasses.replace(spec, iterations=spec.evaluate_every), []).append(seed)
        begun = time.perf_counter()
        made = list(digits.run([Job(spec, tuple(seeds)) for spec, seeds in jobs.items()], Control(), DEVICE))
        seconds, training = time.perf_counter() - begun, sum(run.elapsed_s for run in made)
        task = made[0].spec.task
        rate = 5 * task.sequences * task.length * len(made) / training / 1e3
        errors = np.median([run.curve.validation for run in made], axis=0).tolist()
        values = {"seconds": rounded(seconds), "training_s": rounded(training), "images_k_per_s": rounded(rate)}
        note("whole", runs=len(made), **values, validation=[*map(rounded, errors)])


def precision(epochs=4):
    """What TF32 does to the validation error: the same runs for some epochs, evaluated after each."""
    ways = {"float32": (OWN, False), "float32, ieee": ("fused ieee", False), "tf32": ("fused tf32", True)}
    chosen = []
    for spec in models("mul"):
        if spec.model.name in DECIDING:
            epoch = spec.task.epoch(spec.batch_size)
            short = dataclasses.replace(spec, iterations=epochs * epoch, evaluate_every=epoch)
            chosen += [(short, seed) for seed in range(10)]
    for products, (path, tf32) in ways.items():
        set_tf32(tf32)
        made = Stack(chosen, DEVICE, Control(), convolve=PATHS[path], graph=GRAPH).train()
        set_tf32(False)
        for model in DECIDING:
            errors = np.array([run.curve.validation[1:] for run in made if run.spec.model.name == model])
            values = {"median": np.median(errors, axis=0), "lowest": errors.min(axis=0), "highest": errors.max(axis=0)}
            shown = {name: [*map(rounded, value.tolist())] for name, value in values.items()}
            note("precision", model=model, products=products, runs=len(errors), **shown)


def full():
    """Ten runs of two models at full length by TF32, as far as the time allows: they go on with the same folder.

    At their end, their validation errors are compared with those of the float32 runs of `results`.
    """
    specs = [next(spec for spec in models("mul") if spec.model.name == name) for name in DECIDING]
    chosen = [(spec, seed) for spec in specs for seed in range(10)]
    store = Store(arguments.out / "tf32")
    found = [store.resume(spec, seed, "torch") for spec, seed in chosen]
    with store.writer() as writer:
        control = Control(
            stopped=lambda: time.monotonic() - BEGUN > arguments.seconds,
            suspend=lambda spec, seed, state: writer.suspend(spec, seed, "torch", state),
        )
        made = Stack(chosen, DEVICE, control, convolve=PATHS["fused tf32"], graph=GRAPH)
        if all(found):
            made.resume(found)
        set_tf32(True)
        runs = made.train()
        set_tf32(False)
    if not runs:
        note("full", step=made.step, of=made.spec.iterations, seconds=rounded(made.elapsed_s))
        return
    results = Store(Path(__file__).parents[1] / "results")
    for spec in specs:
        tf32 = np.sort([run.best_validation for run in runs if run.spec == spec])
        float32 = np.sort(results.load(specs=[spec])["best_validation"])
        solved = [int((errors < SOLVED).sum()) for errors in (float32, tf32)]
        values = {"float32": [*map(rounded, float32.tolist())], "tf32": [*map(rounded, tf32.tolist())]}
        values["fisher_p"] = rounded(fisher_exact(solved[0], len(float32), solved[1], len(tf32)))
        values["mann_whitney_p"] = rounded(float(mannwhitneyu(float32, tf32).pvalue))
        note("full", model=spec.model.name, solved=solved, **values)


def estimate():
    """Estimate all experiments from the rates of the stacks."""
    own = [row for row in ROWS if row["part"] == "stack" and row["path"] == OWN]
    rates = {row["task"]: row["images_k_per_s"] for row in own}
    hours = {}
    for operation, count in (("mul", 90), ("add", 70)):
        task = models(operation)[0].task
        images = 1001 * task.sequences * task.length * count
        hours[operation] = images / rates.get(operation, np.nan) / 1e3 / 3600
    values = {name: rounded(value) for name, value in hours.items()}
    note("estimate", hours_product=values["mul"], hours_sum=values["add"], hours=rounded(sum(hours.values())))


def stacks():
    for count in (40, 90):
        measure(OWN, stack("mul", count))


def sums():
    measure(OWN, stack("add", 70), steps=20)


def others():
    measure("fused tf32", stack("mul", 90, "fused tf32"), tf32=True)
    measure("fused ieee", stack("mul", 90, "fused ieee"))
    measure("unfolded", stack("mul", 90, "unfolded"))
    measure("unfolded", stack("mul", 90, "unfolded"), tf32=True)
    measure("grouped", stack("mul", 40, "grouped"))


def compiled():
    chosen = stack("mul", 90, "unfolded")
    plain, fast = chosen.read, torch.compile(read)
    chosen.read = lambda parameters, images: fast(parameters, images, unfolded)
    chosen.advance(1)
    chosen.read = plain  # the graph of an iteration is made
    measure("unfolded, compiled", chosen)


PARTS = (agreement, stacks, eager, sums, estimate, repeated, profile, blocks, whole, precision, full, others, compiled)


def table(rows):
    names = list(dict.fromkeys(name for row in rows for name in row if name != "part"))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return lines + ["| " + " | ".join(str(row.get(name, "")) for name in names) + " |" for row in rows]


def main():
    import triton

    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "mnist.jsonl").write_text("")
    versions = f"torch {torch.__version__}, Triton {triton.__version__}, Python {platform.python_version()}"
    machine = f"{torch.cuda.get_device_name()}, {versions}, {datetime.date.today()}"
    note("machine", machine=machine)
    set_tf32(False)
    for part in PARTS:
        if arguments.only and part.__name__ not in arguments.only.split(","):
            continue
        if time.monotonic() - BEGUN > arguments.seconds:
            note("left out", part_name=part.__name__)
            continue
        try:
            part()
        except Exception:
            traceback.print_exc()
            note("failed", part_name=part.__name__)
        torch.cuda.empty_cache()
        text = ["# Sequences of digits", "", machine, ""]
        for name in dict.fromkeys(row["part"] for row in ROWS[1:]):
            text += [f"## {name}", "", *table([row for row in ROWS if row["part"] == name]), ""]
        (arguments.out / "mnist.md").write_text("\n".join(text))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the four files of MNIST")
    parser.add_argument("--out", default="benchmarks", type=Path)
    parser.add_argument("--seconds", default=280.0, type=float, help="Start no further part after this many seconds.")
    parser.add_argument("--only", default="", help="Names of parts, separated by commas.")
    arguments = parser.parse_args()
    folders = [folder for folder in (arguments.data, "shared/mnist", "../shared/mnist") if folder]
    os.environ["ARITHMOS_DATA"] = next((folder for folder in folders if Path(folder).is_dir()), "")
    main()
