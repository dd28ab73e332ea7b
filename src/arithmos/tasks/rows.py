"""Users' data as a task: rows of inputs and targets, identified by their digest.

The shared random stream determines the order of the rows, which are cut into training, validation and test rows; a
batch takes training rows with replacement. So any engine draws the same batch at the same step, and only the digest of
the data is part of a run's identity.
"""

import hashlib
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks, philox
from .._keys import NUMBER, PATH, REQUIRED, WHOLE, Key, at
from .read import EXACT as EXACT
from .read import read_numbers
from .task import Columns, Observations, TableDraws, values

_PLAIN = ("digest", "input_size", "output_size", "validation_share", "test_share", "threshold")


class Rows(Observations):
    """Rows of a user's data, split once and batched by the run's seed.

    Args:
        inputs: `[rows, columns]`, finite.
        targets: `[rows]` or `[rows, outputs]`, finite.
        test: inputs and targets of a test set, for extrapolation; by default, test rows are taken from `inputs`.
        validation_share: share of the rows kept for validation.
        test_share: share of the rows kept for the test; unused with a test set.
        threshold: test error below which a run is solved, if there is one.

    Example:
        >>> rows = Rows([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]], [2, 12, 30, 56, 90])
        >>> [len(x) for x, t in (rows.training(), rows.validation(seed=0), rows.test(seed=0))]
        [3, 1, 1]
    """

    kind = "rows"
    version = 1
    """Version, which changes when the same data and seed give other batches."""

    def __init__(
        self,
        inputs: ArrayLike,
        targets: ArrayLike,
        *,
        test: tuple[ArrayLike, ArrayLike] | None = None,
        validation_share: float = 0.2,
        test_share: float = 0.2,
        threshold: float | None = None,
    ) -> None:
        data = _table("inputs", inputs, "targets", targets)
        for name, share in (("validation_share", validation_share), ("test_share", test_share)):
            if not 0 < _checks.number(name, share) < 1:
                raise ValueError(f"{name} must be above 0 and below 1, got {share}")
        n = len(data[0])
        n_validation = max(1, round(validation_share * n))
        n_test = max(1, round(test_share * n)) if test is None else 0
        if n - n_validation - n_test < 1:
            raise ValueError(
                f"inputs must have a training row besides {n_validation} for validation (validation_share) and "
                f"{n_test} for the test (test_share), got {n} rows"
            )
        order = np.argsort(philox.words((0, philox.SHARED), philox.SPLIT, 0, n, 1)[:, 0], kind="stable")
        validation_rows, test_rows, training_rows = np.split(order, [n_validation, n_validation + n_test])
        self._validation = data[0][validation_rows], data[1][validation_rows]
        self._training = data[0][training_rows], data[1][training_rows]
        self._test = data[0][test_rows], data[1][test_rows]
        if test is not None:
            self._test = _table("test inputs", test[0], "test targets", test[1])
            for mine, theirs in zip(self._test, data, strict=True):
                if mine.shape[1] != theirs.shape[1]:
                    raise ValueError(f"test must have {theirs.shape[1]} columns, as the data has, got {mine.shape[1]}")
        self.threshold = None if threshold is None else float(_checks.number("threshold", threshold))
        self.validation_share = float(validation_share)
        self.test_share = float(test_share) if test is None else 0.0
        self.digest = _digest(*data, *(self._test if test is not None else ()))

    def __repr__(self) -> str:
        return f"Rows({self.digest}, {self.input_size} -> {self.output_size})"

    def __eq__(self, other: object) -> bool:
        return self.plain() == other.plain() if isinstance(other, Rows) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.digest, self.validation_share, self.test_share, self.threshold))

    def plain(self) -> dict[str, Any]:
        """Return the task as values that JSON can hold."""
        return {name: getattr(self, name) for name in ("kind", "version", *_PLAIN)}

    @classmethod
    def from_plain(
        cls,
        plain: Mapping[str, Any],
        *,
        inputs: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        test: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> "Rows":
        """Return the task with this plain form, which only has a digest of the data: the data must be given again.

        Args:
            plain: result of `plain`.
            inputs: the same inputs.
            targets: the same targets.
            test: the same test set, if there was one.
        """
        known = values(cls, plain, _PLAIN)
        digest, own_test = known["digest"], not known["test_share"]
        if inputs is None or targets is None or (own_test and test is None):
            needed = "inputs, targets and test" if own_test else "inputs and targets"
            raise ValueError(f"{needed} of the rows with digest {digest} must be given: a spec does not hold them")
        shares = {name: known[name] for name in ("validation_share", "test_share")[: 1 if own_test else 2]}
        rows = cls(inputs, targets, test=test, threshold=known["threshold"], **shares)
        if rows.plain() != dict(plain):
            raise ValueError(f"inputs and targets must be the rows with digest {digest}, got {rows}")
        return rows

    @staticmethod
    def keys() -> tuple[Key, ...]:
        """Return the keys of the task in an experiment file."""
        return (
            Key("rows", PATH, "Your data: a .csv file, whose first line may be names, or an .npy file.", REQUIRED),
            Key("targets", WHOLE, "Number of the last columns that are targets; the others are inputs.", 1),
            Key("test", PATH, "File of test rows; by default, some rows of the data are kept for the test."),
            Key("validation_share", NUMBER, "Share of the rows kept for validation.", 0.2, sweep=True),
            Key("test_share", NUMBER, "Share of the rows kept for the test.", 0.2, sweep=True),
            Key("threshold", NUMBER, "Test error below which a run is solved.", sweep=True),
        )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], folder: Path) -> "Rows":
        """Return the task with these settings of an experiment file; its paths are relative to the folder."""
        others = {name: value for name, value in settings.items() if name not in ("rows", "test", "targets")}
        targets = _checks.whole("targets", settings.get("targets", 1), 1)
        data = {}
        for name in ("rows", "test"):
            if name in settings:
                with at(f"{name}: "):
                    found = read_numbers(folder / settings[name])
                    if found.shape[1] <= targets:
                        raise ValueError(f"it must have inputs besides {targets} targets, got {found.shape[1]} columns")
                    data[name] = found[:, :-targets], found[:, -targets:]
        return cls(*data["rows"], test=data.get("test"), **others)

    def settings(self) -> dict[str, Any]:
        """Raise ValueError: a file cannot hold the rows."""
        raise ValueError(f"a task with data in memory cannot be written as TOML, got {self!r}")

    @staticmethod
    def sizes(plain: Mapping[str, Any]) -> tuple[int, int]:
        """Return the width of input and output from a plain form of any version."""
        return plain["input_size"], plain["output_size"]

    @staticmethod
    def columns() -> Columns:
        """Return the columns of a store."""
        return {"rows": (str, "digest of the user's data")}

    @staticmethod
    def column_values(plain: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a plain form of any version."""
        return {"rows": plain["digest"]}

    @staticmethod
    def words(plain: Mapping[str, Any]) -> str:
        """Describe a plain form of any version in a few words."""
        return f"rows of data, {plain['input_size']} inputs"

    @property
    def input_size(self) -> int:
        """Number of input columns."""
        return int(self.training()[0].shape[1])

    @property
    def output_size(self) -> int:
        """Number of target columns."""
        return int(self.training()[1].shape[1])

    def thresholds(self) -> dict[str, float]:
        """Return the test error below which a run is solved, by name, if there is one."""
        return {} if self.threshold is None else {"threshold": self.threshold}

    def training(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the rows from which batches are drawn."""
        return self._training

    def validation(self, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the validation rows, the same for every seed."""
        return self._validation

    def test(self, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the test rows, the same for every seed."""
        return self._test

    def draws(self, seed: int) -> TableDraws:
        """Return the rows from which batches are drawn."""
        return TableDraws(self.training)

    def indices(self, seed: int, step: int, size: int) -> NDArray[np.int64]:
        """Return the indices of the training rows in the batch of one iteration: floor(word · rows / 2³²)."""
        word = philox.words((seed, philox.RUN), philox.ROWS, step, size, 1)[:, 0].astype(np.uint64)
        return ((word * np.uint64(len(self.training()[0]))) >> np.uint64(32)).astype(np.int64)

    def batch(self, seed: int, step: int, size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the inputs and targets of one training iteration."""
        x, t = self.training()
        chosen = self.indices(seed, step, size)
        return x[chosen], t[chosen]


def _table(
    inputs_name: str, inputs: ArrayLike, targets_name: str, targets: ArrayLike
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    x, t = _matrix(inputs_name, inputs), _matrix(targets_name, targets, column=True)
    if len(x) != len(t):
        raise ValueError(f"{inputs_name} and {targets_name} must have as many rows, got {len(x)} and {len(t)}")
    return x, t


def _matrix(name: str, values: ArrayLike, *, column: bool = False) -> NDArray[np.float32]:
    try:
        given = np.asarray(values)
    except ValueError as error:  # rows of several lengths
        raise ValueError(f"{name} must be a table of numbers: {error}") from error
    if given.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a table of numbers, got {_checks.shown(values)}")
    check_integers(name, values)
    if column and given.ndim == 1:
        given = given[:, None]
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(given, dtype=np.float32)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a table with at least one row and one column, got shape {array.shape}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name} must be finite, got {array[row, column]} in row {row}, column {column}")
    return array


def check_integers(name: str, values: ArrayLike) -> None:
    """Raise if there are integers so large that float64 rounds them."""
    array = np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, object)  # keep integers
    if array.dtype.kind in "iu" and array.size:
        integers = [int(array.max()), int(array.min())]
    else:
        integers = [int(v) for v in array.flat if isinstance(v, Integral)] if array.dtype.kind == "O" else []
    far = max(integers, key=abs, default=0)
    if abs(far) > EXACT:
        raise ValueError(f"{name} must have integers within ±2^53, beyond which float64 skips some, got {far}")


def _digest(*arrays: NDArray[np.float32]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
