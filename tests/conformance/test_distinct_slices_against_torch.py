"""Distinct slices lie in memory as PyTorch's do, and numbers of repetitions are refused alike."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest
import torch

import dovetail

DTYPES = ("uint8", "int16", "uint16", "uint32", "uint64", "int64", "float16", "float32", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 2), (0, 2), (4, 2, 3)])
def test_distinct_slices_have_the_strides_of_pytorch(
    name: str, dtype: str, shape: tuple[int, ...]
) -> None:
    for dim in range(len(shape)):
        if not prod([size for each, size in enumerate(shape) if each != dim]):
            continue
        for is_turned in (False, True):
            found: list[Any] = []
            for lib in (torch, dovetail):
                x = (lib.arange(prod(shape)) % 2).reshape(shape).to(getattr(lib, dtype))
                x = x.transpose(0, -1) if is_turned else x
                at = len(shape) - 1 - dim if is_turned and dim in (0, len(shape) - 1) else dim
                made = getattr(lib, name)(x, dim=at, return_inverse=True, return_counts=True)
                found.append([(tuple(each.shape), each.stride(), each.tolist()) for each in made])
            assert found[0] == found[1]


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
@pytest.mark.parametrize("dim", [0, -1, 1])
def test_a_number_without_dimensions_has_no_slices(name: str, dim: int) -> None:
    for lib in (torch, dovetail):
        with pytest.raises(IndexError, match=f"specified as {dim} but tensor has no dimensions"):
            getattr(lib, name)(lib.tensor(2.0), dim=dim)


REPEATS = ([-1, 1, 1], [-1], -1, [0, -2, 5], [[1, 2, -1]], [1, 2], [-1, 2])


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("dtype", ["int64", "int32", "float32"])
@pytest.mark.parametrize("dim", [None, 0, -1, 5])
@pytest.mark.parametrize("shape", [(3,), (2, 3), ()])
def test_repetitions_are_refused_with_the_exceptions_of_pytorch(
    shape: tuple[int, ...], dim: int | None, dtype: str, repeats: Any
) -> None:
    found = []
    for lib in (torch, dovetail):
        x = lib.ones(shape, requires_grad=True)
        times = lib.tensor(repeats, dtype=getattr(lib, dtype))
        for call in (
            x.repeat_interleave,
            lambda *given, x=x, lib=lib: lib.repeat_interleave(x, *given),
        ):
            try:
                found.append(call(times, dim).tolist())
            except Exception as error:
                found.append(type(error))
    assert found[:2] == found[2:]
