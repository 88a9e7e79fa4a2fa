"""DLPack's C functions, which other libraries find at the class of tensors."""

from __future__ import annotations

import ctypes
import gc
import sys
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail_dispatcher.compiled_code import is_in_force

pytestmark = [
    pytest.mark.cpu_only(reason="other tensors go through __dlpack__"),
    pytest.mark.skipif(not is_in_force(), reason="the functions are compiled"),
]

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
DTYPES += ["complex64", "complex128", "bfloat16"]


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("owner", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
POINTER = ctypes.POINTER(ctypes.POINTER(Managed))


class Exchange(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("previous", ctypes.c_void_p),
        (
            "allocate",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(DLTensor), POINTER, ctypes.c_void_p, SetError
            ),
        ),
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, POINTER)),
        (
            "to_object",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(Managed), ctypes.POINTER(ctypes.py_object)
            ),
        ),
        ("borrow", ctypes.c_void_p),
        (
            "current_stream",
            ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
            ),
        ),
    )


def exchange_of(cls: type) -> Exchange:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = cls.__dlpack_c_exchange_api__  # type: ignore[attr-defined]
    return Exchange.from_address(pointer(capsule, b"dlpack_exchange_api"))


def exported(value: Any, exchange: Exchange | None = None) -> Any:
    managed = ctypes.POINTER(Managed)()
    (exchange or exchange_of(type(value))).from_object(value, ctypes.byref(managed))
    return managed


def imported(managed: Any, exchange: Exchange | None = None) -> Any:
    made = ctypes.py_object()
    (exchange or exchange_of(dovetail.Tensor)).to_object(managed, ctypes.byref(made))
    value = made.value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(value))  # the reference that was returned
    return value


LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "every second row": lambda x: x[::2],
    "expanded": lambda x: x[:1].expand(4, 5),
    "no dimensions": lambda x: x[1, 1],
    "no elements": lambda x: x[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_comes_back_with_its_elements_strides_and_memory(dtype: str, layout: str) -> None:
    x = dovetail.arange(20).reshape(4, 5).to(getattr(dovetail, dtype))
    view = LAYOUTS[layout](x)
    managed = exported(view)
    described = managed.contents.tensor
    assert list(managed.contents.version) == [1, 0 if dtype == "bfloat16" else 3]
    assert [described.shape[i] for i in range(described.ndim)] == list(view.shape)
    if view.numel():
        assert [described.strides[i] for i in range(described.ndim)] == list(view.stride())
        assert described.data + described.byte_offset == view.data_ptr()
    back = imported(managed)
    assert back.dtype is view.dtype and back.equal(view)
    if view.numel():
        assert back.stride() == view.stride() and back.data_ptr() == view.data_ptr()


def test_memory_lives_as_long_as_somebody_has_it() -> None:
    array = np.arange(6.0)
    gone = weakref.ref(array)
    managed = exported(dovetail.from_numpy(array))
    del array
    gc.collect()
    back = imported(managed)
    assert gone() is not None and back.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    del back
    gc.collect()
    assert gone() is None


def test_a_tensor_that_is_not_taken_is_given_back_by_its_deleter() -> None:
    x = dovetail.from_numpy(np.arange(6.0))
    counts = [sys.getrefcount(x.array)]
    managed = exported(x)
    counts.append(sys.getrefcount(x.array))
    managed.contents.deleter(ctypes.addressof(managed.contents))
    counts.append(sys.getrefcount(x.array))
    assert [each - counts[0] for each in counts] == [0, 1, 0]


def test_memory_that_cannot_be_written_is_marked() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch's hint, once per process
        x = dovetail.from_numpy(array)
    managed = exported(x)
    assert managed.contents.flags & 1
    assert imported(managed).tolist() == [0.0, 1.0, 2.0]


def test_a_tensor_that_requires_grad_is_refused() -> None:
    x = dovetail.ones(2, requires_grad=True)
    with pytest.raises(BufferError, match="detach"):
        exported(x)
    with pytest.raises(BufferError, match="detach"):
        exported((x * 2).view(2))
    assert imported(exported(x.detach())).tolist() == [1.0, 1.0]


def test_subclasses_and_parameters_have_the_functions_too() -> None:
    class Named(dovetail.Tensor):
        pass

    named = dovetail.ones(2).as_subclass(Named)
    assert imported(exported(named)).tolist() == [1.0, 1.0]
    parameter = dovetail.nn.Parameter(dovetail.ones(2), requires_grad=False)
    assert imported(exported(parameter)).tolist() == [1.0, 1.0]
    assert Named.__dlpack_c_exchange_api__ is dovetail.Tensor.__dlpack_c_exchange_api__


def test_what_is_no_tensor_is_an_error() -> None:
    with pytest.raises(AttributeError):
        exported(3, exchange_of(dovetail.Tensor))


def allocated(*shape: int, code: int = 2, bits: int = 32, kind: int = 1) -> tuple[int, Any, Any]:
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    prototype = DLTensor(None, (kind, 0), len(shape), code, bits, 1, sizes, None, 0)
    errors: list[Any] = []
    report = SetError(lambda _, error, text: errors.append((error.decode(), text.decode())))
    managed = ctypes.POINTER(Managed)()
    status = exchange_of(dovetail.Tensor).allocate(
        ctypes.byref(prototype), ctypes.byref(managed), None, report
    )
    return status, managed, errors


def test_other_libraries_can_ask_for_memory() -> None:
    status, managed, errors = allocated(2, 3)
    assert (status, errors) == (0, [])
    x = imported(managed)
    assert x.shape == (2, 3) and x.dtype is dovetail.float32
    x.fill_(1)
    assert x.sum() == 6


@pytest.mark.parametrize("options", [{"code": 3}, {"kind": 2}, {"bits": 24}])
def test_memory_that_it_has_not_is_refused(options: Any) -> None:
    status, _, errors = allocated(2, **options)
    assert status == -1 and errors[0][0] == "BufferError"


def test_the_cpu_has_no_stream() -> None:
    stream = ctypes.c_void_p(1)
    assert exchange_of(dovetail.Tensor).current_stream(1, 0, ctypes.byref(stream)) == 0
    assert not stream.value


def test_tensors_go_to_pytorch_and_back() -> None:
    torch = pytest.importorskip("torch")
    theirs = exchange_of(torch.Tensor)
    x = dovetail.arange(12.0).reshape(3, 4).t()[::2]
    there = imported(exported(x), theirs)
    assert isinstance(there, torch.Tensor) and there.stride() == x.stride()
    there[0, 0] = 7
    assert x[0, 0] == 7
    here = imported(exported(torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).t(), theirs))
    assert here.dtype is dovetail.bfloat16 and here.tolist() == [[0, 3], [1, 4], [2, 5]]
