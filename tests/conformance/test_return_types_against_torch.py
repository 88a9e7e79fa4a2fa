"""Results with names, as ``torch.return_types``."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from devices import without_device

import dovetail

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "max": lambda lib, x: x.max(1),
    "max by keyword": lambda lib, x: lib.max(x, dim=1, keepdim=True),
    "min": lambda lib, x: lib.min(x, 0),
    "sort": lambda lib, x: x.sort(),
    "topk": lambda lib, x: lib.topk(x, 2),
    "max into tensors": lambda lib, x: lib.max(
        x, 1, out=(lib.empty(0), lib.empty(0, dtype=lib.int64))
    ),
    "sort into tensors": lambda lib, x: lib.sort(
        x, out=(lib.empty(0), lib.empty(0, dtype=lib.int64))
    ),
    "topk into tensors": lambda lib, x: lib.topk(
        x, 2, out=[lib.empty(0), lib.empty(0, dtype=lib.int64)]
    ),
    "max in a vmap": lambda lib, x: lib.func.vmap(lambda row: row.max(0))(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_indices_have_names(name: str) -> None:
    found, expected = [
        CALLS[name](lib, lib.tensor([[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]]))
        for lib in (dovetail, torch)
    ]
    assert isinstance(found, tuple)
    assert type(found).__name__ == type(expected).__name__
    assert found.values.tolist() == expected.values.tolist()
    assert found.indices.tolist() == expected.indices.tolist()
    assert without_device(repr(found)) == repr(expected).replace("torch.", "dovetail.")


def test_an_overload_returns_a_plain_tuple() -> None:
    for lib in (dovetail, torch):
        assert type(lib.ops.aten.max.dim(lib.ones(2, 2), 1)) is tuple


def test_they_are_pickled_and_copied_as_what_they_are() -> None:
    result = dovetail.ones(2, 2).max(1)
    assert type(result) is dovetail.return_types.max
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert type(other) is dovetail.return_types.max
        assert other.values.tolist() == [1, 1]


def test_what_overriding_code_returns_stays_as_it_is() -> None:
    class Mine(dovetail.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return "mine"

    assert dovetail.max(dovetail.ones(2, 2).as_subclass(Mine), 1) == "mine"


def test_several_results_are_written_into_as_many_tensors() -> None:
    x = dovetail.ones(2, 2)
    with pytest.raises(TypeError, match=r"topk\(\): argument 'out' must be tuple of 2 Te"):
        dovetail.topk(x, 1, out=x)
