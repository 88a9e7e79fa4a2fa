"""Checks of collectives, for any number of ranks."""

import math

import numpy as np
import pytest

import dovetail
import dovetail.distributed as dist
from dovetail.distributed import ReduceOp

DTYPES = [
    dovetail.float16,
    dovetail.bfloat16,
    dovetail.float32,
    dovetail.float64,
    dovetail.uint8,
    dovetail.int8,
    dovetail.int16,
    dovetail.int32,
    dovetail.int64,
    dovetail.complex64,
    dovetail.complex128,
]
ALL = [*DTYPES, dovetail.bool]


def check_all_reduce_combines_every_dtype(rank, size):
    for dtype in DTYPES:
        x = (dovetail.arange(5) + rank).to(dtype)
        assert dist.all_reduce(x) is None
        wanted = [sum(i + r for r in range(size)) for i in range(5)]
        assert x.dtype is dtype
        assert x.tolist() == wanted


def check_each_reduction_is_that_of_numpy(rank, size):
    values = np.random.default_rng(0).integers(1, 7, (size, 4))
    for op, function in (
        (ReduceOp.SUM, np.add),
        (ReduceOp.PRODUCT, np.multiply),
        (ReduceOp.MIN, np.minimum),
        (ReduceOp.MAX, np.maximum),
        (ReduceOp.BAND, np.bitwise_and),
        (ReduceOp.BOR, np.bitwise_or),
        (ReduceOp.BXOR, np.bitwise_xor),
    ):
        x = dovetail.tensor(values[rank].tolist())
        dist.all_reduce(x, op)
        assert x.tolist() == function.reduce(values).tolist()
    x = dovetail.tensor(values[rank].tolist(), dtype=dovetail.float64)
    dist.all_reduce(x, ReduceOp.AVG)
    np.testing.assert_allclose(x.numpy(), values.mean(0))


def check_booleans_are_combined_by_or_and_and(rank, size):
    mine = dovetail.tensor([rank == 0, True, False])
    for op, wanted in (
        (ReduceOp.SUM, [True, True, False]),
        (ReduceOp.PRODUCT, [size == 1, True, False]),
    ):
        x = mine.clone()
        dist.all_reduce(x, op)
        assert x.tolist() == wanted


def check_wrong_reductions_are_refused_and_change_nothing(rank, size):
    x = dovetail.ones(2)
    for tensor, op, error, text in (
        (x, ReduceOp.BAND, RuntimeError, "Cannot use ReduceOp.BAND with non-integral dtype"),
        (x.to(dovetail.complex64), ReduceOp.MAX, ValueError, "does not support .* on complex"),
        (x.long(), ReduceOp.AVG, RuntimeError, "the average of int64"),
        (x, "sum", TypeError, "op should be a ReduceOp"),
        ([1.0], ReduceOp.SUM, TypeError, "Expected parameter `tensor` of type torch.Tensor"),
    ):
        with pytest.raises(error, match=text):
            dist.all_reduce(tensor, op)
    assert x.tolist() == [1, 1]


def check_results_lie_in_the_memory_of_the_tensor(rank, size):
    x = dovetail.ones(1000)
    array = x.numpy()
    dist.all_reduce(x)
    assert array[0] == size
    strided = dovetail.zeros(4, 6)
    strided[:, 1] = rank + 1.0
    dist.all_reduce(strided[:, 1])
    assert strided[:, 1].tolist() == [size * (size + 1) / 2] * 4
    assert strided[:, 2].tolist() == [0] * 4


