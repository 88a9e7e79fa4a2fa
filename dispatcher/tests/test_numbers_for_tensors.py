"""Python numbers in the place of tensors: in operators of the base library alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.calls.promotion.scalar_operands import (
    category_of_number,
    number_cache,
    number_tensor,
    tensor_of_number,
)
from dovetail_dispatcher.sockets import BASE_OPERATORS
from dovetail_kernel import (
    TensorBase,
    backend,
    complex64,
    float16,
    float32,
    float64,
    int8,
    int64,
    scalar_category,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.signature import PYTHON_BOOL, PYTHON_COMPLEX, PYTHON_FLOAT, PYTHON_INT

Tensors = Callable[..., TensorBase]


@pytest.fixture(params=["arithmetic", "serving_numbers"])
def seen(
    base: Library, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> list[TensorBase]:
    """The second operands that the kernel of ``small::plus`` gets."""
    operands: list[TensorBase] = []
    roles = BASE_OPERATORS.plug._replace(**{request.param: frozenset({"small::plus"})})
    monkeypatch.setattr(BASE_OPERATORS, "plug", roles)

    def kernel(x: TensorBase, y: TensorBase) -> TensorBase:
        operands.append(y)
        return x

    base.define("plus(Tensor x, Tensor y) -> Tensor")
    base.impl("plus", kernel, "CPU")
    return operands


@pytest.mark.parametrize(
    ("beside", "number", "expected"),
    [
        ("float32", 2, float32),
        ("float16", 2.5, float16),
        ("float32", True, bool_),
        ("int8", 2, int8),
        ("int8", 2.5, float32),
        ("int8", True, bool_),
        ("bool", 3, int64),
        ("bool", True, bool_),
        ("float32", 1j, complex64),
        ("complex64", 2, complex64),
    ],
)
def test_a_number_becomes_a_scalar_tensor_beside_a_tensor(
    seen: list[TensorBase], tensor: Tensors, beside: str, number: Any, expected: Any
) -> None:
    ops.small.plus(tensor([1], beside), number)
    (operand,) = seen
    assert (operand.dtype, operand.shape) == (expected, ()) and operand.array == number
    assert not operand.requires_grad and operand.device == tensor([1.0]).device


def test_other_libraries_get_no_number_for_a_tensor(
    library: Callable[..., Library], tensor: Tensors, base: Library
) -> None:
    lib = library("nt", "DEF")
    lib.define("plus(Tensor x, Tensor y) -> Tensor")
    lib.impl("plus", lambda x, y: x, "CPU")
    with pytest.raises(RuntimeError, match="Unable to cast 2 to Tensor"):
        ops.nt.plus(tensor([1.0]), 2)


def test_numbers_have_the_category_of_their_class() -> None:
    bits = {PYTHON_BOOL: 0, PYTHON_INT: 1, PYTHON_FLOAT: 2, PYTHON_COMPLEX: 3, 0: -1}
    assert {each: category_of_number(each) for each in bits} == bits
    assert category_of_number(PYTHON_BOOL | PYTHON_FLOAT | PYTHON_INT) == 2
    for number in (True, 1, 1.5, 1j):
        assert tensor_of_number(number, []).dtype.category == scalar_category(number)


def test_the_first_tensor_of_the_category_gives_the_dtype(tensor: Tensors) -> None:
    whole, half, double = tensor([1], "int8"), tensor([1.0], "float16"), tensor([1.0], "float64")
    assert tensor_of_number(2.5, [whole, half, double]).dtype is float16
    assert tensor_of_number(2, [double, whole]).dtype is float64
    assert tensor_of_number(2.5, [whole]).dtype is float32


def test_equal_numbers_are_one_tensor_but_for_zeros_and_nan() -> None:
    known, remember = number_cache(backend("cpu"), float64)
    assert remember(2.5) is remember(2.5) is known[2.5] and remember(2.5) is not remember(3.5)
    positive, negative = remember(0.0), remember(-0.0)
    assert positive is not negative and remember(-0.0) is negative
    assert np.signbit(negative.array) and not np.signbit(positive.array)
    nan = float("nan")
    assert remember(nan) is not remember(nan) and nan not in known
    assert remember(0) is remember(0)
    for number in range(600):
        assert remember(number + 0.5).array == number + 0.5
    assert len(known) <= 256
    assert number_tensor(2, backend("cpu"), float64).array.dtype == np.float64
