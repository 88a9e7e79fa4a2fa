"""Checks of checkpoints: errors of rank 0 are those of all."""

import os
import tempfile

import pytest

import dovetail
import dovetail.distributed as dist


def check_a_checkpoint_comes_to_all_ranks(rank, size):
    folder = tempfile.mkdtemp() if rank == 0 else None
    every = [folder]
    dist.broadcast_object_list(every)
    path = os.path.join(every[0], "state")
    assert dist.load_checkpoint(path) is None
    dist.save_checkpoint({"x": dovetail.full((3,), float(rank)), "rank": rank}, path)
    state = dist.load_checkpoint(path)
    assert state["x"].tolist() == [0] * 3 and state["rank"] == 0


def check_an_error_of_rank_0_is_raised_on_all(rank, size):
    with pytest.raises(RuntimeError, match=r"rank 0 cannot save the checkpoint .*nowhere"):
        dist.save_checkpoint({}, "/nowhere/at/all")
    every = [tempfile.mkstemp()[1] if rank == 0 else None]
    dist.broadcast_object_list(every)
    with open(every[0], "w") as file:
        file.write("nonsense")
    with pytest.raises(RuntimeError, match="rank 0 cannot load the checkpoint"):
        dist.load_checkpoint(every[0])
    dist.barrier()