def check_a_tensor_that_was_saved_for_backward_may_not_be_reduced(rank, size):
    x = dovetail.ones(3, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    dist.all_reduce(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def check_work_is_done_when_it_is_waited_for(rank, size):
    tensors = [dovetail.full((50,), float(rank + i)) for i in range(6)]
    works = [dist.all_reduce(x, async_op=True) for x in tensors]
    for i in reversed(range(6)):
        assert works[i].wait() is True
        assert works[i].is_completed() and works[i].is_success()
        assert works[i].exception() is None
        assert tensors[i][0].item() == sum(r + i for r in range(size))
    future = dist.all_reduce(dovetail.ones(2), async_op=True).get_future()
    assert future.then(lambda done: done.value()[0] * 2).wait().tolist() == [2 * size] * 2
    works = dist.all_reduce_coalesced([dovetail.ones(1), dovetail.ones(2)], async_op=True)
    assert all(work.wait() for work in works)


def check_broadcast_copies_every_dtype(rank, size):
    for dtype in ALL:
        for src in range(size):
            x = dovetail.full((3,), rank).to(dtype)
            dist.broadcast(x, src)
            assert x.tolist() == dovetail.full((3,), src).to(dtype).tolist()
    x = dovetail.zeros(2, 3).t() + rank
    dist.broadcast(x, size - 1)
    assert x.tolist() == [[size - 1] * 2] * 3
    with pytest.raises(RuntimeError, match="is no rank of"):
        dist.broadcast(x, size)


def check_reduce_reaches_one_rank(rank, size):
    for dst in range(size):
        x = dovetail.full((2,), rank + 1.0)
        dist.reduce(x, dst)
        assert x[0].item() == (size * (size + 1) / 2 if rank == dst else rank + 1)


def check_all_gather_collects_by_rank(rank, size):
    for dtype in ALL:
        parts = [dovetail.empty(2, 3, dtype=dtype) for _ in range(size)]
        dist.all_gather(parts, dovetail.full((2, 3), rank).to(dtype))
        for r, part in enumerate(parts):
            assert part.tolist() == dovetail.full((2, 3), r).to(dtype).tolist()
    x = dovetail.full((2, 3), float(rank))
    for shape in ((2 * size, 3), (size, 2, 3)):
        whole = dovetail.empty(shape)
        dist.all_gather_into_tensor(whole, x)
        assert whole.reshape(size, 6)[:, 0].tolist() == list(range(size))
    with pytest.raises(RuntimeError, match="the whole should have shape"):
        dist.all_gather_into_tensor(dovetail.empty(2 * size + 1, 3), x)
    with pytest.raises(RuntimeError, match="the group has"):
        dist.all_gather([x] * (size + 1), x)
    with pytest.raises(ValueError, match="Invalid usage of tensors with different dtypes"):
        dist.all_gather([x.double()] * size, x)


def check_reduce_scatter_gives_each_rank_its_part(rank, size):
    for dtype in (dovetail.float32, dovetail.bfloat16, dovetail.int64):
        whole = dovetail.arange(2 * size).to(dtype) + rank
        part = dovetail.empty(2, dtype=dtype)
        dist.reduce_scatter_tensor(part, whole)
        total = size * (size - 1) // 2
        assert part.tolist() == [size * (2 * rank + i) + total for i in range(2)]
    part = dovetail.empty(2, 2)
    dist.reduce_scatter(part, [dovetail.full((2, 2), float(r)) for r in range(size)], ReduceOp.AVG)
    assert part.tolist() == [[rank, rank]] * 2


def check_gather_and_scatter_are_the_inverse_of_each_other(rank, size):
    for root in range(size):
        here = rank == root
        parts = [dovetail.empty(3) for _ in range(size)] if here else None
        dist.gather(dovetail.full((3,), float(rank)), parts, root)
        if here:
            assert [part[0].item() for part in parts] == list(range(size))
        back = dovetail.empty(3)
        dist.scatter(back, parts, root)
        assert back.tolist() == [rank] * 3
        with pytest.raises(ValueError, match="`gather_list`"):
            dist.gather(back, None if here else [back] * size, root)


def check_all_to_all_transposes(rank, size):
    x = dovetail.arange(size * 2) + 100 * rank
    out = dovetail.empty_like(x)
    dist.all_to_all_single(out, x)
    assert out.tolist() == [100 * r + 2 * rank + i for r in range(size) for i in range(2)]
    sent, came = [r + 1 for r in range(size)], [rank + 1] * size
    out = dovetail.empty(sum(came), 2)
    dist.all_to_all_single(out, dovetail.full((sum(sent), 2), float(rank)), came, sent)
    assert out[:, 1].tolist() == [r for r in range(size) for _ in range(rank + 1)]
    outs = [dovetail.empty(rank + 1, r + 1) for r in range(size)]
    dist.all_to_all(outs, [dovetail.full((r + 1, rank + 1), float(rank)) for r in range(size)])
    assert [each[0, 0].item() for each in outs] == list(range(size))
    with pytest.raises(RuntimeError, match="Split sizes"):
        dist.all_to_all_single(out, out, [1] * (size + 1))


def check_messages_go_round_a_ring(rank, size):
    if size == 1:
        return
    right, left = (rank + 1) % size, (rank - 1) % size
    came = dovetail.empty(4)
    work = dist.irecv(came, left, tag=3)
    dist.send(dovetail.full((4,), float(rank)), right, tag=3)
    assert work.wait() and came.tolist() == [left] * 4
    assert work.source_rank() == left
    ops = [
        dist.P2POp(dist.isend, dovetail.full((2,), rank), right),
        dist.P2POp(dist.irecv, into := dovetail.empty(2, dtype=dovetail.int64), left),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert into.tolist() == [left] * 2
    if rank == 0:
        assert sorted(dist.recv(dovetail.empty(1)) for _ in range(size - 1)) == [*range(1, size)]
    else:
        dist.send(dovetail.ones(1), 0)
    with pytest.raises(ValueError, match="should not be the same as the rank"):
        dist.send(came, rank)
    dist.barrier()


def check_a_message_of_another_size_is_refused(rank, size):
    if size == 1:
        return
    if rank == 0:
        dist.send(dovetail.ones(3), 1)
    elif rank == 1:
        with pytest.raises(RuntimeError, match="12 bytes came from rank 0, but the tensor has 16"):
            dist.recv(dovetail.empty(4), 0)
    dist.barrier()


def check_objects_travel(rank, size):
    every = [None] * size
    dist.all_gather_object(every, {"rank": rank, "text": "x" * rank})
    assert [each["rank"] for each in every] == list(range(size))
    found = [None] * size if rank == 0 else None
    dist.gather_object((rank, math.pi), found, 0)
    assert rank != 0 or found == [(r, math.pi) for r in range(size)]
    values = [1, "two", [3.0]] if rank == size - 1 else [None] * 3
    dist.broadcast_object_list(values, size - 1)
    assert values == [1, "two", [3.0]]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)] if rank == 0 else None, 0)
    assert mine == [f"for {rank}"]
    if size > 1 and rank == 0:
        dist.send_object_list([{"a": 1}, None], 1)
    elif rank == 1:
        two = [0, 0]
        assert dist.recv_object_list(two, 0) == 0 and two == [{"a": 1}, None]
    dist.barrier()


