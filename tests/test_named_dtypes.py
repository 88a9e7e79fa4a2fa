"""Dtypes of PyTorch that no tensor has here can be named, and nothing else."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from fresh_interpreter import printed_by

import dovetail
from dovetail_kernel import NamedDtype, named_dtype

NAMED = [named_dtype(name) for name in ("chalf", "complex32", "bit", "float8_e4m3fn", "uint3")]
NAMED += [each for each in NamedDtype.members.values() if each not in NAMED]


def test_a_program_may_list_what_it_takes() -> None:
    table = {each: str(each) for each in NAMED}
    assert table[dovetail.complex32] == table[dovetail.chalf] == "dovetail.complex32"
    assert all(isinstance(each, dovetail.dtype) for each in table)
    assert dovetail.ones(2).dtype not in table
    assert dovetail.complex32 != dovetail.complex64
    assert dovetail.complex32 not in (dovetail.float32, dovetail.complex64)


def test_what_is_known_of_a_dtype_is_said_without_a_tensor() -> None:
    assert dovetail.complex32.is_complex
    assert not dovetail.complex32.is_floating_point
    assert dovetail.complex32.itemsize == 4
    assert dovetail.complex32.to_real() is dovetail.float16
    assert dovetail.complex32.to_complex() is dovetail.complex32
    assert dovetail.finfo(dovetail.complex32).dtype == "float16"
    assert dovetail.float8_e5m2.is_floating_point
    assert dovetail.qint32.itemsize == 4
    assert not dovetail.uint4.is_signed
    assert not dovetail.can_cast(dovetail.complex32, dovetail.float32)


def test_a_copy_is_the_same_dtype() -> None:
    for each in NAMED:
        assert copy.deepcopy(each) is pickle.loads(pickle.dumps(each)) is each


def test_another_process_finds_the_same_dtype() -> None:
    pickled = pickle.dumps([dovetail.complex32, dovetail.qint8])
    program = f"import dovetail, pickle; print(pickle.loads({pickled!r}))"
    assert printed_by(program).strip() == "[dovetail.complex32, dovetail.qint8]"


def test_every_one_is_a_name_of_the_front_end() -> None:
    assert all(getattr(dovetail, each.name) is each for each in NAMED)
    assert {each.name for each in NAMED} < set(dovetail.__all__)


def test_no_other_name_is_a_dtype() -> None:
    with pytest.raises(AttributeError, match="float3"):
        _ = dovetail.float3


USES: dict[str, Any] = {
    "ones": lambda kind: dovetail.ones(2, dtype=kind),
    "empty on meta": lambda kind: dovetail.empty(2, dtype=kind, device="meta"),
    "tensor": lambda kind: dovetail.tensor([1], dtype=kind),
    "asarray": lambda kind: dovetail.asarray([1], dtype=kind),
    "frombuffer": lambda kind: dovetail.frombuffer(bytearray(8), dtype=kind),
    "randn": lambda kind: dovetail.randn(2, dtype=kind),
    "new_zeros": lambda kind: dovetail.ones(2).new_zeros(2, dtype=kind),
    "zeros_like": lambda kind: dovetail.zeros_like(dovetail.ones(2), dtype=kind),
    "to": lambda kind: dovetail.ones(2).to(kind),
    "to device and": lambda kind: dovetail.ones(2).to("cpu", kind),
    "type": lambda kind: dovetail.ones(2).type(kind),
    "view": lambda kind: dovetail.ones(2).view(kind),
    "sum": lambda kind: dovetail.ones(2).sum(dtype=kind),
    "cumsum": lambda kind: dovetail.ones(2).cumsum(0, dtype=kind),
    "softmax": lambda kind: dovetail.ones(2).softmax(0, dtype=kind),
    "an operator": lambda kind: dovetail.ops.aten._to_copy.default(dovetail.ones(2), dtype=kind),
    "vmap": lambda kind: dovetail.vmap(lambda x: x.to(kind))(dovetail.ones(2)),
    "a module": lambda kind: dovetail.nn.Linear(2, 2, dtype=kind),
    "promotion": lambda kind: dovetail.promote_types(kind, dovetail.float32),
    "iinfo": dovetail.iinfo,
    "a storage": lambda kind: dovetail.TypedStorage(2, dtype=kind, _internal=True),
    "a requirement": lambda kind: dovetail.ones(2, dtype=kind, requires_grad=True),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_tensor_of_one_is_refused_with_what_to_use_instead(use: Any) -> None:
    for kind in NAMED:
        with pytest.raises(NotImplementedError, match=rf"{kind!r}.*is a name alone.*\. \S") as got:
            use(kind)
        assert kind.remedy in str(got.value)


def test_a_second_call_is_refused_as_the_first() -> None:
    x = dovetail.ones(3)
    assert x.sum(dtype=dovetail.float64).dtype is dovetail.float64
    for _ in range(3):
        with pytest.raises(NotImplementedError, match="name alone"):
            x.sum(dtype=dovetail.complex32)


def test_no_default_is_one() -> None:
    for kind in NAMED:
        with pytest.raises(TypeError, match="only floating-point types are supported"):
            dovetail.set_default_dtype(kind)
    assert dovetail.get_default_dtype() is dovetail.float32


def test_every_named_dtype_says_what_to_use() -> None:
    for each in NAMED:
        assert isinstance(each, NamedDtype)
        assert "Use " in each.remedy or "keep" in each.remedy


def test_floats_of_eight_bits_have_their_limits() -> None:
    found = {each.name: dovetail.finfo(each) for each in NAMED if each.name.startswith("float8")}
    assert {name: (each.max, each.eps, each.tiny) for name, each in found.items()} == {
        "float8_e4m3fn": (448, 0.125, 2.0**-6),
        "float8_e4m3fnuz": (240, 0.125, 2.0**-7),
        "float8_e5m2": (57344, 0.25, 2.0**-14),
        "float8_e5m2fnuz": (57344, 0.25, 2.0**-15),
        "float8_e8m0fnu": (2.0**127, 1, 2.0**-127),
    }
    assert found["float8_e8m0fnu"].min == 2.0**-127
    assert found["float8_e5m2"].min == -57344
    for each in found.values():
        assert each.bits == 8
        assert pickle.loads(pickle.dumps(each)) is each


def test_a_name_that_no_dtype_has_is_an_attribute_error() -> None:
    from dovetail.names import named_dtypes

    assert getattr(named_dtypes, "__warningregistry__", None) is None
    assert named_dtypes.complex32 is dovetail.complex32


def test_sizes_are_no_tensor_of_floats() -> None:
    with pytest.raises(TypeError, match=r"item 0 is 'Tensor'"):
        dovetail.Size(dovetail.ones(3))
    assert dovetail.Size(dovetail.tensor([1, 2])) == (1, 2)
