"""Map-style and iterable-style datasets."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import accumulate
from typing import Any, Generic, TypeVar, cast

from dovetail_aten import Generator, Tensor
from dovetail_kernel import warn_user

from .sampler import permutation

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Base class of datasets with samples by index or key; subclasses define ``__getitem__``.

    Most samplers need ``__len__`` too. An optional method ``__getitems__`` returns the samples for
    a list of indices at once.
    """

    def __getitem__(self, index: Any) -> _T_co:
        """Return a sample."""
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[_T_co]) -> Dataset[_T_co]:
        """Return the samples of this dataset and those of another behind them."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Base class of datasets that yield samples by ``__iter__``.

    Every worker process iterates over the whole dataset, so samples repeat unless ``__iter__``
    divides them between the workers with `get_worker_info`.
    """

    def __add__(self, other: object) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors of one length: sample `i` has row `i` of each.

    Parameters
    ----------
    *tensors : Tensor
        Tensors whose first dimensions are equal.

    Raises
    ------
    AssertionError
        If that size differs.
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any([tensors[0].size(0) != tensor.size(0) for tensor in tensors]):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: object) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Combined samples of several datasets: tuples for positional arguments, dicts for keyword
    arguments.

    Raises
    ------
    ValueError
        If the lengths differ, or if not exactly one form is used.
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        each = args or tuple(kwargs.values())
        self._length = len(each[0])
        if any([len(dataset) != self._length for dataset in each]):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: object) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple([dataset[index] for dataset in self.datasets])

    def __getitems__(self, indices: Sequence[object]) -> list[Any]:
        """Return the samples of several indices."""
        if isinstance(self.datasets, dict):
            columns = [_samples(dataset, indices) for dataset in self.datasets.values()]
            rows = zip(*columns, strict=True)
            return [dict(zip(self.datasets, row, strict=True)) for row in rows]
        columns = [_samples(dataset, indices) for dataset in self.datasets]
        return list(zip(*columns, strict=True))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """The concatenated samples of datasets.

    Raises
    ------
    AssertionError
        If there are no datasets, or if one is an `IterableDataset`.
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[object]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any([isinstance(dataset, IterableDataset) for dataset in self.datasets]):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate([len(dataset) for dataset in self.datasets]))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> _T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return cast("_T_co", self.datasets[which][index - before])

    @property
    def cummulative_sizes(self) -> list[int]:
        """Deprecated alias of ``cumulative_sizes``."""
        warn_user("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """The concatenated samples of iterable datasets.

    Raises
    ------
    AssertionError
        On reaching a dataset that is not iterable.
    """

    def __init__(self, datasets: Iterable[object]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from self._checked(dataset)

    def __len__(self) -> int:
        return sum([len(self._checked(dataset)) for dataset in self.datasets])

    def _checked(self, dataset: object) -> Any:
        if not isinstance(dataset, IterableDataset):
            raise AssertionError("ChainDataset only supports IterableDataset")
        return dataset


class Subset(Dataset[_T_co]):
    """The samples of a dataset at given indices.

    Parameters
    ----------
    dataset : Dataset
    indices : sequence
        Indices into the dataset, in order.
    """

    dataset: Any
    indices: Sequence[Any]

    def __init__(self, dataset: object, indices: Sequence[object]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[each] for each in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return the samples of several indices."""
        return _samples(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Sized, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Split a dataset randomly into disjoint subsets.

    Parameters
    ----------
    dataset : Dataset
        A dataset with a length.
    lengths : sequence
        The numbers of samples, or fractions that sum to 1; samples left over by rounding down are
        added to the first subsets, one each.
    generator : Generator, optional
        Source of the permutation. Default: the default generator.

    Returns
    -------
    list of Subset

    Raises
    ------
    ValueError
        If the lengths do not sum to the length of the dataset, or if a fraction is invalid.
    """
    counts = list(lengths)
    if math.isclose(sum(counts), 1) and sum(counts) <= 1:
        counts = _counts_of_fractions(counts, len(dataset))
    if sum(counts) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = permutation(int(sum(counts)), generator)
    ends = accumulate(counts)
    return [
        Subset(dataset, indices[int(end - count) : int(end)])
        for count, end in zip(counts, ends, strict=True)
    ]


def _counts_of_fractions(fractions: Sequence[float], size: int) -> list[int | float]:
    for place, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {place} is not between 0 and 1")
    counts = [math.floor(size * fraction) for fraction in fractions]
    for left in range(size - sum(counts)):
        counts[left % len(counts)] += 1
    for place, count in enumerate(counts):
        if count == 0:
            warn_user(
                f"Length of split at index {place} is 0. This might result in an empty dataset."
            )
    return list(counts)


def _samples(dataset: Any, indices: Sequence[Any]) -> list[Any]:
    """Return the samples of several indices, at once where the dataset can."""
    at_once = getattr(dataset, "__getitems__", None)
    if at_once is None:
        return [dataset[index] for index in indices]
    found = at_once(indices)
    if len(found) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(found)}"
        )
    return list(found)
