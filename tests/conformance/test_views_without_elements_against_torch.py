"""Views without elements: where they begin, and what is written from there on, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

VIEWS: dict[str, Callable[[Any], Any]] = {
    "a slice": lambda x: x[1:1],
    "a slice that ends before it starts": lambda x: x[2:1],
    "a slice behind the end": lambda x: x[5:9],
    "a slice from the end on": lambda x: x[3:],
    "a slice with steps": lambda x: x[2:2:2],
    "of the columns": lambda x: x[:, 4:],
    "of a row": lambda x: x[1, 2:2],
    "two slices": lambda x: x[1:1, 2:],
    "with a new dimension": lambda x: x[..., None, 2:2],
    "a row of no columns": lambda x: x[:, 1:1][2],
    "a column of no rows": lambda x: x[2:2, 1],
    "a slice of a slice": lambda x: x[1:][1:1],
    "a slice of nothing": lambda x: x[1:1][0:0],
    "of the transpose": lambda x: x.t()[1:1],
    "narrow": lambda x: x.narrow(0, 2, 0),
    "split": lambda x: x.split([1, 0, 2])[1],
    "tensor_split": lambda x: x.tensor_split((1, 1))[1],
    "chunk": lambda x: x[1:1].chunk(2)[0],
    "unbind": lambda x: x[:, 3:3].unbind()[1],
    "unfold": lambda x: x[2:2].unfold(1, 2, 1),
    "a diagonal above the corner": lambda x: x.diagonal(4),
    "a diagonal below the corner": lambda x: x[1:].diagonal(-2),
    "the diagonal of nothing": lambda x: x[2:2].diagonal(),
    "transposed": lambda x: x[1:1].t(),
    "viewed": lambda x: x[2:2].view(0),
    "flattened": lambda x: x[2:2].flatten(),
    "expanded": lambda x: x[2:2].expand(5, 0, 4),
    "of another dtype": lambda x: x[2:2].view(_int_of(x)),
    "detached": lambda x: x[2:2].detach(),
    "by strides": lambda x: x.as_strided((0, 2), (1, 1), 3),
    "of a strided view": lambda x: x[2:2].as_strided((0, 2), (1, 1)),
}


def _int_of(x: Any) -> Any:
    return (torch if isinstance(x, torch.Tensor) else dovetail).int32


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_without_elements_begins_where_it_was_taken(name: str) -> None:
    found = []
    for lib in (torch, dovetail):
        x = lib.arange(12.0).reshape(3, 4)
        view = VIEWS[name](x)
        found.append((tuple(view.shape), view.stride(), view.storage_offset()))
    assert found[1] == found[0]


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_written_to_a_view_that_grows_lies_behind_its_begin(name: str) -> None:
    found = []
    for lib in (torch, dovetail):
        x = lib.arange(12.0).reshape(3, 4)
        view = VIEWS[name](x)
        view.resize_(3).fill_(7)
        bytes_ = x.untyped_storage().nbytes()
        found.append((x.tolist(), view.tolist(), view.storage_offset(), bytes_))
    assert found[1] == found[0]
