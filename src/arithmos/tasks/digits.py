r"""Sequences of handwritten digits: the running product, or sum, of the digits on the images.

.. math:: t_i = \prod_{j \le i} d_j \qquad \text{or} \qquad t_i = \sum_{j \le i} d_j

A network sees one image per step and learns the target after each. It trains on short sequences and is tested on
longer ones. The images are put in an order and cut into sequences; the remainder is dropped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _checks, philox
from .._keys import FLAG, NUMBER, TEXT, WHOLE, WHOLES, Key
from .._keys import fields as keys
from ..data import MNIST_DIGEST, Digits, mnist
from .arithmetic import symbol
from .task import Columns, ReferenceRule, Task, values
from .threshold import reference_rules

Images = NDArray[np.uint8]
Indices = NDArray[np.int64]
Part = Literal["training", "validation", "test"]

ORDERS: dict[Part, int] = {"training": 62379872, "validation": 47430696, "test": 88253339}
"""Seeds of the orders in which all runs are evaluated, as in the published runs."""

EXTRA = ("curve_training", "curve_lengths", "digit_outputs", "digit_spreads")
"""Further results of a run: training errors at the records of its curve; test errors of each test length, record by
record; mean and standard deviation of the numbers read off the test images of each digit at the best record."""


@dataclass(frozen=True, kw_only=True)
class DigitSequences(Task):
    """Running products or sums of digits that are only seen as images.

    Args:
        operation: "mul" or "add".
        length: images in a training or validation sequence.
        test_lengths: images in the sequences of each test; `length` is one of them.
        digits: the digits that occur; the published runs multiplied no zeros.
        images: training images of these digits.
        validation_size: number of the last training images, before any digit is left out, used for validation.
        fixed: whether a training sequence holds the same images for a whole run, as in the published runs, so that only
            the order of sequences changes; otherwise every epoch cuts the images anew.
        every_step: whether the loss counts every step of a sequence, as in the published runs, or only the last.
        initial: state of the cell before the first image. None for the neutral value, 1 for products and 0 for sums,
            but 0 for gated units and the LSTM, as in the published runs.
        data: digest of the images and labels.
        source: images and labels other than MNIST; `images` and `data` then follow from them.

    Example:
        >>> task = DigitSequences(operation="mul", length=2, test_lengths=(1, 2), digits=(1, 2, 3), images=100)
        >>> task.targets(np.array([[2, 3], [3, 3]])).tolist()
        [[2.0, 6.0], [3.0, 9.0]]
    """

    kind = "digits"
    sequential = True
    input_size = 2
    """The number that was read, and the cell's own state."""
    output_size = 1
    scale = 0.1307, 0.3081
    """Mean and standard deviation of the pixels of MNIST, by which images are put to scale."""
    version = 2
    """Version, which changes when a task and seed give other batches or initial weights, or with the reader."""

    operation: Literal["mul", "add"] = field()
    length: int = field()
    test_lengths: tuple[int, ...] = field()
    digits: tuple[int, ...]
    images: int
    validation_size: int = 5000
    fixed: bool = True
    every_step: bool = True
    initial: float | None = None
    data: str = MNIST_DIGEST
    source: Digits | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _checks.one_of("operation", self.operation, ("mul", "add"))
        for name in ("length", "images", "validation_size"):
            object.__setattr__(self, name, _checks.whole(name, getattr(self, name)))
        for name in ("test_lengths", "digits"):
            object.__setattr__(self, name, _checks.wholes(name, getattr(self, name)))
        for name in ("fixed", "every_step"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {_checks.shown(getattr(self, name))}")
        if self.initial is not None:
            object.__setattr__(self, "initial", _checks.number("initial", self.initial))
        if not self.digits or not set(self.digits) <= set(range(10)):
            raise ValueError(f"digits must be some of 0 to 9, got {self.digits}")
        object.__setattr__(self, "digits", tuple(sorted(set(self.digits))))  # unordered: results are stored by digit
        if self.length not in self.test_lengths or min(self.test_lengths) < 1:
            raise ValueError(f"test_lengths must be at least 1 and have length {self.length}, got {self.test_lengths}")
        if self.source is not None:
            object.__setattr__(self, "data", self.source.digest)
            object.__setattr__(self, "images", len(self._eligible("training")))
        if self.images < self.length:
            raise ValueError(
                f"images must be enough for one sequence of {self.length}, got {self.images} training images of the "
                f"digits {', '.join(map(str, self.digits))}"
            )

    def plain(self) -> dict[str, Any]:
        """Return the task as values that JSON can hold."""
        names = ("kind", "version", "operation", "length", "images", "validation_size", "fixed", "every_step", "data")
        return {
            **{name: getattr(self, name) for name in names},
            **{name: list(getattr(self, name)) for name in ("test_lengths", "digits")},
            "initial": None if self.initial is None else float(self.initial),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], *, source: Digits | None = None) -> "DigitSequences":
        """Return the task with this plain form.

        Args:
            plain: result of `plain`.
            source: images and labels, if they are not MNIST; those of another digest are refused.
        """
        known = values(cls, plain, [field.name for field in fields(cls) if field.name != "source"])
        if source is not None and source.digest != known["data"]:
            raise ValueError(f"source must be the digits with digest {known['data']}, got {source.digest}")
        return cls(**known, source=source)

    @staticmethod
    def keys() -> tuple[Key, ...]:
        """Return the keys of the task in an experiment file."""
        return keys(
            DigitSequences,
            ("operation", TEXT, "mul or add."),
            ("length", WHOLE, "Images in a training sequence."),
            ("initial", NUMBER, "State of the cell before the first image; as published by default."),
        ) + keys(
            DigitSequences,
            ("digits", WHOLES, "Digits that occur."),
            ("test_lengths", WHOLES, "Images in the sequences of each test; the length is one of them."),
            ("images", WHOLE, "Training images of these digits: 55,000 of all digits, 49,566 without the zeros."),
            ("validation_size", WHOLE, "Number of the last training images used for validation."),
            ("fixed", FLAG, "Whether a training sequence holds the same images for a whole run."),
            ("every_step", FLAG, "Whether the loss counts every step of a sequence, or only the last."),
            sweep=False,
        )

    def settings(self) -> dict[str, Any]:
        """Return the settings of an experiment file for this task.

        Raises:
            ValueError: its images are not MNIST.
        """
        if self.source is not None:
            raise ValueError(f"a task of data at hand cannot be written as TOML, got {self!r}")
        return super().settings()

    @staticmethod
    def sizes(plain: Mapping[str, Any]) -> tuple[int, int]:
        """Return the width of input and output from a plain form of any version."""
        return 2, 1

    @staticmethod
    def columns() -> Columns:
        """Return the columns of a store."""
        return {
            "operation": (str, "add or mul"),
            "images": (str, "digest of the images and labels"),
            "digits": (list, "digits that occur"),
            "length": (int, "images in a training sequence"),
            "test_lengths": (list, "images in the sequences of each test"),
        }

    @staticmethod
    def column_values(plain: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a plain form of any version."""
        _checks.one_of("operation", plain["operation"], ("mul", "add"))
        if plain["length"] not in plain["test_lengths"] or plain["digits"][0] not in range(10):
            raise ValueError(f"length must be one of test_lengths, and digits some of 0 to 9, got {dict(plain)}")
        names = ("operation", "digits", "length", "test_lengths")
        return {"images": plain["data"], **{name: plain[name] for name in names}}

    @staticmethod
    def extra_sizes(plain: Mapping[str, Any], records: int) -> dict[str, int]:
        """Return the sizes of the further results of a run with this many records, by name."""
        digits = len(plain["digits"])
        sizes = (records, records * len(plain["test_lengths"]), digits, digits)
        return dict(zip(EXTRA, sizes, strict=True))

    @staticmethod
    def words(plain: Mapping[str, Any]) -> str:
        """Describe a plain form of any version in a few words."""
        return f"{symbol(plain['operation'])} of {plain['length']} digits"

    @property
    def images_per_observation(self) -> int:
        """One image per step."""
        return self.length

    def references(self) -> dict[str, ReferenceRule]:
        """Return the rules for thresholds from reference runs, one per test length, by name."""
        return reference_rules(self.operation)

    @property
    def sequences(self) -> int:
        """Number of training sequences."""
        return self.images // self.length

    def epoch(self, batch_size: int) -> int:
        """Return the iterations that see every training sequence once; the last batch may be smaller."""
        return -(-self.sequences // batch_size)

    def memory(self, batch_size: int, records: int) -> dict[str, int]:
        """Return the bytes of a batch of images, in float32, and of the records, all of which are kept."""
        return {
            "batch_size or length": 4 * 28 * 28 * batch_size * self.length,
            "iterations / evaluate_every": 4 * records * (3 + len(self.test_lengths)),
        }

    @cached_property
    def _digits(self) -> Digits:
        source = _mnist() if self.source is None else self.source
        if source.digest != self.data:
            raise ValueError(f"the digits must be those of the task, {self.data}, got {source.digest}")
        return source

    def _eligible(self, part: Part) -> Indices:
        labels = self._labels(part)
        found = np.flatnonzero(np.isin(labels, self.digits))
        if not len(found):
            raise ValueError(f"none of the {len(labels)} {part} images shows one of the digits {self.digits}")
        return found

    def _labels(self, part: Part) -> Images:
        labels: Images = self._digits.test_labels if part == "test" else self._digits.train_labels[self._cut(part)]
        return labels

    def _cut(self, part: Part) -> slice:
        end = len(self._digits.train_labels) - self.validation_size
        if end < 1:
            raise ValueError(f"validation_size must leave images for training, got {self.validation_size}")
        return slice(None, end) if part == "training" else slice(end, None)

    def pixels(self, part: Part) -> tuple[Images, Images]:
        """Return images `[n, 28, 28]` of the task's digits, and the digits they show `[n]`."""
        source, kept = self._digits, self._eligible(part)
        images = source.test_images if part == "test" else source.train_images[self._cut(part)]
        return images[kept], self._labels(part)[kept]

    def cut(self, order: Indices, length: int) -> Indices:
        """Cut images in a given order into sequences `[n, length]`."""
        count = len(order) // length
        return order[: count * length].reshape(count, length)

    def evaluation(self, part: Part, length: int) -> Indices:
        """Return the sequences `[n, length]`, as indices into `pixels`, on which all runs are evaluated."""
        order = np.random.RandomState(ORDERS[part]).permutation(len(self._eligible(part)))
        sequences = self.cut(order, length)
        if not len(sequences):
            raise ValueError(f"{len(order)} {part} images are not enough for a sequence of {length}")
        return sequences

    def training(self, seed: int) -> Indices:
        """Return the training sequences `[sequences, length]` of a run, as indices into `pixels`, if they are fixed."""
        own = int(np.random.RandomState(seed).randint(0, 2**32 - 1, dtype=np.int64))
        return self.cut(np.random.RandomState(own).permutation(self.images), self.length)

    def at(self, seed: int, epoch: int) -> Indices:
        """Return the training sequences of a run in the order of an epoch, which depends on seed and epoch alone."""
        count = self.sequences if self.fixed else self.images
        word = philox.words((seed, philox.RUN), philox.ORDER, epoch, count, 1)[:, 0]
        order = np.argsort(word, kind="stable")
        return self.training(seed)[order] if self.fixed else self.cut(order, self.length)

    def targets(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Return the targets of every step of sequences of labels `[n, length]`."""
        accumulate = np.multiply if self.operation == "mul" else np.add
        values: NDArray[np.float64] = accumulate.accumulate(labels.astype(np.float64), axis=1)
        return values

    def formula(self, seed: int) -> str:
        """Return the target as an expression, for people."""
        return ("*" if self.operation == "mul" else " + ").join(f"d{i + 1}" for i in range(self.length))


@lru_cache(maxsize=1)
def _mnist() -> Digits:
    return mnist()
