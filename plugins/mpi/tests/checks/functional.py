"""Checks of the collectives that gradients pass, against the transposed matrices they are."""

import dovetail.distributed.nn.functional as C
import pytest

import dovetail
import dovetail.distributed as dist


def gathered(value, size):
    every = [None] * size
    dist.all_gather_object(every, value)
    return every


def is_transposed(function, rank, size, shape=(3,)):
    """Check <u, A x> == <A' u, x>, summed over all ranks, and its second derivative."""
    dovetail.manual_seed(rank)
    x = dovetail.randn(shape, dtype=dovetail.float64, requires_grad=True)
    y = function(x)
    u = dovetail.randn(y.shape, dtype=dovetail.float64, requires_grad=True)
    (grad,) = dovetail.autograd.grad(y, x, u, create_graph=True)
    left = sum(gathered((u * y).sum().item(), size))
    right = sum(gathered((grad * x).sum().item(), size))
    assert left == pytest.approx(right)
    v = dovetail.randn(shape, dtype=dovetail.float64)
    (back,) = dovetail.autograd.grad(grad, u, v)
    dovetail.testing.assert_close(back, function(v))


def check_sums_and_averages(rank, size):
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG):
        is_transposed(lambda x, op=op: C.all_reduce(x, op), rank, size)
        is_transposed(
            lambda x, op=op: C.reduce_scatter(x[0], list(x.unbind(0)), op), rank, size, (size, 2)
        )
    x = dovetail.ones(2)
    assert C.all_reduce(x).tolist() == [size] * 2 and x.tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match="derivatives of SUM and AVG"):
        C.all_reduce(x, dist.ReduceOp.MAX)


def check_copies(rank, size):
    for root in range(size):
        is_transposed(lambda x, root=root: C.broadcast(x, root), rank, size)
        is_transposed(lambda x, root=root: dovetail.stack(C.gather(x, root)), rank, size)
        is_transposed(
            lambda x, root=root: C.scatter(list(x.unbind(0)), root), rank, size, (size, 2)
        )
    is_transposed(lambda x: dovetail.stack(C.all_gather(x)), rank, size)
    assert [part.tolist() for part in C.all_gather(dovetail.tensor([rank]))] == [
        [r] for r in range(size)
    ]


def check_reduce_counts_on_its_rank(rank, size):
    for op, factor in ((dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, 1 / size)):
        x = dovetail.ones(2, requires_grad=True)
        y = C.reduce(x, size - 1, op)
        assert rank != size - 1 or y[0].item() == pytest.approx(size * factor)
        (y * (rank + 1)).sum().backward()
        assert x.grad[0].item() == pytest.approx(size * factor)


def check_exchanges(rank, size):
    is_transposed(lambda x: C.all_to_all_single(x, x), rank, size, (size, 2))
    sent, came = [r + 1 for r in range(size)], [rank + 1] * size
    out = dovetail.empty(sum(came), dtype=dovetail.float64)
    is_transposed(lambda x: C.all_to_all_single(out, x, came, sent), rank, size, (sum(sent),))
    outs = [dovetail.empty(rank + 1) for _ in range(size)]
    is_transposed(
        lambda x: dovetail.cat(C.all_to_all(outs, list(x.split(sent)))), rank, size, (sum(sent),)
    )


def check_gradients_of_a_sharded_layer_are_those_of_the_whole(rank, size):
    dovetail.manual_seed(0)
    x, w = dovetail.randn(4, 2 * size), dovetail.randn(3, 2 * size)
    part = w[:, 2 * rank : 2 * rank + 2].clone().requires_grad_()
    y = C.all_reduce(x[:, 2 * rank : 2 * rank + 2] @ part.T)
    whole = w.clone().requires_grad_()
    wanted = x @ whole.T
    dovetail.testing.assert_close(y, wanted)
    if rank == 0:  # the loss is computed once
        y.square().sum().backward()
    else:
        (y * 0).sum().backward()
    wanted.square().sum().backward()
    dovetail.testing.assert_close(part.grad, whole.grad[:, 2 * rank : 2 * rank + 2])
