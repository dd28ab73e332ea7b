import dataclasses

import numpy as np
import pytest
from tests.digits import make_digits

from arithmos.data import Digits


def test_the_digest_names_the_digits():
    digits = make_digits()
    assert digits.digest == make_digits().digest
    assert digits.digest != make_digits(seed=1).digest
    swapped = Digits(digits.test_images, digits.test_labels, digits.train_images, digits.train_labels)
    assert digits.digest != swapped.digest


def test_digits_cannot_be_written_to():
    images, labels = np.zeros((1, 28, 28), np.uint8), np.zeros(1, np.uint8)
    digits = Digits(images, labels, images, labels)
    with pytest.raises(ValueError, match="read-only"):
        digits.train_images[0] = 1
    images[0] = 1  # what the caller has stays the caller's
    with pytest.raises(dataclasses.FrozenInstanceError):
        digits.train_images = images


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_images": np.zeros((200, 28, 28))}, "train_images must be an array of uint8, got float64"),
        ({"test_labels": [1, 2]}, "test_labels must be an array of uint8, got <class 'list'>"),
        ({"test_images": np.zeros((100, 8, 8), np.uint8)}, r"test_images must be of shape \(n, 28, 28\), got \(100, 8"),
        ({"train_labels": np.zeros(3, np.uint8)}, r"train_labels must be 200, one per image, got shape \(3,\)"),
        ({"test_labels": np.full(100, 12, np.uint8)}, "test_labels must be digits from 0 to 9, got 12"),
    ],
)
def test_what_are_no_digits(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(make_digits(), **changes)
