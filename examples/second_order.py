"""Find (Σ x)·(Σ x) and (Σ x)/(Σ x) among 100 inputs in seconds, where Adam takes a million steps or fails."""

import time

import torch
from torch import Tensor, nn

import arithmos
from arithmos.nn import NAU, NMU, RealNPU


def rows(n: int, inputs: int, low: float, high: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return inputs, and the sums of two quarters of them that overlap by half."""
    x = torch.empty(n, inputs, dtype=torch.float64).uniform_(low, high)
    quarter = inputs // 4
    a, b = x[:, :quarter], x[:, quarter // 2 : quarter // 2 + quarter]
    return x, a.sum(1, keepdim=True), b.sum(1, keepdim=True)


def main(inputs: int = 100, seed: int = 0) -> list[bool]:
    """Train two networks, print what was found, and return whether each formula is exact."""
    torch.manual_seed(seed)
    found = []
    for name, last, operation in (
        ("product", NMU(2, 1), torch.mul),
        ("quotient", RealNPU(2, 1), torch.div),
    ):
        model = nn.Sequential(NAU(inputs, 2), last).double()
        x, a, b = rows(1_500, inputs, 1, 2)
        began = time.perf_counter()
        result = arithmos.train(model, (x, operation(a, b)), method="auto")
        seconds = time.perf_counter() - began

        x, a, b = rows(1_000, inputs, 10, 90)
        with torch.no_grad():
            error = (model(x) / operation(a, b) - 1).abs().max().item()
        print(f"{name} of two sums of {inputs // 4} among {inputs} inputs: {result.message}")
        print(f"  {result.iterations} iterations, {result.factors} factors, {seconds:.2f} s")
        print(f"  largest relative error on [10, 90], after training on [1, 2]: {error:.1e}")
        found.append(result.exact)
    return found


if __name__ == "__main__":
    main()
