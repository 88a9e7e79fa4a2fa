"""`DistributedSampler`: the part of a dataset for one of several processes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

from dovetail_aten import Generator

from ... import distributed as processes
from .sampler import Sampler, permutation

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[Any]):
    """Every `num_replicas`-th index of a common order, starting with index `rank`.

    All processes draw the same permutation from ``seed + epoch``; call `set_epoch` before each
    epoch to change it.

    Parameters
    ----------
    dataset : Dataset
        A dataset with a length.
    num_replicas, rank : int
        Number of processes, and index of this one. Default: from `dovetail.distributed`.
    shuffle : bool, default True
    seed : int, default 0
    drop_last : bool, default False
        Whether to drop samples so that all processes have the same number; otherwise some samples
        are repeated.

    Raises
    ------
    RuntimeError
        If the number of processes is neither passed nor known from a process group.
    ValueError
        If there is no such rank.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if (num_replicas is None or rank is None) and not processes.is_available():
            raise RuntimeError(
                "Requires distributed package to be available: install dovetail-mpi from "
                "where dovetail came from (plugins/mpi in a clone), or give num_replicas and rank."
            )
        known: Any = processes
        self.num_replicas: int = known.get_world_size() if num_replicas is None else num_replicas
        self.rank: int = known.get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(
                f"Invalid rank {self.rank}, rank should be in the interval "
                f"[0, {self.num_replicas - 1}]"
            )
        self.dataset = dataset
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        self.set_epoch(0)

    def __iter__(self) -> Iterator[Any]:
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = permutation(len(indices), generator)
        indices = indices[self._start :]
        if self.drop_last:
            indices = indices[: self.total_size]
        elif indices:
            indices = (indices * math.ceil(self.total_size / len(indices)))[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int, start: int = 0) -> None:
        """Choose the permutation of the next iterations.

        Parameters
        ----------
        epoch : int
        start : int, default 0
            Number of samples of the epoch that all processes together have already used, to resume
            a program with any number of processes. They are skipped, and `len` counts the others.
        """
        if start < 0:
            raise ValueError(f"start should be a number of samples, at least 0, not {start}")
        self.epoch = epoch
        self._start = start
        size = max(len(self.dataset) - start, 0)
        if self.drop_last:
            self.num_samples = size // self.num_replicas
        else:
            self.num_samples = math.ceil(size / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas
