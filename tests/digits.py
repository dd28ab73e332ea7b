"""Digits that a small network tells apart at a glance, and files of them."""

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from arithmos.data import Digits
from arithmos.data._mnist import FILES


def make_digits(train: int = 200, test: int = 100, seed: int = 0) -> Digits:
    """Images whose ink, under some noise, lies in one of ten places, each place a digit."""
    rng = np.random.default_rng(seed)
    labels = [rng.integers(10, size=size).astype(np.uint8) for size in (train, test)]
    images = [_draw(part, rng) for part in labels]
    return Digits(images[0], labels[0], images[1], labels[1])


def _draw(labels: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    images = rng.integers(30, size=(len(labels), 28, 28)).astype(np.uint8)
    for image, digit in zip(images, labels.tolist(), strict=True):
        row, column = divmod(digit, 5)
        image[14 * row : 14 * row + 12, 5 * column : 5 * column + 5] += 200
    return images


def idx(array: NDArray[np.uint8]) -> bytes:
    """An array as the bytes of an IDX file."""
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_digits(folder: Path, digits: Digits, *, zipped: bool = True) -> Path:
    """The four files of MNIST, with these digits in them."""
    folder.mkdir(parents=True, exist_ok=True)
    for field, file in FILES.items():
        data = idx(getattr(digits, field))
        name = f"{file.name}.gz" if zipped else file.name
        (folder / name).write_bytes(gzip.compress(data, mtime=0) if zipped else data)
    return folder
