"""Does where a run on handwritten digits begins settle how it ends? Two trials for docs/reproduction.md, on one core.

`python tools/beginnings.py swapped`: without R_z, and from weights drawn once, the weight of the image of an NMU ends
at 0 for seed 0, where it begins at 0.33, and at 1 for seed 3, where it begins at 0.65. Here each begins where the other
did; all else, images and their order too, is as it was. 30,000 steps take about half an hour a run, and by then the
regularizer of sparsity has shown where it draws them.

`python tools/beginnings.py sums`: what becomes of NAU and NAC₊ on sums, with R_z and without, in 1,000 steps, which
take about five minutes a run.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter

import torch
from torch import nn

from arithmos.engines.contract import NO_CONTROL
from arithmos.engines.digits.stack import Stack
from arithmos.papers import EXPERIMENTS
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


def swapped(steps: int = 30_000) -> None:
    """Two runs of the NMU on products, each from where the other began."""
    spec = next(spec for spec in EXPERIMENTS["mnist-product-no-rz"].specs if spec.model.name == "NMU")
    for seed, begin in SWAPPED.items():
        network = drawn_once(spec, seed)
        [weight] = network[1].parameters()
        weight.data[0, 0] = begin
        follow(spec, seed, network, steps, f"seed {seed}, begun at {begin}")


def sums(steps: int = 1000) -> None:
    """The ten runs each of NAU and NAC₊ on sums, with R_z and without, from where the published ones began."""
    for spec in EXPERIMENTS["mnist-rz"].select(operations=["add"]).specs:
        for seed in range(10):
            follow(spec, seed, spec.network(seed), steps, f"{spec.model.label}, seed {seed}")


def follow(spec: Spec, seed: int, network: nn.Sequential, steps: int, name: str) -> None:
    """Trains a run from the weights of a network, and prints those of its cell every thousand steps."""
    stack = Stack([(spec, seed)], torch.device("cpu"), NO_CONTROL)
    cell = [*stack.groups[0].cells.parameters.values()]
    with torch.no_grad():
        for own, begin in zip([*stack.reader.values(), *cell], network.parameters(), strict=True):
            own.copy_(begin)
    for step in range(0, steps + 1, 1000):
        if step:
            stack.advance(1000)
        nn.utils.vector_to_parameters(torch.cat([own.flatten() for own in cell]), network[1].parameters())
        print(f"{name}, step {stack.step}: {network[1].unit.weights()['weight'].flatten().tolist()}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    trials = {"swapped": swapped, "sums": sums}
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("trial", choices=trials)
    trials[parser.parse_args().trial]()
