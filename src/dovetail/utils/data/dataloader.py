"""`DataLoader`: the batches of a dataset, fetched here or by worker processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, Final, Generic, TypeVar

from dovetail_aten import Generator
from dovetail_kernel import warn_user

from ... import cuda
from ._utils.collate import default_collate, default_convert
from ._utils.iterators import BatchIterator, LoaderOptions, ProcessIterator, SerialIterator
from ._utils.worker import get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_BaseDataLoaderIter = BatchIterator
_SingleProcessDataLoaderIter = SerialIterator
_MultiProcessingDataLoaderIter = ProcessIterator

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[_T]], Any]
_FIXED: Final = frozenset(
    ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)


class DataLoader(Generic[_T_co]):
    """Iterates over a dataset in batches.

    Parameters
    ----------
    dataset : Dataset
        A dataset with indices and a length, or an `IterableDataset`.
    batch_size : int or None, default 1
        Number of samples in a batch; None yields single samples.
    shuffle : bool, default False
        Use a new random permutation for each iteration.
    sampler : Sampler or iterable, optional
        Yields the indices; cannot be combined with `shuffle`.
    batch_sampler : Sampler or iterable, optional
        Yields lists of indices; cannot be combined with `batch_size`, `shuffle`, `sampler` or
        `drop_last`.
    num_workers : int, default 0
        Number of processes that prefetch batches; the batches are passed in shared memory. 0 loads
        each batch on demand.
    collate_fn : callable, optional
        Function that combines a list of samples to a batch. Default: `default_collate`, or
        `default_convert` without batches.
    pin_memory : bool, default False
        Move tensors to page-locked memory; without CUDA, this is ignored with a warning.
    drop_last : bool, default False
        Whether to drop the last batch if it is smaller.
    timeout : float, default 0
        Seconds to wait for a batch from the workers; 0 waits as long as they are alive.
    worker_init_fn : callable, optional
        Function that each worker calls with its number.
    multiprocessing_context : str or context, optional
        Start method of the workers: "fork", "spawn" or "forkserver".
    generator : Generator, optional
        Source of the order and of the workers' seeds. Default: the default generator.
    prefetch_factor : int, optional
        Number of prefetched batches per worker. Default: 2.
    persistent_workers : bool, default False
        Keep the workers for the next iteration.
    pin_memory_device : str, default ""
        Accepted and ignored; the current device is used.
    in_order : bool, default True
        False yields the batches of workers in the order in which they arrive.

    Raises
    ------
    ValueError, TypeError
        For invalid options, or options that exclude each other.
    """

    dataset: Any
    sampler: Any
    batch_sampler: Any

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[..., object] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], object] | None = None,
        multiprocessing_context: object = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.is_iterable = isinstance(dataset, IterableDataset)
        if self.is_iterable:
            _check_unspecified(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            if self.is_iterable:
                sampler = _NoIndices()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.in_order = in_order
        self.persistent_workers = persistent_workers
        self._said_length: int | None = None
        self._context: Any = None
        self._iterator: ProcessIterator | None = None
        self.multiprocessing_context = multiprocessing_context
        self._is_initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: object) -> None:
        if name in _FIXED and self.__dict__.get("_is_initialized"):
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The `multiprocessing` context that starts workers."""
        if self._context is None and self.num_workers:
            return multiprocessing.get_context()
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: object) -> None:
        if context is None:
            self._context = None
            return
        if not self.num_workers:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers "
                f"> 0), but got num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            known = multiprocessing.get_all_start_methods()
            if context not in known:
                raise ValueError(
                    "multiprocessing_context option should specify a valid start method in "
                    f"{known!r}, but got multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string "
                f"specifying the start method, but got multiprocessing_context={context}"
            )
        self._context = context

    def __iter__(self) -> Iterator[Any]:
        """Begin another pass."""
        batches: BatchIterator
        if self._iterator is not None and self._iterator.is_open:
            batches = self._iterator
            self._iterator.restart()
        else:
            batches = self._new_iterator()
            if self.persistent_workers and isinstance(batches, ProcessIterator):
                self._iterator = batches
        batches.said_length = self._said_length
        return batches

    def _new_iterator(self) -> BatchIterator:
        if self.pin_memory and not cuda.is_available():
            warn_user(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used."
            )
        options = LoaderOptions(
            dataset=self.dataset,
            is_iterable=self.is_iterable,
            is_batched=self._auto_collation,
            index_sampler=self._index_sampler,
            num_workers=self.num_workers,
            prefetch_factor=self.prefetch_factor,
            collate_fn=self.collate_fn,
            drop_last=self.drop_last,
            timeout=self.timeout,
            worker_init_fn=self.worker_init_fn,
            generator=self.generator,
            in_order=self.in_order,
            pins=self.pin_memory and cuda.is_available(),
            context=self.multiprocessing_context,
        )
        if self.num_workers and os.name != "posix":
            warn_user(
                "Worker processes need descriptors to be sent to them, which this system cannot: "
                "batches are fetched in this process. Use num_workers=0."
            )
            return SerialIterator(options)
        return ProcessIterator(options) if self.num_workers else SerialIterator(options)

    @property
    def _auto_collation(self) -> bool:
        """Whether samples are collated to batches."""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What is fetched, one element per batch."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        """Return the number of batches; of an iterable dataset what follows from its length.

        Raises
        ------
        TypeError
            If the dataset or the sampler has none.
        """
        if not self.is_iterable:
            return len(self._index_sampler)
        self._said_length = length = len(self.dataset)
        if self.batch_size is not None:
            whole, rest = divmod(length, self.batch_size)
            return whole + (rest > 0 and not self.drop_last)
        return length

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than available processors."""
        most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if most is not None and self.num_workers > most:
            warn_user(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {most}, which is smaller "
                "than what this DataLoader is going to create. Please be aware that excessive "
                "worker creation might get DataLoader running slow or even freeze, lower the "
                "worker number to avoid potential slowness/freeze if necessary."
            )


class _NoIndices(Sampler[None]):
    """Stands for the indices of a dataset that has none."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > "
            "0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_unspecified(shuffle: object, sampler: object, batch_sampler: object) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )
