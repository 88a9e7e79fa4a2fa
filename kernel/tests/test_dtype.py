"""dtypes are fifteen immutable objects, equal only to themselves."""

from __future__ import annotations

import copy
import pickle

import pytest

from dovetail_kernel.signature import CPU_BIT, GRAD
from dovetail_kernel.types.dtype import (
    ALIASES,
    BY_BIT,
    BY_NAME,
    DTYPES,
    bool_,
    dtype,
    dtype_of_signature,
    float32,
    int64,
)
from dovetail_kernel.types.dtype_info import finfo, iinfo
from dovetail_kernel.types.promotion import get_default_dtype


def test_the_order_of_dtypes_is_fixed() -> None:
    assert [kind.name for kind in DTYPES] == [
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    ]


@pytest.mark.parametrize("kind", DTYPES, ids=str)
def test_index_and_bit_follow_the_order(kind: dtype) -> None:
    assert DTYPES[kind.index] is BY_NAME[kind.name] is BY_BIT[kind.bit] is kind
    assert kind.bit == 1 << kind.index


def test_repr_is_the_public_name() -> None:
    assert repr(float32) == str(float32) == "dovetail.float32"


@pytest.mark.parametrize("kind", DTYPES, ids=str)
def test_copies_and_pickles_are_the_same_object(kind: dtype) -> None:
    assert copy.copy(kind) is copy.deepcopy(kind) is pickle.loads(pickle.dumps(kind)) is kind


def test_attributes_cannot_be_written() -> None:
    with pytest.raises(AttributeError, match="not writable"):
        float32.itemsize = 8


def test_no_further_dtype_can_be_made() -> None:
    with pytest.raises(TypeError, match="cannot create 'dtype' instances"):
        dtype()


def test_scalar_names_are_those_of_messages() -> None:
    assert [bool_.scalar_name, float32.scalar_name, int64.scalar_name] == ["Bool", "Float", "Long"]


def test_aliases_are_the_second_names_of_torch() -> None:
    assert {alias: kind.name for alias, kind in ALIASES.items()} == {
        "half": "float16",
        "float": "float32",
        "double": "float64",
        "short": "int16",
        "int": "int32",
        "long": "int64",
        "cfloat": "complex64",
        "cdouble": "complex128",
    }


def test_the_dtype_of_a_signature_is_found_among_other_bits() -> None:
    assert dtype_of_signature(int64.bit | GRAD | CPU_BIT) is int64


def test_integers_have_no_complex_counterpart() -> None:
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Long"):
        int64.to_complex()


def test_finfo_is_about_the_default_dtype_unless_told() -> None:
    assert finfo().dtype == get_default_dtype().name


def test_finfo_of_an_integer_names_iinfo() -> None:
    with pytest.raises(TypeError, match=r"requires a floating point input type.*iinfo"):
        finfo(int64)


def test_iinfo_of_floating_point_names_finfo() -> None:
    with pytest.raises(TypeError, match=r"requires an integer input type.*finfo"):
        iinfo(float32)


@pytest.mark.parametrize("function", [finfo, iinfo])
def test_limits_of_what_is_no_dtype_are_an_error(function: type) -> None:
    with pytest.raises(TypeError, match=r"must be dovetail.dtype, not str"):
        function("float32")


@pytest.mark.parametrize("info", [finfo(float32), iinfo(int64)], ids=repr)
def test_limits_survive_pickling(info: finfo | iinfo) -> None:
    assert pickle.loads(pickle.dumps(info)) is info
