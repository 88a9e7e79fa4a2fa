"""The limits of dtypes, and dtypes that have a name and no tensors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from dovetail_kernel import (
    NamedDtype,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    named_dtype,
    promote_types,
    set_default_dtype,
)
from dovetail_kernel.types.dtype import DTYPES, INT, bfloat16, bool_, int8, uint8

FLOATS = (float16, float32, float64)
INTS = [each for each in DTYPES if each.category == INT]


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_the_limits_of_floats_are_numpys(kind: Any) -> None:
    own, numpys = finfo(kind), np.finfo(kind.name)
    for name in ("bits", "eps", "max", "min", "smallest_normal", "tiny"):
        assert getattr(own, name) == getattr(numpys, name)
    assert (
        own.resolution == pytest.approx(float(numpys.resolution), rel=1e-3)
        and own.dtype == kind.name
    )


def test_the_limits_of_bfloat16() -> None:
    own = finfo(bfloat16)
    assert (own.bits, own.eps, own.resolution, own.dtype) == (16, 2.0**-7, 0.01, "bfloat16")
    assert (own.max, own.min) == ((2 - 2.0**-7) * 2.0**127, -(2 - 2.0**-7) * 2.0**127)
    assert own.tiny == own.smallest_normal == 2.0**-126


@pytest.mark.parametrize("kind", INTS, ids=str)
def test_the_limits_of_integers_are_numpys(kind: Any) -> None:
    own, numpys = iinfo(kind), np.iinfo(kind.name)
    assert (own.bits, own.min, own.max) == (numpys.bits, numpys.min, numpys.max)
    assert own.dtype == kind.name and iinfo(kind) is own


def test_complex_dtypes_have_the_limits_of_their_parts() -> None:
    assert finfo(complex64) == finfo(float32) and finfo(complex128) == finfo(float64)
    assert finfo(named_dtype("complex32")) == finfo(float16)


def test_the_limits_are_those_of_the_default_dtype_unless_told() -> None:
    assert finfo() is finfo(float32)
    set_default_dtype(float64)
    try:
        assert finfo() is finfo(float64) is finfo(float)  # type: ignore[arg-type]  # Python's
    finally:
        set_default_dtype(float32)


@pytest.mark.parametrize(
    ("name", "eps", "largest", "smallest", "tiny"),
    [
        ("float8_e4m3fn", 0.125, 448, -448, 2.0**-6),
        ("float8_e4m3fnuz", 0.125, 240, -240, 2.0**-7),
        ("float8_e5m2", 0.25, 57344, -57344, 2.0**-14),
        ("float8_e5m2fnuz", 0.25, 57344, -57344, 2.0**-15),
        ("float8_e8m0fnu", 1, 2.0**127, 2.0**-127, 2.0**-127),
    ],
)
def test_the_limits_of_floats_of_eight_bits(
    name: str, eps: float, largest: float, smallest: float, tiny: float
) -> None:
    own = finfo(named_dtype(name))
    assert (own.bits, own.eps, own.max, own.min) == (8, eps, largest, smallest)
    assert (own.tiny, own.smallest_normal, own.resolution) == (tiny, tiny, 1.0)
    assert pickle.loads(pickle.dumps(own)) == own


def test_limits_print_and_are_pickled() -> None:
    assert repr(iinfo(int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    assert repr(finfo(float16)) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
        "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)"
    )
    for each in (iinfo(int8), finfo(float32), finfo(bfloat16)):
        assert pickle.loads(pickle.dumps(each)) == copy.copy(each) == each


@pytest.mark.parametrize(
    ("ask", "kind", "error", "message"),
    [
        (finfo, uint8, TypeError, "requires a floating point input type.*Use dovetail.iinfo"),
        (iinfo, float32, TypeError, "requires an integer input type.*Use dovetail.finfo"),
        (iinfo, complex64, TypeError, "requires an integer input type"),
        (iinfo, bool_, TypeError, "its values are False and True"),
        (finfo, "float32", TypeError, "must be dovetail.dtype, not str"),
        (iinfo, 3, TypeError, r"iinfo\(\): argument 'type' \(position 1\).*not int"),
        (iinfo, named_dtype("uint4"), NotImplementedError, "is a name alone"),
        (finfo, named_dtype("qint8"), NotImplementedError, "is a name alone"),
        (finfo, named_dtype("float4_e2m1fn_x2"), NotImplementedError, "is a name alone"),
    ],
    ids=str,
)
def test_what_has_no_limits_is_refused(
    ask: Any, kind: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ask(kind)


# -- names without tensors -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "facts"),
    [
        (["complex32", "chalf"], (4, False, True, True)),
        (["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"], (1, True, False, True)),
        (["float8_e5m2fnuz", "float4_e2m1fn_x2"], (1, True, False, True)),
        (["float8_e8m0fnu"], (1, True, False, False)),
        (["qint8"], (1, False, False, True)),
        (["qint32"], (4, False, False, True)),
        (["quint8", "quint4x2", "quint2x4"], (1, False, False, False)),
        ([f"uint{bits}" for bits in range(1, 8)], (1, False, False, False)),
        ([f"int{bits}" for bits in range(1, 8)], (1, False, False, True)),
        (["bits1x8", "bits2x4", "bits4x2", "bits8"], (1, False, False, False)),
        (["bits16"], (2, False, False, False)),
    ],
    ids=lambda each: str(each[0]),
)
def test_what_is_known_of_a_name_is_said(names: list[str], facts: tuple[int, bool]) -> None:
    for name in names:
        each = named_dtype(name)
        found = (each.itemsize, each.is_floating_point, each.is_complex, each.is_signed)
        assert found == facts


def test_every_name_has_one_object_and_no_bit_in_a_signature() -> None:
    for name, each in NamedDtype.members.items():
        assert named_dtype(name) is each and each.name == name
        assert copy.deepcopy(each) is pickle.loads(pickle.dumps(each)) is each
        assert (each.bit, each.index) == (0, -1) and each not in DTYPES
    assert len(NamedDtype.members) == 31
    assert named_dtype("chalf") is named_dtype("complex32")
    assert named_dtype("bit") is named_dtype("uint1")
    with pytest.raises(KeyError):
        named_dtype("float32")


def test_a_name_says_what_to_use_instead() -> None:
    for each in NamedDtype.members.values():
        refusal = str(each.refusal())
        assert f'"{each!r}" is a name alone: no tensor has the dtype' in refusal
        assert refusal.endswith(each.remedy) and ("Use " in each.remedy or "keep" in each.remedy)
    scalars = [named_dtype(name).scalar_name for name in ("complex32", "qint8", "uint3")]
    assert scalars == ["ComplexHalf", "QInt8", "UInt3"]


def test_parts_of_names() -> None:
    half, eight = named_dtype("complex32"), named_dtype("float8_e5m2")
    assert (half.to_real(), half.to_complex(), eight.to_real()) == (float16, half, eight)
    with pytest.raises(NotImplementedError, match="float8_e5m2"):
        eight.to_complex()


def test_a_name_is_no_dtype_to_compute_with() -> None:
    half = named_dtype("complex32")
    assert not can_cast(half, float32)
    with pytest.raises(NotImplementedError, match="name alone"):
        promote_types(half, float32)
    with pytest.raises(TypeError, match="only floating-point types are supported"):
        set_default_dtype(named_dtype("float8_e5m2"))
