"""Images and sequences of a stack of runs, on the device where they train.

Nothing of an epoch is computed on the host: the order of its sequences is a function of seed and epoch, which the
device computes as `DigitSequences.at` does.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ... import philox
from ...nn._noise import words
from ...spec import Spec
from ...tasks import DigitSequences
from ...tasks.digits import Part


def pixels(task: DigitSequences, part: Part, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return scaled images `[n, 28, 28]` and the digits they show `[n]`."""
    images, labels = task.pixels(part)
    mean, deviation = task.scale
    scaled = (torch.from_numpy(images.copy()).to(device).float() / 255 - mean) / deviation
    return scaled, torch.from_numpy(labels.astype(np.int64)).to(device)


def accumulated(task: DigitSequences, labels: Tensor) -> Tensor:
    """Return the targets of every step of sequences of labels `[…, time]`, in float64."""
    numbers = labels.double()
    return numbers.cumprod(-1) if task.operation == "mul" else numbers.cumsum(-1)


class TrainingSequences:
    """Training sequences of a stack of runs, batch by batch.

    A batch is taken from buffers that stay in place, at an iteration that is a tensor, so that one recorded graph
    serves all iterations.

    Args:
        spec: spec that the runs share, except for the model.
        seeds: one per run.
        device: device to train on.
    """

    def __init__(self, spec: Spec, task: DigitSequences, seeds: tuple[int, ...], device: torch.device) -> None:
        self.task, self.batch_size = task, spec.batch_size
        self.images, self.labels = pixels(task, "training", device)
        self.seeds = torch.tensor(seeds, dtype=torch.int64, device=device)
        self.iterations = task.epoch(spec.batch_size)
        if task.fixed:
            unique = {seed: task.training(seed) for seed in dict.fromkeys(seeds)}
            self._own = torch.from_numpy(np.stack([unique[seed] for seed in seeds])).to(device)  # [s, sequences, time]
        first = spec.batch_size * np.arange(self.iterations)[:, None]
        counts = np.minimum(spec.batch_size, task.sequences - first)
        place = np.arange(spec.batch_size)
        # The last batch is filled up with repeated sequences of weight 0.
        self._rows = torch.from_numpy((first + place % counts).ravel()).to(device)
        self._weights = torch.from_numpy(((place < counts) / counts).astype(np.float32)).to(device)
        self._chosen = torch.zeros(len(seeds), len(self._rows), task.length, dtype=torch.int64, device=device)

    def begin(self, epoch: int) -> None:
        """Put the sequences in the order of an epoch."""
        task = self.task
        count = task.sequences if task.fixed else task.images
        word = words(self.seeds, philox.ORDER, epoch, count, 1)[..., 0]
        order = word.argsort(dim=1, stable=True)
        if task.fixed:
            rows = order[:, self._rows].unsqueeze(2).expand(-1, -1, task.length)
            torch.gather(self._own, 1, rows, out=self._chosen)
        else:
            cut = order[:, : task.sequences * task.length].reshape(len(order), task.sequences, task.length)
            torch.index_select(cut, 1, self._rows, out=self._chosen)

    def batch(self, iteration: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return images `[s, b, time, 28, 28]`, targets `[s, b, time]` and weights `[b]` of an iteration."""
        s, _, time = self._chosen.shape
        chosen = self._chosen.view(s, self.iterations, self.batch_size, time).index_select(1, iteration).squeeze(1)
        targets = accumulated(self.task, self.labels[chosen]).float()
        return self.images[chosen], targets, self._weights.index_select(0, iteration).squeeze(0)


class Evaluation:
    """Set of images with sequences of one or more lengths cut from it, the same for all runs.

    Sequences of all lengths are stepped together; those that have ended are left out of further steps, so they are kept
    in order of length, the longest first.

    Args:
        task: task that defines images and sequences.
        part: part of the images.
        lengths: lengths of the sequences.
        device: device to evaluate on.
    """

    def __init__(self, task: DigitSequences, part: Part, lengths: tuple[int, ...], device: torch.device) -> None:
        self.images, self.labels = pixels(task, part, device)
        self.lengths = lengths
        longest = sorted(set(lengths), reverse=True)
        cut = {length: task.evaluation(part, length) for length in longest}
        self.steps = longest[0]
        labels = self.labels.cpu().numpy()
        self.places = self._columns(cut, device)  # each [sequences still going]
        self.targets = self._columns({n: task.targets(labels[sequences]) for n, sequences in cut.items()}, device)
        counts = {length: len(sequences) for length, sequences in cut.items()}
        steps = [counts[length] * length for length in lengths]
        self.counts = torch.tensor(steps, dtype=torch.float64, device=device)
        ends = np.cumsum([counts[length] for length in longest])
        self.spans = [(int(ends[longest.index(n)]) - counts[n], int(ends[longest.index(n)])) for n in lengths]

    def _columns(self, rows: dict[int, NDArray[Any]], device: torch.device) -> list[Tensor]:
        """Return what belongs to each step, of the sequences that are as long, from what belongs to sequences."""
        columns = ([one[:, t] for length, one in rows.items() if length > t] for t in range(self.steps))
        return [torch.from_numpy(np.concatenate(column)).to(device) for column in columns]
