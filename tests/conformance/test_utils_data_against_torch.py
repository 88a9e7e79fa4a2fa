"""`utils.data` beside PyTorch's: options and errors, order under a seed, collating."""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = pytest.mark.cpu_only(reason="PyTorch is there on the cpu alone")

Pair = collections.namedtuple("Pair", "a b")


def plain(value: Any) -> Any:
    """Return a value with what is comparable of tensors."""
    if isinstance(value, dovetail.Tensor | torch.Tensor):
        return str(value.dtype).partition(".")[2], value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(each) for each in value]
    return value


def outcome(call: Callable[[Any], Any], lib: Any) -> Any:
    """Return what a call gives, with its warnings, or its error."""
    place = import_module(f"{lib.__name__}.utils.data")
    place.lib = lib
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result: Any = plain(call(place))
        except Exception as error:
            result = type(error).__name__, without_names(str(error))
    del place.lib
    return result, [without_names(str(each.message)) for each in caught]


def without_names(text: str) -> str:
    """Leave out what is said for one library alone, and what differs from run to run."""
    text = text.replace("dovetail", "torch").partition(" object at ")[0]
    text = text.replace("torch.utils.data.sampler.", "torch.utils.data.")
    return text.partition(". Give replacement=True")[0]


ROWS = list(range(10))


