"""Array kernels whose operands are on several backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dovetail_dispatcher import Library, ops
from dovetail_kernel import TensorBase, backend

Tensors = Callable[..., TensorBase]


@pytest.fixture
def given(library: Callable[..., Library]) -> list[Any]:
    """What the kernel of ``ob::f`` on the meta device is given."""
    lib, seen = library("ob", "DEF"), list[Any]()
    arrays = backend("meta").arrays

    def kernel(x: Any, y: Any, more: Any) -> Any:
        seen.append([y, *more])
        return arrays.empty(x.shape, x.dtype)

    lib.define("f(Tensor x, Tensor? y, Tensor[] more) -> Tensor")
    lib.array_impl("f", kernel, "Meta")
    return seen


def test_a_scalar_of_the_cpu_is_an_operand_anywhere(given: list[Any], tensor: Tensors) -> None:
    x = tensor([1.0, 2.0], device="meta")
    scalar, whole = tensor(2.5), tensor(3, "int64")
    result = ops.ob.f(x, scalar, [whole, x])
    assert result.is_meta and result.shape == (2,)
    arrays = backend("meta").arrays
    moved = given[0]
    assert all(isinstance(each, arrays.array_types) for each in moved)
    assert [each.shape for each in moved] == [(), (), (2,)] and moved[2] is x.array
    native = [arrays.native_dtypes[each.dtype] for each in (scalar, whole)]
    assert [each.dtype for each in moved[:2]] == native
    assert scalar.array.tolist() == 2.5 and ops.ob.f(x, None, []).is_meta and given[1] == [None]


def test_another_tensor_of_another_backend_is_refused(given: list[Any], tensor: Tensors) -> None:
    x = tensor([1.0, 2.0], device="meta")
    for operands in ((tensor([2.5]), []), (None, [x, tensor([1.0, 2.0])])):
        with pytest.raises(
            RuntimeError,
            match=r"same device: Tensor on device cpu is not on the expected device meta! Move it",
        ):
            ops.ob.f(x, *operands)
    assert given == []
