"""Promotion: the rules in examples, and the default dtype. The whole lattice is compared with
PyTorch elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dovetail_kernel.sockets import DEFAULT_DTYPE
from dovetail_kernel.types.dtype import (
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dovetail_kernel.types.promotion import (
    can_cast,
    get_default_dtype,
    promote_types,
    result_dtype,
    scalar_category,
    set_default_dtype,
)


@pytest.fixture(autouse=True)
def default_dtype_restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(DEFAULT_DTYPE, "plugs", ())
    before = get_default_dtype()
    yield
    set_default_dtype(before)


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        (uint16, uint8, uint16),
        (uint16, bool_, uint16),
        (uint16, int16, int32),
        (uint16, int64, int64),
        (uint32, uint16, uint32),
        (uint32, int32, int64),
        (uint64, uint32, uint64),
        (uint64, complex64, complex64),
    ],
)
def test_unsigned_integers_promote_to_what_holds_both(
    first: dtype, second: dtype, result: dtype
) -> None:
    assert promote_types(first, second) is result
    assert promote_types(second, first) is result


def test_no_integer_holds_uint64_and_a_signed_one() -> None:
    with pytest.raises(RuntimeError, match="do not promote"):
        promote_types(uint64, int8)


@pytest.mark.parametrize(
    ("dimensioned", "zero_dim", "scalars", "result"),
    [
        ([int32], [int64], [], int32),
        ([int32, int64], [], [], int64),
        ([int32], [], [2], float32),
        ([int32], [float64], [], float64),
        ([float16], [float64], [], float16),
        ([float16, float64], [], [], float64),
        ([bool_], [], [1], int64),
        ([float64], [], [3], complex128),
        ([int32], [float64], [3], complex128),
        ([], [], [0, 1], int64),
    ],
)
def test_weaker_operands_count_only_by_category(
    dimensioned: list[dtype], zero_dim: list[dtype], scalars: list[int], result: dtype
) -> None:
    assert result_dtype(dimensioned, zero_dim, scalars) is result


def test_a_half_precision_tensor_and_a_complex_number_give_complex64() -> None:
    assert result_dtype([float16], [], [3]) is complex64


def test_no_operands_have_no_dtype() -> None:
    with pytest.raises(ValueError, match="at least one operand"):
        result_dtype([])


def test_results_may_be_written_into_higher_categories_only() -> None:
    assert [can_cast(int64, uint8), can_cast(int32, float16), can_cast(float32, int64)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(("value", "category"), [(True, 0), (1, 1), (1.5, 2), (1j, 3)])
def test_the_category_of_a_number(value: complex, category: int) -> None:
    assert scalar_category(value) == category


def test_python_floats_become_the_default_dtype() -> None:
    set_default_dtype(float64)
    assert result_dtype([int32], [], [2]) is float64
    assert result_dtype([int32], [], [3]) is complex128


@pytest.mark.parametrize("wrong", [int32, complex64, "float32", None])
def test_the_default_dtype_must_be_floating_point(wrong: dtype) -> None:
    with pytest.raises(
        TypeError, match="only floating-point types are supported as the default type"
    ):
        set_default_dtype(wrong)
    assert get_default_dtype() is float32


def test_listeners_hear_of_a_change_and_only_of_a_change() -> None:
    heard: list[dtype] = []
    DEFAULT_DTYPE.add(heard.append)
    set_default_dtype(float64)
    set_default_dtype(float64)
    assert heard == [float64]


@pytest.mark.parametrize("wrong_first", [True, False])
def test_only_dtypes_promote(wrong_first: bool) -> None:
    pair = ("float32", float32) if wrong_first else (float32, "float32")
    with pytest.raises(TypeError, match=r"must be dovetail\.dtype, not str\. Use result_type"):
        promote_types(*pair)  # type: ignore[arg-type]  # no dtypes
