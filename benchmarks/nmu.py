"""Measure time and memory of an NMU's forward and backward pass, compared with the plain product of all factors.

    python benchmarks/nmu.py > benchmarks/nmu.md

Each variant runs in a separate process. Its memory is the peak of the process above that of its arguments.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import machine
import torch

from arithmos.functional import product


def naive(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (weight * x.unsqueeze(-2) + 1 - weight).prod(-1)


VARIANTS = {"plain": naive, "ours": product}


def peak() -> int:
    """Most memory that this process ever had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(variant: str, batch: int, inputs: int, outputs: int, repeats: int) -> dict[str, float]:
    """Median seconds of forward and backward, and the peak of extra memory in bytes."""
    generator = torch.Generator().manual_seed(0)
    x = torch.empty(batch, inputs).uniform_(0.5, 1.5, generator=generator).requires_grad_()
    weight = torch.empty(outputs, inputs).uniform_(0.25, 0.75, generator=generator).requires_grad_()
    function = VARIANTS[variant]
    function(x[:2], weight).sum().backward()
    before, times = peak(), []
    for _ in range(repeats):
        x.grad = weight.grad = None
        start = time.perf_counter()
        function(x, weight).sum().backward()
        times.append(time.perf_counter() - start)
    return {"seconds": statistics.median(times), "bytes": peak() - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--inputs", type=int, default=256)
    parser.add_argument("--outputs", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--variant", choices=VARIANTS, help="measure one variant and print it as JSON")
    options = parser.parse_args()
    sizes = [options.batch, options.inputs, options.outputs]
    if options.variant:
        print(json.dumps(measure(options.variant, *sizes, options.repeats)))
        return
    results = {}
    for variant in VARIANTS:
        command = [sys.executable, __file__, "--variant", variant, "--repeats", str(options.repeats)]
        command += ["--batch", str(options.batch), "--inputs", str(options.inputs), "--outputs", str(options.outputs)]
        results[variant] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    plain = results["plain"]
    print(f"# NMU, batch {sizes[0]}, {sizes[1]} → {sizes[2]}, forward and backward in float32\n")
    rows = []
    for variant, found in results.items():
        ratios = [f"{found['seconds'] / plain['seconds']:.3f}", f"{found['bytes'] / plain['bytes']:.4f}"]
        rows.append([variant, f"{found['seconds']:.3f}", f"{found['bytes'] / 2**20:.0f}", *ratios])
    print(machine.table(["", "seconds", "extra memory, MiB", "relative time", "relative memory"], rows))
    print(f"\n{machine.describe('torch')} Median of {options.repeats} runs on {torch.get_num_threads()} thread(s).")


if __name__ == "__main__":
    main()
