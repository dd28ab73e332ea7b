"""Learn (x1 + x2) * (x1 + x2 + x3 + x4) with ten weights that become 0 and 1, and extrapolate."""

import torch
from torch import Tensor, nn

import arithmos
from arithmos.nn import NAU, NMU

STEPS = 10_000


def batch(n: int, low: float, high: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    x = torch.empty(n, 4).uniform_(low, high, generator=generator)
    return x, x[:, :2].sum(1, keepdim=True) * x.sum(1, keepdim=True)


def main(steps: int = STEPS, seed: int = 0) -> float:
    """Train, print the results, and return the mean squared error outside the training range."""
    torch.set_num_threads(1)  # the matrices are tiny
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential(NAU(4, 2), NMU(2, 1))
    for layer in model:
        layer.reset_parameters(generator)

    def report(step: int, error: float) -> None:
        if step % (steps // 10) == 0:
            weights = "  ".join(f"{w: .3f}" for p in model.parameters() for w in p.flatten().tolist())
            print(f"{step:7,}  {error:10.2e}  {weights}")

    print(f"{'step':>7}  {'validation':>10}  {'NAU weights (2 x 4)':^62}  {'NMU (1 x 2)':^14}")
    result = arithmos.train(
        model,
        lambda step: batch(128, 1, 2, generator),
        steps,
        validation=batch(1_000, 1, 2, generator),
        learning_rate=0.01,
        callback=report,
    )

    x, t = batch(10_000, 2, 6, generator)
    with torch.no_grad():
        extrapolation = nn.functional.mse_loss(model(x), t).item()
    print(f"\nbest state: step {result.step:,}, validation error {result.error:.2e}")
    print(f"largest distance of a weight from 0 and ±1: {arithmos.sparsity_error(model):.1e}")
    print(f"mean squared error on [2, 6], after training on [1, 2]: {extrapolation:.2e}")
    print(f"(the targets there have a variance of {t.var():.0f})")
    return extrapolation


if __name__ == "__main__":
    main()
