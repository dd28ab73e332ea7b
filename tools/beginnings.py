"""Does where a run on handwritten digits begins settle how it ends? Two trials for docs/reproduction.md, on one core.

`swapped`: without R_z the weight of the image of an NMU ends at 0 for seed 0, where it begins at 0.33, and at 1 for
seed 3, where it begins at 0.65. Here each begins where the other did; all else, images and their order too, is as it
was. 30,000 steps take about half an hour a run, and by then the regularizer of sparsity has shown where it draws them.

`published`: the references of the product, from our weights and from those of the published runs; 200 steps each,
four minutes in all.
"""

import sys
from collections.abc import Iterator

import torch
from torch import nn

from arithmos import constrain, sparsity_loss
from arithmos.engines.digits.sequences import Training
from arithmos.experiments import EXPERIMENTS
from arithmos.spec import Spec

SWAPPED = {0: 0.65, 3: 0.33}
"""Where the weight of the image begins, by seed."""


def as_published(spec: Spec, seed: int) -> nn.Sequential:
    """The network with the weights that the published run of a seed began with.

    The published program seeded torch and filled the layers of the reader three times, when they were built and in
    two passes over the whole network, and the cell in these two; a cell of torch itself, as the LSTM, is not meant.
    """
    network = spec.network(seed)
    reader, cell = network
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for again in range(3):
            for layer in reader.children():
                layer.reset_parameters()
            if again and any(True for _ in cell.parameters()):
                cell.unit.reset_parameters()
    return network


def train(spec: Spec, seed: int, network: nn.Sequential, steps: int) -> Iterator[float]:
    """Trains a network on one core and gives, before every step, the mean of the numbers that it reads."""
    reader, cell = network
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
        yield numbers.mean().item()
        errors = (cell(numbers).squeeze(2) - targets[0]).square().mean(1)
        loss = errors @ shares + spec.model.schedule(step) * sparsity_loss(cell)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def swapped(steps: int = 30_000) -> None:
    spec = next(spec for spec in EXPERIMENTS["mnist-product-no-rz"].specs if spec.model.name == "NMU")
    for seed, begin in SWAPPED.items():
        network = spec.network(seed)
        [weight] = network[1].parameters()
        weight.data[0, 0] = begin
        for step, _ in enumerate(train(spec, seed, network, steps)):
            if step % 1000 == 0:
                print(f"seed {seed}, begun at {begin}, step {step}: {weight.detach().flatten().tolist()}", flush=True)


def published(steps: int = 200) -> None:
    spec = next(spec for spec in EXPERIMENTS["mnist-reference"].specs if spec.task.operation == "mul")
    for seed in range(10):
        for whose, network in (("ours", spec.network(seed)), ("published", as_published(spec, seed))):
            *_, last = train(spec, seed, network, steps)
            print(f"seed {seed}, begun as {whose}: after {steps} steps the mean number read is {last:.2f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("swapped", "published"):
        sys.exit("usage: python tools/beginnings.py swapped|published [STEPS]")
    torch.set_num_threads(1)
    {"swapped": swapped, "published": published}[sys.argv[1]](*map(int, sys.argv[2:]))
