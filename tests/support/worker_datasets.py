"""Datasets for worker processes, which may have to import them."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import dovetail
from dovetail.utils.data import Dataset, IterableDataset, get_worker_info


class Structured(Dataset[Any]):
    """Samples with something of every kind."""

    def __len__(self) -> int:
        return 7

    def __getitem__(self, index: int) -> Any:
        tensor = dovetail.full((300,), float(index), device="cpu")
        return tensor, {"name": "x" * index, "array": np.full(3, index)}, index


class Counted(IterableDataset[int]):
    """Numbers, of which each worker yields its part."""

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, 7, step))


class OfTwoArguments(Exception):
    """An exception that can't be made of a message."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(first, second)


class Failing(Structured):
    """Fails at the third sample, in the way that it is told."""

    def __init__(self, how: str) -> None:
        self.how = how

    def __getitem__(self, index: int) -> Any:
        if index == 2:
            self.fail()
        return index

    def fail(self) -> None:
        if self.how == "key":
            raise KeyError("no\nsuch key")
        if self.how == "arguments":
            raise OfTwoArguments(1, 2)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "exit":
            os._exit(3)
        time.sleep(60)


class Locks(Structured):
    """Samples that can't be sent."""

    def __getitem__(self, index: int) -> Any:
        return threading.Lock()


class Drawn(Structured):
    """What the generators of a worker draw."""

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        drawn = dovetail.rand(1, device="cpu").item()
        return drawn, random.random(), np.random.rand(), info.seed, os.getpid()


class SlowFirst(Structured):
    """Takes long for the first sample."""

    def __getitem__(self, index: int) -> int:
        time.sleep(1.0 if index == 0 else 0.0)
        return index


def as_they_are(samples: Any) -> Any:
    return samples