def stream(data: Any, length: int | None = None) -> Any:
    class Stream(data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Iterator[int]:
            return iter(range(5))

    if length is not None:
        Stream.__len__ = lambda self: length
    return Stream()


def refused_attribute(name: str) -> Callable[[Any], Any]:
    def call(data: Any) -> Any:
        return setattr(data.DataLoader(ROWS), name, 3)

    return call


CALLS: dict[str, Callable[[Any], Any]] = {
    "negative workers": lambda d: d.DataLoader(ROWS, num_workers=-1),
    "negative timeout": lambda d: d.DataLoader(ROWS, timeout=-1),
    "prefetch without workers": lambda d: d.DataLoader(ROWS, prefetch_factor=2),
    "negative prefetch": lambda d: d.DataLoader(ROWS, num_workers=1, prefetch_factor=-2),
    "persistence without workers": lambda d: d.DataLoader(ROWS, persistent_workers=True),
    "shuffled stream": lambda d: d.DataLoader(stream(d), shuffle=True),
    "sampled stream": lambda d: d.DataLoader(stream(d), sampler=d.SequentialSampler(ROWS)),
    "batched stream": lambda d: d.DataLoader(stream(d), batch_sampler=[[1]]),
    "sampler and shuffle": lambda d: d.DataLoader(ROWS, sampler=ROWS, shuffle=True),
    "batch sampler and size": lambda d: d.DataLoader(ROWS, batch_sampler=[[1]], batch_size=3),
    "batch sampler and shuffle": lambda d: d.DataLoader(ROWS, batch_sampler=[[1]], shuffle=True),
    "no batches but drop_last": lambda d: d.DataLoader(ROWS, batch_size=None, drop_last=True),
    "empty batches": lambda d: d.DataLoader(ROWS, batch_size=0),
    "fractional batches": lambda d: d.DataLoader(ROWS, batch_size=1.5),
    "drop_last of text": lambda d: d.DataLoader(ROWS, drop_last="x"),
    "context without workers": lambda d: d.DataLoader(ROWS, multiprocessing_context="fork"),
    "unknown context": lambda d: d.DataLoader(ROWS, num_workers=1, multiprocessing_context="foo"),
    "context of a number": lambda d: d.DataLoader(ROWS, num_workers=1, multiprocessing_context=5),
    "many workers": lambda d: d.DataLoader(ROWS, num_workers=1000).num_workers,
    "set batch_size": refused_attribute("batch_size"),
    "set sampler": refused_attribute("sampler"),
    "set dataset": refused_attribute("dataset"),
    "set collate_fn": refused_attribute("collate_fn"),
    "set persistent_workers": refused_attribute("persistent_workers"),
    "empty and shuffled": lambda d: list(d.DataLoader([], shuffle=True)),
    "length of a stream": lambda d: len(d.DataLoader(stream(d))),
    "length of a stream that says it": lambda d: len(d.DataLoader(stream(d, 3), batch_size=2)),
    "prefetch by default": lambda d: d.DataLoader(ROWS, num_workers=1).prefetch_factor,
    "batches": lambda d: list(d.DataLoader(ROWS, 4)),
    "batches of a stream": lambda d: list(d.DataLoader(stream(d), 2, drop_last=True)),
    "no batches": lambda d: list(d.DataLoader([np.ones(2), (1, np.ones(1))], None)),
    "replacement of a number": lambda d: d.RandomSampler(ROWS, replacement=3),
    "no samples": lambda d: d.RandomSampler(ROWS, num_samples=0),
    "weights of no samples": lambda d: d.WeightedRandomSampler([1, 2], 0),
    "weights in two dimensions": lambda d: d.WeightedRandomSampler([[1, 2]], 2),
    "too many without replacement": lambda d: list(d.WeightedRandomSampler([1, 2], 3, False)),
    "weights and text": lambda d: d.WeightedRandomSampler([1, 2], 2, "x"),
    "batches of True": lambda d: d.BatchSampler(ROWS, True, False),
    "sampler without iter": lambda d: iter(d.Sampler()),
    "unequal tensors": lambda d: d.TensorDataset(d.lib.ones(2), d.lib.ones(3)),
    "unequal stack": lambda d: d.StackDataset([1], [1, 2]),
    "no stack": lambda d: d.StackDataset(),
    "two stacks": lambda d: d.StackDataset([1], a=[1]),
    "nothing together": lambda d: d.ConcatDataset([]),
    "streams together": lambda d: d.ConcatDataset([stream(d)]),
    "beyond the first": lambda d: d.ConcatDataset([ROWS])[-11],
    "name of old": lambda d: d.ConcatDataset([ROWS]).cummulative_sizes,
    "chain of a list": lambda d: list(d.ChainDataset([ROWS])),
    "split of another sum": lambda d: d.random_split(ROWS, [3, 3]),
    "split to nothing": lambda d: [len(part) for part in d.random_split([1], [0.5, 0.5])],
    "split by a negative fraction": lambda d: d.random_split(ROWS, [-0.5, 1.5]),
    "dataset without samples": lambda d: d.Dataset()[0],
    "wrong rank": lambda d: d.DistributedSampler(ROWS, 2, 5),
    "ranks": lambda d: [list(d.DistributedSampler(ROWS, 3, rank)) for rank in range(3)],
    "ranks of one sample": lambda d: [list(d.DistributedSampler([1], 3, r)) for r in range(3)],
    "ranks in order": lambda d: list(d.DistributedSampler(ROWS, 3, 1, False, drop_last=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_the_same(name: str) -> None:
    assert outcome(CALLS[name], dovetail) == outcome(CALLS[name], torch)


SEEDED: dict[str, Callable[[Any], Any]] = {
    "random": lambda d: list(d.RandomSampler(ROWS)),
    "with replacement": lambda d: list(d.RandomSampler(ROWS, True, 70)),
    "more than there are": lambda d: list(d.RandomSampler(ROWS, num_samples=25)),
    "of a generator": lambda d: [
        [list(d.RandomSampler(ROWS, generator=generator)), generator.get_state().sum().item()]
        for generator in [d.lib.Generator().manual_seed(5)]
        for _ in range(2)
    ],
    "subset": lambda d: list(d.SubsetRandomSampler([5, 3, 8])),
    "weighted": lambda d: list(d.WeightedRandomSampler([0.1, 0.5, 0.4], 20)),
    "split": lambda d: [part.indices for part in d.random_split(ROWS, [0.3, 0.7])],
    "loader": lambda d: [list(d.DataLoader(ROWS, 3, True)) for _ in range(2)],
    "loader of a generator": lambda d: [
        list(d.DataLoader(ROWS, None, True, generator=generator))
        for generator in [d.lib.Generator().manual_seed(5)]
        for _ in range(3)
    ],
    "numbers afterwards": lambda d: [list(d.DataLoader(ROWS, 3, True)), d.lib.rand(3)],
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_gives_the_same_order(name: str) -> None:
    for lib in (dovetail, torch):
        lib.manual_seed(7)
    assert outcome(SEEDED[name], dovetail) == outcome(SEEDED[name], torch)


class Unknown:
    """A sample of no known type."""


BATCHES: list[Any] = [
    [1, 2], [1.5, 2], ["a", "b"], [b"a"], [True, False], [1 + 1j], [None], [], [frozenset([1])],
    [{"a": 1}, {"a": 2}], [{"a": 1}, {"b": 1}], [collections.OrderedDict(a=1)],
    [collections.defaultdict(int, a=1)], [Pair(1, 2), Pair(3, 4)], [(1, 2), (3, 4)],
    [(1,), (1, 2)], [[1, 2], [3]], [[], []], [(), ()], [range(2), range(2)], ["a", 1],
    [np.ones(2), np.zeros(2)], [np.float32(1)], [np.bool_(1)], [np.array("a")], [np.array(1)],
    [np.array(["a"])], [Unknown()],
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BATCHES)))
def test_a_batch_is_collated_and_converted_alike(number: int) -> None:
    batch = BATCHES[number]
    for name in ("default_collate", "default_convert"):
        ours = outcome(lambda d, name=name: getattr(d, name)(batch), dovetail)
        assert repr(ours) == repr(outcome(lambda d, name=name: getattr(d, name)(batch), torch))


def test_random_numbers_of_workers_are_the_same() -> None:
    from dovetail.utils.data._utils import worker

    job = worker.Job(None, False, False, list, False, None, 0x123456789ABCDEF0, 3, 4)
    theirs = import_module("torch.utils.data._utils.worker")._generate_state(job.base_seed, 3)
    assert worker._generate_state(job.base_seed, job.id) == theirs
