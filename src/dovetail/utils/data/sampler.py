"""Samplers: the indices of samples, and of batches, in some order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from dovetail_aten import Generator, as_tensor, empty, multinomial, randint, randperm
from dovetail_kernel import float64, int64

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)
_AT_ONCE = 32


class Sampler(Generic[_T_co]):
    """Base class of samplers, which define ``__iter__``, and ``__len__`` if the length is known."""

    def __iter__(self) -> Iterator[_T_co]:
        """Yield indices, or lists of them."""
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices in order.

    Parameters
    ----------
    data_source : Dataset
        A dataset with a length.
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices at random: a new permutation each time, or independent draws.

    Parameters
    ----------
    data_source : Dataset
        A dataset with a length.
    replacement : bool, default False
        Draw each index from all indices.
    num_samples : int, optional
        Number of samples. Default: the length. Larger numbers without replacement use further
        permutations.
    generator : Generator, optional
        Source of random numbers. Default: a new generator for each iteration, seeded from the
        default generator.

    Raises
    ------
    TypeError, ValueError
        If `replacement` is not a bool, or `num_samples` is not positive.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        _check_count(self.num_samples)

    @property
    def num_samples(self) -> int:
        """Number of indices; the dataset may grow."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(drawn_seed(None))
        if self.replacement:
            draw: Any = randint  # the stubs do not know its generator
            for start in range(0, count, _AT_ONCE):
                drawn = min(_AT_ONCE, count - start)
                yield from draw(
                    high=size, size=(drawn,), generator=generator, device="cpu"
                ).tolist()
            return
        for start in range(0, count, size):
            yield from permutation(size, generator)[: count - start]
        if not count % size:
            permutation(size, generator)  # PyTorch draws one more, of which it takes nothing

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in a random order.

    Parameters
    ----------
    indices : sequence
    generator : Generator, optional
        Default: the default generator.
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in permutation(len(self.indices), self.generator):
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights.

    Parameters
    ----------
    weights : sequence of float
        One per index; they need not sum to 1.
    num_samples : int
        Number of samples to draw.
    replacement : bool, default True
        False draws no index twice.
    generator : Generator, optional
        Default: the default generator.

    Raises
    ------
    ValueError
        If `num_samples` is not a positive integer, `replacement` is not a bool, or the weights are
        not one-dimensional.
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = as_tensor(weights, dtype=float64, device="cpu")
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of the indices of another sampler.

    Parameters
    ----------
    sampler : Sampler or iterable
    batch_size : int
        Number of indices in a list.
    drop_last : bool
        Whether to drop the last list if it has fewer indices.

    Raises
    ------
    ValueError
        If `batch_size` is not a positive integer, or if `drop_last` is not a bool.
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if type(batch_size) is not int or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        size: Any = self.sampler
        whole, rest = divmod(len(size), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


def permutation(size: int, generator: Generator | None) -> list[int]:
    """Return the integers below `size` in a random order."""
    draw: Any = randperm  # the stubs do not know its generator
    drawn: list[int] = draw(size, generator=generator, device="cpu").tolist()
    return drawn


def drawn_seed(generator: Generator | None) -> int:
    """Return a seed of 63 bits drawn from a generator; from the default one for None."""
    drawn: Any = empty((), dtype=int64, device="cpu").random_(generator=generator)
    return int(drawn.item())


def _check_count(count: object) -> None:
    if not isinstance(count, int) or count <= 0:
        raise ValueError(
            f"num_samples should be a positive integer value, but got num_samples={count}"
        )
