"""dtypes, their limits and the promotion lattice, compared with PyTorch over every combination."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail_kernel.types.dtype import DTYPES, bfloat16, dtype, float16, float32, float64
from dovetail_kernel.types.dtype_info import finfo, iinfo
from dovetail_kernel.types.promotion import (
    can_cast,
    get_default_dtype,
    promote_types,
    result_dtype,
    set_default_dtype,
)

PAIRS = list(product(DTYPES, DTYPES))
SCALARS: dict[int, Any] = {0: True, 1: 1, 2: 1.5, 3: 1j}


def theirs(kind: dtype) -> Any:
    return getattr(torch, kind.name)


def outcome(function: Any, *arguments: Any) -> str:
    """Return the name of the dtype, or the type and first words of the exception."""
    try:
        return str(function(*arguments)).partition(".")[2]
    except RuntimeError as error:
        return f"RuntimeError: {str(error)[:90].partition(';')[0]}"


def expected(function: Any, *arguments: Any) -> str:
    # There is no half-precision complex dtype here: complex64 stands in for it.
    return outcome(function, *arguments).replace("complex32", "complex64")


@pytest.fixture
def default_dtype_restored() -> Iterator[None]:
    before = get_default_dtype()
    yield
    set_default_dtype(before)
    torch.set_default_dtype(theirs(before))


@pytest.mark.parametrize("kind", DTYPES, ids=str)
def test_attributes_are_those_of_torch(kind: dtype) -> None:
    names = ("itemsize", "is_floating_point", "is_complex", "is_signed")
    assert [getattr(kind, name) for name in names] == [
        getattr(theirs(kind), name) for name in names
    ]


@pytest.mark.parametrize("kind", DTYPES, ids=str)
def test_to_real_and_to_complex_are_those_of_torch(kind: dtype) -> None:
    assert outcome(kind.to_real) == outcome(theirs(kind).to_real)
    assert outcome(kind.to_complex)[:40] == expected(theirs(kind).to_complex)[:40]


@pytest.mark.parametrize("kind", [kind for kind in DTYPES if kind.category == 1], ids=str)
def test_limits_of_integers_are_those_of_torch(kind: dtype) -> None:
    ours, reference = iinfo(kind), torch.iinfo(theirs(kind))
    assert [ours.bits, ours.min, ours.max, ours.dtype] == [
        reference.bits,
        reference.min,
        reference.max,
        reference.dtype,
    ]
    assert repr(ours) == repr(reference)


@pytest.mark.parametrize("kind", [kind for kind in DTYPES if kind.category >= 2], ids=str)
def test_limits_of_floating_point_are_those_of_torch(kind: dtype) -> None:
    ours, reference = finfo(kind), torch.finfo(theirs(kind))
    names = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")
    assert [getattr(ours, name) for name in names] == [getattr(reference, name) for name in names]
    assert repr(ours) == repr(reference)


def is_refused(reference: str) -> bool:
    """Return whether PyTorch promotes no such unsigned integers; Dovetail does as NumPy."""
    return reference.startswith("RuntimeError: Promotion for uint16, uint32, uint64")


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=str)
def test_promote_types_is_the_lattice_of_torch(first: dtype, second: dtype) -> None:
    reference = expected(torch.promote_types, theirs(first), theirs(second))
    found = outcome(promote_types, first, second)
    if not is_refused(reference):
        assert found == reference
    elif max(first.category, second.category) <= 1:
        wanted = np.promote_types(first.name, second.name)
        assert found == wanted.name or (wanted.kind == "f" and "do not promote" in found)
    else:
        assert found == max(first, second, key=lambda each: each.category).name


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=str)
def test_can_cast_is_that_of_torch(first: dtype, second: dtype) -> None:
    assert can_cast(first, second) == torch.can_cast(theirs(first), theirs(second))


@pytest.mark.parametrize(("dimensioned", "zero_dim"), PAIRS, ids=str)
def test_a_zero_dim_tensor_counts_as_in_torch(dimensioned: dtype, zero_dim: dtype) -> None:
    tensors = torch.ones(1, dtype=theirs(dimensioned)), torch.ones((), dtype=theirs(zero_dim))
    reference = expected(torch.result_type, *tensors)
    if is_refused(reference):
        reference = outcome(promote_types, dimensioned, zero_dim)
    assert outcome(result_dtype, [dimensioned], [zero_dim]) == reference


@pytest.mark.parametrize(("kind", "category"), list(product(DTYPES, SCALARS)), ids=str)
def test_a_python_number_counts_as_in_torch(kind: dtype, category: int) -> None:
    for shape, operands in (((1,), ([kind], [])), ((), ([], [kind]))):
        tensor = torch.ones(shape, dtype=theirs(kind))
        assert outcome(result_dtype, *operands, [category]) == expected(
            torch.result_type, tensor, SCALARS[category]
        )


@pytest.mark.parametrize(("first", "second"), list(product(SCALARS, SCALARS)), ids=str)
def test_two_python_numbers_count_as_in_torch(first: int, second: int) -> None:
    reference = expected(torch.result_type, SCALARS[first], SCALARS[second])
    assert outcome(result_dtype, [], [], [first, second]) == reference


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("default", [float16, float32, float64], ids=str)
@pytest.mark.parametrize("category", [2, 3])
def test_the_default_dtype_decides_for_python_numbers_as_in_torch(
    default_dtype_restored: None, default: dtype, category: int
) -> None:
    set_default_dtype(default)
    torch.set_default_dtype(theirs(default))
    reference = expected(torch.result_type, torch.ones(1, dtype=torch.int32), SCALARS[category])
    assert outcome(result_dtype, [DTYPES[7]], [], [category]) == reference


def test_a_bfloat16_default_has_a_complex_counterpart_where_torch_raises(
    default_dtype_restored: None,
) -> None:
    set_default_dtype(bfloat16)
    assert result_dtype([], [], [3]).name == "complex64"


def test_where_promotes_operands_in_every_order_of_calls() -> None:
    """The key of a call has the dtype of the condition too: it does not tell which of the operands
    has which.
    """
    names = ("bool", "uint8", "int64", "float32", "float64")
    pairs = [(one, other) for one in names for other in names] * 3
    random.Random(0).shuffle(pairs)
    for one, other in pairs:
        found = [
            lib.where(
                lib.tensor([True, False]),
                lib.tensor([1, 0], dtype=getattr(lib, one)),
                lib.tensor([0, 1], dtype=getattr(lib, other)),
            )
            for lib in (dovetail, torch)
        ]
        ours, theirs = [(str(each.dtype).partition(".")[2], each.tolist()) for each in found]
        assert ours == theirs, (one, other)
        assert np.asarray(found[0].cpu()).dtype.name == ours[0]
