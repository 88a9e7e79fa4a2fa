"""What a worker process does: it fetches batches and sends them back."""

from __future__ import annotations

import pickle
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection, parent_process
from typing import Any, NamedTuple

import numpy as np

from dovetail_aten import manual_seed

from .channels import Channel
from .fetch import Fetcher, IterableFetcher, fetcher_of

__all__ = ["Caught", "Ended", "Job", "Work", "WorkerInfo", "get_worker_info", "work"]

_info: WorkerInfo | None = None


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker process knows of itself.

    Attributes
    ----------
    id : int
        Index of the worker, from 0.
    num_workers : int
        Number of workers.
    seed : int
        Seed of its random numbers: the loader's seed of this iteration plus `id`.
    dataset : Dataset
        Its own copy.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


def get_worker_info() -> WorkerInfo | None:
    """Return information about this process as a worker of a `DataLoader`; None in other
    processes.
    """
    return _info


class Job(NamedTuple):
    """All that a worker needs."""

    dataset: Any
    is_iterable: bool
    is_batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    init: Callable[[int], Any] | None
    base_seed: int
    id: int
    num_workers: int


class Work(NamedTuple):
    """A batch to fetch; `number` None begins another iteration."""

    number: int | None
    index: Any = None


class Ended(NamedTuple):
    """What comes back where the dataset has no more samples."""


class Caught(NamedTuple):
    """What comes back in place of a batch: an exception."""

    kind: type[BaseException] | None
    name: str
    text: str

    def reraise(self, where: str) -> Any:
        """Raise an exception of that type with the traceback of the worker as its message."""
        message = f"Caught {self.name} {where}.\nOriginal {self.text}"
        made: BaseException = RuntimeError(message)
        if self.kind is not None and issubclass(self.kind, KeyError):
            made = self.kind(_Lines(message))
        elif self.kind is not None:
            try:
                made = self.kind(message)
            except Exception:
                made = RuntimeError(message)  # it takes other arguments
        raise made


class _Lines(str):
    """A text that a KeyError shows in lines, and not quoted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def work(job: Job, channel: Channel, others: list[Channel]) -> None:
    """Fetch what is asked for, until the loader closes the channel or its process ends.

    Parameters
    ----------
    job : Job
    channel : Channel
        This worker's end.
    others : list of Channel
        Ends of the loader, which a forked process has inherited.
    """
    global _info
    for other in others:
        other.close()
    seed = job.base_seed + job.id
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(_generate_state(job.base_seed, job.id))
    _info = WorkerInfo(job.id, job.num_workers, seed, job.dataset)
    fetcher: Fetcher | Caught | None = None
    if job.init is not None:
        try:
            job.init(job.id)
        except Exception as error:
            fetcher = _caught(error)
    try:
        while True:
            _wait(channel)
            asked: Work = channel.receive()
            if asked.number is None:
                fetcher = fetcher if isinstance(fetcher, Caught) else None
                continue
            if fetcher is None:
                fetcher = _new_fetcher(job)
            _answer(channel, asked, fetcher)
    except (EOFError, ConnectionError, KeyboardInterrupt):
        return  # the loader is gone, or does not need it any more


def _wait(channel: Channel) -> None:
    """Wait for a message; raise EOFError when the loader's process has ended."""
    parent = parent_process()
    sentinels = [] if parent is None else [parent.sentinel]
    waited: list[Any] = [channel, *sentinels]
    ready: list[Any] = connection.wait(waited)
    if channel not in ready:
        raise EOFError


def _new_fetcher(job: Job) -> Fetcher | Caught:
    try:
        return fetcher_of(job.dataset, job.is_iterable, job.is_batched, job.collate, job.drop_last)
    except Exception as error:
        return _caught(error)


def _answer(channel: Channel, asked: Work, fetcher: Fetcher | Caught) -> None:
    answer: Any = fetcher
    if isinstance(fetcher, Fetcher):
        try:
            answer = fetcher.fetch(asked.index)
        except StopIteration as error:
            answer = Ended() if isinstance(fetcher, IterableFetcher) else _caught(error)
        except Exception as error:
            answer = _caught(error)
    try:
        channel.send((asked.number, answer))
    except (ConnectionError, KeyboardInterrupt):
        raise
    except Exception as error:  # it can't be pickled, or there is no memory for it
        channel.send((asked.number, _caught(error)))


def _caught(error: BaseException) -> Caught:
    kind: type[BaseException] | None = type(error)
    try:
        pickle.dumps(kind)
    except Exception:
        kind = None  # the loader's process does not know it
    return Caught(kind, type(error).__name__, "".join(traceback.format_exception(error)))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return the seed of NumPy's own generator in a worker, which is PyTorch's too."""
    low, high = base_seed & 0xFFFFFFFF, base_seed >> 32
    state: list[int] = np.random.SeedSequence([worker_id, low, high]).generate_state(4).tolist()
    return state