def check_groups_have_ranks_of_their_own(rank, size):
    last = dist.new_group([size - 1])
    assert (last == dist.GroupMember.NON_GROUP_MEMBER) is (rank != size - 1)
    assert dist.get_rank(last) == (0 if rank == size - 1 else -1)
    assert dist.get_world_size(last) == (1 if rank == size - 1 else -1)
    x = dovetail.ones(1)
    if rank == size - 1:
        dist.all_reduce(x, group=last)
        dist.broadcast(x, size - 1, last)
        assert dist.get_global_rank(last, 0) == size - 1
        assert dist.get_group_rank(last, size - 1) == 0
        assert dist.get_process_group_ranks(last) == [size - 1]
    else:
        with pytest.warns(UserWarning, match="which does not belong to the given group"):
            dist.all_reduce(x, group=last)
    assert x.item() == 1
    turned = dist.new_group(list(reversed(range(size))), sort_ranks=False)
    assert turned.rank() == size - 1 - rank
    mine, every = dist.new_subgroups(1)
    assert dist.get_world_size(mine) == 1 and len(every) == size
    dist.destroy_process_group(turned)
    with pytest.raises(dist.DistBackendError, match="was destroyed"):
        dist.all_reduce(x, group=turned)
    for wrong in ([0, 0], [], [size]):
        with pytest.raises(ValueError, match="rank"):
            dist.new_group(wrong)


def check_the_default_group_is_made_once(rank, size):
    assert dist.is_initialized() and dist.is_available()
    assert (dist.get_backend(), dist.group.WORLD.size()) == ("mpi", size)
    with pytest.raises(ValueError, match="default process group twice"):
        dist.init_process_group("mpi")
    dist.barrier()
    dist.destroy_process_group()
    assert not dist.is_initialized() and dist.group.WORLD is None
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()
    with pytest.raises(ValueError, match="start the program with: mpiexec"):
        dist.init_process_group("nccl")
    with pytest.raises(ValueError, match="Leave it out"):
        dist.init_process_group("mpi", world_size=size + 1)
    dist.init_process_group("mpi")
    x = dovetail.ones(1)
    dist.all_reduce(x)
    assert x.item() == size
    dist.monitored_barrier()


def check_with_detail_other_collectives_are_named_beforehand(rank, size):
    if size == 1:
        return
    group = dist.new_group()
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    try:
        x = dovetail.ones(2)
        dist.all_reduce(x, group=group)
        assert x.tolist() == [size] * 2
        with pytest.raises(dist.DistBackendError, match="Detected mismatch between collectives"):
            if rank == 0:
                dist.barrier(group)
            else:
                dist.all_reduce(x, group=group)
    finally:
        dist.set_debug_level(dist.DebugLevel.OFF)
    group.is_destroyed = True  # so that the end of the program is not that of a failure
