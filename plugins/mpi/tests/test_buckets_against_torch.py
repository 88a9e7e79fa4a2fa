"""Which gradients travel together, compared with PyTorch's own assignment to buckets."""

from __future__ import annotations

import random

import pytest

from dovetail_mpi.data_parallel.buckets import assigned

torch = pytest.importorskip("torch", reason="the assignment is compared with PyTorch's")
distributed = pytest.importorskip("torch.distributed")


@pytest.mark.parametrize("seed", range(20))
def test_gradients_share_buckets_as_in_pytorch(seed):
    draw = random.Random(seed)
    kinds = [torch.float32, torch.float64][: draw.choice([1, 2])]
    tensors = [
        torch.empty(draw.choice([1, 7, 100, 300]), dtype=draw.choice(kinds)) for _ in range(40)
    ]
    limits = draw.choice([[900], [400, 2000], [1], [10**6]])
    sizes = [(each.numel() * each.element_size(), each.dtype) for each in tensors]
    expected, _ = distributed._compute_bucket_assignment_by_size(tensors, limits)
    assert assigned(sizes, limits) == expected


def test_a_gradient_that_reaches_the_limit_still_travels_with_those_before():
    sizes = [(each, "float32") for each in (40, 20480, 2048, 2**20, 2048, 2**20, 2048, 524288)]
    assert assigned(sizes, [2**20]) == [[0, 1, 2, 3], [4, 5], [6, 7]]
