"""Images of digits and their labels."""

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
IMAGE = (28, 28)


@dataclass(frozen=True, eq=False)
class Digits:
    """Images of handwritten digits and their labels, in read-only arrays.

    Args:
        train_images: `[n, 28, 28]` bytes, 0 for paper and 255 for ink.
        train_labels: `[n]` bytes, the digits 0 to 9.
        test_images: as `train_images`.
        test_labels: as `train_labels`.

    Example:
        >>> images, labels = np.zeros((2, 28, 28), np.uint8), np.array([3, 7], np.uint8)
        >>> Digits(images, labels, images, labels)
        Digits(2 for training, 2 for testing, 7734674790eecd1c7009f420880a5c66)
    """

    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes

    def __post_init__(self) -> None:
        for field in fields(self):
            array = getattr(self, field.name)
            if not isinstance(array, np.ndarray) or array.dtype != np.uint8:
                raise ValueError(f"{field.name} must be an array of uint8, got {getattr(array, 'dtype', type(array))}")
            object.__setattr__(self, field.name, _read_only(array))
        for part in ("train", "test"):
            images, labels = getattr(self, f"{part}_images"), getattr(self, f"{part}_labels")
            if images.shape[1:] != IMAGE:
                raise ValueError(f"{part}_images must be of shape (n, 28, 28), got {images.shape}")
            if labels.shape != images.shape[:1]:
                raise ValueError(f"{part}_labels must be {len(images)}, one per image, got shape {labels.shape}")
            if (labels > 9).any():
                raise ValueError(f"{part}_labels must be digits from 0 to 9, got {labels.max()}")

    def __repr__(self) -> str:
        return f"Digits({len(self.train_images)} for training, {len(self.test_images)} for testing, {self.digest})"

    @cached_property
    def digest(self) -> str:
        """Identifier of these images and labels, 32 hexadecimal digits."""
        digest = hashlib.blake2b(digest_size=16)
        for field in fields(self):
            array = getattr(self, field.name)
            digest.update(repr(array.shape).encode())
            digest.update(array)
        return digest.hexdigest()


def _read_only(array: Bytes) -> Bytes:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
