"""Seeds of many runs in little memory."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import overload


class Seeds(Sequence[int]):
    """Seeds in ascending order, kept as ranges: the first million takes no more memory than the first ten.

    Args:
        ranges: ranges of step 1, each after the one before it.

    Example:
        >>> seeds = Seeds.without(range(10), [2, 3, 7])
        >>> len(seeds), seeds[2], seeds[-2:], [*seeds]
        (7, 4, (8, 9), [0, 1, 4, 5, 6, 8, 9])
    """

    def __init__(self, ranges: Iterable[range]) -> None:
        self._ranges = [part for part in ranges if part]
        self._ends = [*accumulate(map(len, self._ranges))]

    @classmethod
    def without(cls, seeds: range, stored: Iterable[int]) -> "Seeds":
        """Return the seeds of a range that are not stored; the stored ones ascend."""
        bounds = [seeds.start - 1, *(seed for seed in stored if seed in seeds), seeds.stop]
        return cls(range(low + 1, high) for low, high in pairwise(bounds))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._ranges)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return tuple(self[place] for place in places)
        number = bisect_right(self._ends, places)
        return self._ranges[number][places - self._ends[number]]

    def __repr__(self) -> str:
        return f"Seeds({self._ranges})"
