"""`dovetail.utils.data` without processes: datasets, samplers, collating, `DataLoader`."""

import subprocess
import sys

import numpy as np
import pytest

import dovetail
from dovetail.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)


class Squares(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return index * index


class AtOnce(Squares):
    def __getitems__(self, indices):
        return [100 + index for index in indices]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))

    def __len__(self):
        return 2


def test_datasets_are_put_together_and_taken_apart():
    both = Squares() + AtOnce()
    assert type(both) is ConcatDataset
    assert [both[index] for index in (0, 4, 5, -1)] == [0, 16, 0, 16]
    assert list(Stream() + Stream()) == [0, 1, 2, 3, 0, 1, 2, 3]
    subset = Subset(Squares(), [3, 1])
    assert [subset[0], subset[1], len(subset)] == [9, 1, 2]
    assert Subset(AtOnce(), [3, 1]).__getitems__([1, 0]) == [101, 103]
    stacked = StackDataset(a=Squares(), b=AtOnce())
    assert stacked[2] == {"a": 4, "b": 4}
    assert stacked.__getitems__([2]) == [{"a": 4, "b": 102}]
    rows = TensorDataset(dovetail.arange(3), dovetail.ones(3, 2))
    assert [part.tolist() for part in rows[1]] == [1, [1.0, 1.0]]


def test_a_random_split_leaves_no_sample_out_and_takes_none_twice():
    generator = dovetail.Generator().manual_seed(1)
    parts = random_split(range(10), [0.33, 0.33, 0.34], generator)
    assert [len(part) for part in parts] == [4, 3, 3]
    assert sorted(sample for part in parts for sample in part) == list(range(10))
    again = random_split(range(10), [4, 3, 3], dovetail.Generator().manual_seed(1))
    assert [part.indices for part in again] == [part.indices for part in parts]


def test_samplers_yield_as_many_indices_as_they_say():
    for sampler in (
        SequentialSampler(range(5)),
        RandomSampler(range(5)),
        RandomSampler(range(5), num_samples=12),
        RandomSampler(range(5), replacement=True, num_samples=70),
        SubsetRandomSampler([3, 1]),
        WeightedRandomSampler([0.0, 1.0, 2.0], 6),
        BatchSampler(SequentialSampler(range(5)), 2, False),
        BatchSampler(SequentialSampler(range(5)), 2, True),
        DistributedSampler(range(5), 3, 1),
        DistributedSampler(range(5), 3, 1, drop_last=True),
        DistributedSampler([], 3, 1),
    ):
        assert len(list(sampler)) == len(sampler)
    assert set(WeightedRandomSampler([0.0, 1.0, 2.0], 50)) == {1, 2}


def test_distributed_samplers_share_the_samples_and_change_with_the_epoch():
    samplers = [DistributedSampler(range(10), 3, rank) for rank in range(3)]
    first = [list(sampler) for sampler in samplers]
    assert {index for part in first for index in part} == set(range(10))
    assert [len(part) for part in first] == [4, 4, 4]
    samplers[0].set_epoch(1)
    assert list(samplers[0]) != first[0]


def test_an_epoch_goes_on_with_another_number_of_processes():
    def order(count, start, epoch=3):
        samplers = [DistributedSampler(range(23), count, rank) for rank in range(count)]
        for sampler in samplers:
            sampler.set_epoch(epoch, start)
        parts = [list(sampler) for sampler in samplers]
        assert {len(part) for part in parts} == {len(samplers[0])}
        return [index for together in zip(*parts, strict=True) for index in together]

    whole = order(1, 0)
    for before, after in ((2, 3), (3, 2), (4, 1), (1, 4)):
        seen = order(before, 0)[: 2 * before]  # two samples each
        assert (seen + order(after, len(seen)))[:23] == whole
    assert order(2, 30) == []
    with pytest.raises(ValueError, match="start should be a number of samples"):
        DistributedSampler(range(3), 1, 0).set_epoch(0, -1)


def test_a_batch_is_collated_by_what_is_in_it():
    batch = default_collate(
        [({"a": 1, "b": "x"}, np.ones(2), 0.5), ({"a": 2, "b": "y"}, np.zeros(2), 1.5)]
    )
    assert batch[0]["a"].tolist() == [1, 2]
    assert batch[0]["b"] == ["x", "y"]
    assert batch[1].tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert batch[2].dtype is dovetail.float64


def test_a_loader_yields_batches_and_knows_how_many():
    loader = DataLoader(Squares(), 2)
    assert [batch.tolist() for batch in loader] == [[0, 1], [4, 9], [16]]
    assert len(loader) == 3
    assert len(DataLoader(Squares(), 2, drop_last=True)) == 2
    assert list(DataLoader(Squares(), None)) == [0, 1, 4, 9, 16]
    assert [batch.tolist() for batch in DataLoader(AtOnce(), 5)] == [[100, 101, 102, 103, 104]]
    assert get_worker_info() is None


def test_equal_generators_make_equal_shuffles():
    def order(seed):
        generator = dovetail.Generator().manual_seed(seed)
        return [list(DataLoader(range(20), None, True, generator=generator)) for _ in range(2)]

    assert order(0) == order(0) != order(1)
    assert order(0)[0] != order(0)[1]


def test_an_iterable_dataset_that_yields_more_than_it_says_is_warned_of():
    loader = DataLoader(Stream())
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2") as caught:
        list(loader)
    assert [str(each.message).partition("but ")[2][:9] for each in caught] == [
        "3 samples",
        "4 samples",
    ]


@pytest.mark.cpu_only(reason="there may be page-locked memory elsewhere")
def test_pinned_memory_without_cuda_is_a_notice():
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accel"):
        assert len(list(DataLoader(Squares(), pin_memory=True))) == 5


def test_the_names_are_found_by_the_paths_of_pytorch_and_loaded_when_asked_for():
    program = (
        "import sys, dovetail\n"
        "assert 'dovetail.utils.data' not in sys.modules\n"
        "assert 'multiprocessing' not in sys.modules\n"
        "from dovetail.utils.data.dataloader import DataLoader, default_collate\n"
        "from dovetail.utils.data.dataset import Dataset, random_split\n"
        "from dovetail.utils.data.sampler import Sampler\n"
        "from dovetail.utils.data.distributed import DistributedSampler\n"
        "from dovetail.utils.data._utils.collate import default_collate_fn_map\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
