"""Data sets for tasks."""

from ._digits import Digits as Digits
from ._idx import BadFile as BadFile
from ._idx import read_idx as read_idx
from ._mnist import MNIST_DIGEST as MNIST_DIGEST
from ._mnist import fetch_mnist as fetch_mnist
from ._mnist import mnist as mnist
