"""`use_deterministic_algorithms(True)` on the CPU: PyTorch refuses three operators, which give the
same here each time, and no others of those that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

REFUSED = {"put", "put_", "max_unpool1d", "max_unpool2d", "max_unpool3d"}
"""What PyTorch refuses."""

CALLS: dict[str, Callable[[Any], Any]] = {
    "put": lambda L: L.zeros(4).put(L.tensor([0, 0]), L.tensor([1.0, 2.0])),
    "put_": lambda L: L.zeros(4).put_(L.tensor([0, 0]), L.tensor([1.0, 2.0])),
    "put_, added": lambda L: L.zeros(4).put_(L.tensor([0, 0]), L.ones(2), accumulate=True),
    **{
        f"max_unpool{n}d": lambda L, n=n: getattr(L.nn.functional, f"max_unpool{n}d")(
            L.ones((1, 1) + (1,) * n), L.zeros((1, 1) + (1,) * n, dtype=L.int64), 2
        )
        for n in (1, 2, 3)
    },
    "index_put_": lambda L: L.zeros(4).index_put_((L.tensor([0, 0]),), L.ones(2)),
    "index_put_, added": lambda L: L.zeros(4).index_put_(
        (L.tensor([0, 0]),), L.ones(2), accumulate=True
    ),
    "index_add_": lambda L: L.zeros(4).index_add_(0, L.tensor([0, 0]), L.ones(2)),
    "index_copy_": lambda L: L.zeros(4).index_copy_(0, L.tensor([0, 0]), L.ones(2)),
    "scatter_": lambda L: L.zeros(4).scatter_(0, L.tensor([0, 0]), L.ones(2)),
    "scatter_add_": lambda L: L.zeros(4).scatter_add_(0, L.tensor([0, 0]), L.ones(2)),
    "scatter_reduce_": lambda L: L.zeros(4).scatter_reduce_(0, L.tensor([0, 0]), L.ones(2), "prod"),
    "kthvalue": lambda L: L.arange(4.0).kthvalue(2),
    "median": lambda L: L.arange(4.0).median(0),
    "histc": lambda L: L.ones(4).histc(2),
    "bincount": lambda L: L.tensor([0, 1]).bincount(L.ones(2)),
    "cumsum": lambda L: L.ones(4).cumsum(0),
    "bmm of a sparse tensor": lambda L: L.sparse.mm(L.eye(2).to_sparse(), L.ones(2, 2)),
    "gradient of take": lambda L: _gradient(L, (4,), lambda x: x.take(L.tensor([0, 0]))),
    "gradient of gather": lambda L: _gradient(L, (4,), lambda x: x.gather(0, L.tensor([0, 0]))),
    "gradient of repeat_interleave": lambda L: _gradient(
        L, (2,), lambda x: x.repeat_interleave(L.tensor([1, 2]))
    ),
    "gradient of embedding_bag": lambda L: _gradient(
        L, (2, 2), lambda x: L.nn.functional.embedding_bag(L.tensor([[0, 0]]), x, mode="max")
    ),
    "gradient of nll_loss": lambda L: _gradient(
        L, (1, 2, 1, 1), lambda x: L.nn.functional.nll_loss(x, L.zeros(1, 1, 1, dtype=L.int64))
    ),
    "gradient of ctc_loss": lambda L: _gradient(
        L,
        (3, 1, 2),
        lambda x: L.nn.functional.ctc_loss(
            x.log_softmax(2), L.tensor([[1]]), L.tensor([3]), L.tensor([1])
        ),
    ),
    "gradient of grid_sample": lambda L: _gradient(
        L,
        (1, 1, 2, 2),
        lambda x: L.nn.functional.grid_sample(x, L.zeros(1, 1, 1, 2), align_corners=False),
    ),
    **{
        f"gradient of interpolate, {mode}": lambda L, mode=mode, n=n: _gradient(
            L, (1, 1) + (2,) * n, lambda x: L.nn.functional.interpolate(x, None, 2.0, mode)
        )
        for mode, n in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3))
    },
    **{
        f"gradient of pad, {mode}, {n}": lambda L, mode=mode, n=n: _gradient(
            L, (1, 1) + (3,) * n, lambda x: L.nn.functional.pad(x, (1, 1) * n, mode=mode)
        )
        for mode in ("reflect", "replicate")
        for n in (1, 2, 3)
    },
    **{
        f"gradient of {name}_pool{n}d": lambda L, name=name, n=n: _gradient(
            L, (1, 1) + (4,) * n, lambda x: getattr(L.nn.functional, f"{name}_pool{n}d")(x, 2)
        )
        for name in ("adaptive_avg", "adaptive_max", "avg", "max")
        for n in (1, 2, 3)
    },
}


def _gradient(lib: Any, shape: tuple[int, ...], function: Callable[[Any], Any]) -> Any:
    x = lib.ones(shape, requires_grad=True)
    return lib.autograd.grad(function(x).sum(), x)[0]


@pytest.fixture
def _deterministic() -> Iterator[None]:
    for lib in (dovetail, torch):
        lib.use_deterministic_algorithms(True)
    yield
    for lib in (dovetail, torch):
        lib.use_deterministic_algorithms(False)


def _values(made: Any) -> list[Any]:
    return [each.tolist() for each in (made if isinstance(made, tuple) else [made])]


@pytest.mark.cpu_only(reason="on CUDA other operators are not deterministic, and a warning says so")
@pytest.mark.usefixtures("_deterministic")
@pytest.mark.parametrize("name", CALLS)
def test_every_operator_runs_in_deterministic_mode(name: str) -> None:
    found = _values(CALLS[name](dovetail))
    if name in REFUSED:
        with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
            CALLS[name](torch)
        torch.use_deterministic_algorithms(False)
    for ours, theirs in zip(found, _values(CALLS[name](torch)), strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6)


@pytest.mark.cpu_only(reason="on CUDA several threads write")
@pytest.mark.usefixtures("_deterministic")
@pytest.mark.parametrize("threads", (1, 4))
def test_of_several_values_for_one_element_the_last_is_put(threads: int) -> None:
    before = dovetail.get_num_threads()
    dovetail.set_num_threads(threads)
    try:
        count = 1 << 20
        index = dovetail.arange(count) % 7
        values = dovetail.arange(count)
        put = dovetail.zeros(7, dtype=dovetail.int64).put_(index, values)
        pooled = dovetail.nn.functional.max_unpool2d(
            values.double().view(1, 1, 1024, 1024), index.view(1, 1, 1024, 1024), 2
        )
    finally:
        dovetail.set_num_threads(before)
    last = [max(range(k, count, 7)) for k in range(7)]
    assert put.tolist() == last
    assert pooled.flatten()[:7].tolist() == last
