"""Shortcuts of kernels that take tensors: routes skip the kernel where one applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.table import Shortcut
from dovetail_kernel import TensorBase

Tensors = Callable[..., TensorBase]


@pytest.fixture
def shapes(library: Callable[..., Library]) -> list[tuple[int, ...]]:
    """The shapes for which the kernel of ``sc::same`` is called, which returns its argument: it is
    needed for tensors without dimensions alone.
    """
    called: list[tuple[int, ...]] = []

    def kernel(x: TensorBase) -> TensorBase:
        called.append(tuple(x.shape))
        return x

    lib = library("sc", "DEF")
    lib.define("same(Tensor(a) x) -> Tensor(a)")
    lib.impl("same", Shortcut(None, other_ndim=0)(kernel), "CompositeImplicitAutograd")
    return called


def test_a_kernel_is_skipped_but_in_the_other_case(
    shapes: list[tuple[int, ...]], tensor: Tensors
) -> None:
    for data in ([1.0], [[1.0]], []):
        x: Any = tensor(data)
        assert ops.sc.same(x) is x
    assert shapes == []
    x = tensor(1.0)
    assert ops.sc.same(x) is x and shapes == [()]
