"""Test whether the initial weights of a run on handwritten digits decide what it learns, for docs/digits.md.

`python tools/initial_weights.py swapped` swaps two initial weights. In the earlier runs without R_z the weight of the
image of an NMU goes to 0 for seed 0, which starts at 0.33, and to 1 for seed 3, which starts at 0.65. Here each starts
with the other's weight; everything else, including the images and their order, stays the same. 30,000 steps take about
half an hour per run on one core, and show where the sparsity regularizer pulls the weights.

`python tools/initial_weights.py sums` trains NAU and NAC₊ on sums, with and without R_z, for 1,000 steps, which take
about five minutes per run.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter

import torch
from torch import nn

from arithmos.engines.contract import NO_CONTROL
from arithmos.engines.digits.stack import Stack
from arithmos.papers import EXPERIMENTS
from arithmos.spec import Spec

SWAPPED = {0: 0.65, 3: 0.33}
"""Initial weight of the image, by seed."""


def drawn_once(spec: Spec, seed: int) -> nn.Sequential:
    """Return a network initialized once, unlike the published run of the seed, which was initialized several times."""
    network = spec.network(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for layer in (*network[0].children(), network[1].unit):
            layer.reset_parameters()
    return network


def swapped(steps: int = 30_000) -> None:
    """Train two runs of the NMU on products, each with the initial weight of the other."""
    spec = next(spec for spec in EXPERIMENTS["mnist-product-no-rz"].specs if spec.model.name == "NMU")
    for seed, begin in SWAPPED.items():
        network = drawn_once(spec, seed)
        [weight] = network[1].parameters()
        weight.data[0, 0] = begin
        follow(spec, seed, network, steps, f"seed {seed}, started at {begin}")


def sums(steps: int = 1000) -> None:
    """Train ten runs each of NAU and NAC₊ on sums, with and without R_z, with the published initial weights."""
    for spec in EXPERIMENTS["mnist-rz"].select(operations=["add"]).specs:
        for seed in range(10):
            follow(spec, seed, spec.network(seed), steps, f"{spec.model.label}, seed {seed}")


def follow(spec: Spec, seed: int, network: nn.Sequential, steps: int, name: str) -> None:
    """Train a run from the weights of a network, and print those of its cell every thousand steps."""
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
