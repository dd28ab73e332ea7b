"""Compare your own unit, in whose products a weight of -1 divides, with a published one."""

import tempfile

import pandas as pd
import torch
from torch import Tensor, nn

from arithmos import bench
from arithmos.functional import clamp
from arithmos.tasks import TEN_PARAMETERS


class DividingNMU(nn.Module):
    """Products and quotients of inputs: z_o = prod_i (|w_oi| x_i^sign(w_oi) + 1 - |w_oi|), w in [-1, 1]."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        nn.init.uniform_(self.weight, -0.5, 0.5, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        w = clamp(self.weight, -1.0, 1.0)  # unlike torch.clamp, it has a slope on its bounds in every version
        x = x.unsqueeze(-2)
        size = w.abs()
        return torch.prod(size * torch.where(w < 0, 1 / x, x) + 1 - size, -1)

    def weights(self) -> dict[str, Tensor]:
        """Return the weights to judge: -1, 0 and 1 are exact."""
        return {"weight": clamp(self.weight, -1.0, 1.0)}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return the range that `constrain` enforces after every step."""
        return {"weight": (-1.0, 1.0)}

    def sparsity(self) -> Tensor:
        """Return the sparsity loss, which the regularizer minimizes."""
        size = self.weight.abs()
        return torch.minimum(size, (1 - size).abs()).mean()


def main(seeds: int = 10, iterations: int = 50_000) -> pd.DataFrame:
    """Train on the problem of Table 1, print the success rates, and return the table."""
    with tempfile.TemporaryDirectory() as store:
        table = bench.compare(
            DividingNMU, task=TEN_PARAMETERS, models=["NMU"], seeds=seeds, iterations=iterations, store=store
        )
    print(table[["label", "n", "success_rate", "success_rate_low", "success_rate_high"]].to_string(index=False))
    return table


if __name__ == "__main__":
    main()
