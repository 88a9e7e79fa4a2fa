"""The order in memory of what is read or written at indices, of tensors in another order."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "index_select": lambda L, x, i: x.index_select(1, i),
    "x[i]": lambda L, x, i: x[i],
    "x[:, i]": lambda L, x, i: x[:, i],
    "x[:, i, i]": lambda L, x, i: x[:, i, i],
    "x[i, :, i]": lambda L, x, i: x[i, :, i],
    "x[None, i]": lambda L, x, i: x[None, i],
    "x[i, None, i]": lambda L, x, i: x[i, None, i],
    "x[:, None, i]": lambda L, x, i: x[:, None, i],
    "x[i[:, None], i]": lambda L, x, i: x[i[:, None], i],
    "x[j.t(), None]": lambda L, x, i: x[L.stack([i, i]).t(), None],
    "x[True], a tensor": lambda L, x, i: x[L.tensor(True)],
    "x[:1, [0, 1], 0]": lambda L, x, i: x[:1, [0, 1], 0],
    "gather": lambda L, x, i: x.gather(0, x.long() % 2),
    "take": lambda L, x, i: x.take(x.long() % 2),
    "scatter": lambda L, x, i: x.scatter(0, x.long() % 2, 1.0),
    "scatter_add": lambda L, x, i: x.scatter_add(0, x.long() % 2, x),
    "scatter_reduce": lambda L, x, i: x.scatter_reduce(0, x.long() % 2, x, "amax"),
    "the mean": lambda L, x, i: x.scatter_reduce(0, x.long() % 2, x, "mean"),
    "index_add": lambda L, x, i: x.index_add(1, i, x[:, :2]),
    "index_add with alpha": lambda L, x, i: x.index_add(1, i, x[:, :2], alpha=2),
    "index_copy": lambda L, x, i: x.index_copy(1, i, x[:, :2]),
    "index_reduce": lambda L, x, i: x.index_reduce(1, i, x[:, :2], "prod"),
    "index_fill": lambda L, x, i: x.index_fill(1, i, 2.0),
    "index_fill of a tensor": lambda L, x, i: x.index_fill(1, i, L.tensor(2.0)),
    "index_put": lambda L, x, i: x.index_put((i,), L.tensor(1.0)),
    "index_put that adds": lambda L, x, i: x.index_put((i, i), L.tensor(1.0), accumulate=True),
    "put": lambda L, x, i: L.ops.aten.put(x, i, L.ones(2)),
    "masked_scatter": lambda L, x, i: x.masked_scatter(x > 5, x),
}


def layouts(library: Any) -> list[Any]:
    """Return a tensor in three orders, and on the cpu an expanded one: other array libraries copy
    that in an order of their own.
    """
    x = library.arange(24.0).reshape(2, 3, 4)
    turned = library.arange(24.0).reshape(4, 2, 3).permute(1, 2, 0)
    made = [x, turned, turned.transpose(0, 1)[:2]]
    if dovetail.get_default_device().type == "cpu":
        made.append(library.arange(4.0).expand(2, 3, 4))
    return made


@pytest.mark.parametrize("name", CALLS)
def test_results_are_in_the_order_in_which_pytorch_has_them(name: str) -> None:
    found, expected = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for library, made in ((dovetail, found), (torch, expected)):
            index = library.tensor([0, 1])
            for x in layouts(library):
                result = CALLS[name](library, x, index)
                made.append((tuple(result.shape), tuple(result.stride()), result.tolist()))
    assert found == expected


@pytest.mark.parametrize(
    "name", [each for each in CALLS if "tensor" not in each and "put" not in each]
)
def test_the_order_is_known_without_data(name: str) -> None:
    for x in layouts(dovetail):
        index = dovetail.tensor([0, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            real = CALLS[name](dovetail, x, index)
            planned = CALLS[name](dovetail, x.to("meta"), index.to("meta"))
        assert (planned.shape, planned.stride()) == (real.shape, real.stride())
