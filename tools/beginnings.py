"""Does where a run on handwritten digits begins settle how it ends? Two trials for docs/reproduction.md, on one core.

`python tools/beginnings.py swapped`: without R_z, and from weights drawn once, the weight of the image of an NMU ends
at 0 for seed 0, where it begins at 0.33, and at 1 for seed 3, where it begins at 0.65. Here each begins where the other
did; all else, images and their order too, is as it was. 30,000 steps take about half an hour a run, and by then the
regularizer of sparsity has shown where it draws them.

`python tools/beginnings.py sums`: what becomes of the NAU on sums, with R_z and without, in 1,000 steps, which take
about four minutes a run.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator

import torch
from torch import nn

from arithmos import constrain, input_regularizer_add, sparsity_loss
from arithmos.engines.digits.sequences import Training
from arithmos.experiments import EXPERIMENTS
from arithmos.spec import Spec

SWAPPED = {0: 0.65, 3: 0.33}
"""Where the weight of the image begins, by seed."""


def drawn_once(spec: Spec, seed: int) -> nn.Sequential:
    """The network with weights that are not those of the published run of a seed, which drew them several times."""
    network = spec.network(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for layer in (*network[0].children(), network[1].unit):
            layer.reset_parameters()
    return network


def train(spec: Spec, seed: int, network: nn.Sequential, steps: int) -> Iterator[int]:
    """Trains a network on one core and gives each step before it is made."""
    reader, cell = network
    adam = spec.optimizer
    optimizer = torch.optim.Adam(network.parameters(), lr=adam.lr, betas=(adam.beta1, adam.beta2), eps=adam.eps)
    constrain(optimizer, network)
    training = Training(spec, spec.task, (seed,), torch.device("cpu"))
    for step in range(steps + 1):
        yield step
        epoch, place = divmod(step, training.iterations)
        if place == 0:
            training.begin(epoch)
        images, targets, shares = training.batch(torch.tensor([place]))
        numbers = reader(images.flatten(0, 2).unsqueeze(1)).view(*targets.shape[1:], 1)
        outputs = cell(numbers)
        errors = (outputs.squeeze(2) - targets[0]).square().mean(1)
        loss = errors @ shares + spec.model.schedule(step) * sparsity_loss(cell)
        if spec.model.inputs.strength:  # of sums, whose state is 0 at first
            states = torch.cat([torch.zeros_like(outputs[:, :1]), outputs[:, :-1]], dim=1)
            mean = shares @ torch.cat([numbers, states], dim=2).mean(1)
            loss = loss + spec.model.inputs.strength * input_regularizer_add(cell.unit.weights()["weight"], mean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def swapped(steps: int = 30_000) -> None:
    """Two runs of the NMU on products, each from where the other began."""
    spec = next(spec for spec in EXPERIMENTS["mnist-product-no-rz"].specs if spec.model.name == "NMU")
    for seed, begin in SWAPPED.items():
        network = drawn_once(spec, seed)
        [weight] = network[1].parameters()
        weight.data[0, 0] = begin
        follow(spec, seed, network, steps, f"seed {seed}, begun at {begin}")


def sums(steps: int = 1000) -> None:
    """The ten runs of the NAU on sums, with R_z and without, from where the published ones began."""
    for name in ("mnist-sum", "mnist-sum-no-rz"):
        spec = next(spec for spec in EXPERIMENTS[name].specs if spec.model.name == "NAU")
        for seed in range(10):
            follow(spec, seed, spec.network(seed), steps, f"{name}, seed {seed}")


def follow(spec: Spec, seed: int, network: nn.Sequential, steps: int, name: str) -> None:
    """Trains a network and prints the weights of its cell every thousand steps."""
    [weight] = network[1].parameters()
    for step in train(spec, seed, network, steps):
        if step % 1000 == 0:
            print(f"{name}, step {step}: {weight.detach().flatten().tolist()}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    trials = {"swapped": swapped, "sums": sums}
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("trial", choices=trials)
    trials[parser.parse_args().trial]()
