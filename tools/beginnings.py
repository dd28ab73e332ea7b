"""Does the weight that an NMU begins with settle how it multiplies? Swap it between two runs of docs/reproduction.md.

Without R_z the weight of the image ends at 0 for seed 0, where it begins at 0.33, and at 1 for seed 3, where it begins
at 0.65. Here each begins where the other did; all else, images and their order too, is as it was. Prints the weights
every 1,000 steps; 30,000 take about half an hour a run on one core, and by then the regularizer of sparsity has shown
where it draws them.
"""

import sys

import torch

from arithmos import constrain, sparsity_loss
from arithmos.engines.digits.sequences import Training
from arithmos.experiments import EXPERIMENTS

BEGINNINGS = {0: 0.65, 3: 0.33}
"""By seed."""


def train(seed: int, begin: float, steps: int) -> None:
    spec = next(spec for spec in EXPERIMENTS["mnist-product-no-rz"].specs if spec.model.name == "NMU")
    reader, cell = network = spec.network(seed)
    [weight] = cell.parameters()
    weight.data[0, 0] = begin
    adam = spec.optimizer
    optimizer = torch.optim.Adam(network.parameters(), lr=adam.lr, betas=(adam.beta1, adam.beta2), eps=adam.eps)
    constrain(optimizer, network)
    training = Training(spec, spec.task, (seed,), torch.device("cpu"))
    for step in range(steps + 1):
        epoch, place = divmod(step, training.iterations)
        if place == 0:
            training.begin(epoch)
        images, targets, shares = training.batch(torch.tensor([place]))
        numbers = reader(images.flatten(0, 2).unsqueeze(1)).view(*targets.shape[1:], 1)
        errors = (cell(numbers).squeeze(2) - targets[0]).square().mean(1)
        loss = errors @ shares + spec.model.schedule(step) * sparsity_loss(cell)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 1000 == 0:
            print(f"seed {seed}, begun at {begin}, step {step}: {weight.detach().flatten().tolist()}", flush=True)


for seed, begin in BEGINNINGS.items():
    train(seed, begin, int(sys.argv[1]) if len(sys.argv) > 1 else 30_000)
