"""A backend of NumPy arrays that is in the table for one test, and tensors on it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from dovetail_kernel import (
    DTYPES,
    ArrayBackend,
    AutogradInterface,
    Backend,
    DataPtr,
    TensorBase,
    set_state,
    state,
    wrap,
    wrapped_backend,
)
from dovetail_kernel.devices import backends
from dovetail_kernel.sockets import AUTOGRAD, DEVICE_TYPES


class Allocated:
    """What NumPy makes an array of: memory at an address."""

    def __init__(self, pointer: DataPtr) -> None:
        self.pointer = pointer
        self.__array_interface__ = {
            "shape": (pointer.nbytes,),
            "typestr": "|u1",
            "data": (pointer.get(), False),
            "version": 3,
        }


class NumPyArrays(ArrayBackend):
    """The array side of the backend, small enough to read."""

    array_types = (np.ndarray,)
    native_dtypes: ClassVar = {d: np.dtype(d.name) for d in DTYPES if d.name != "bfloat16"}
    dtype_bits: ClassVar = {np.dtype(d.name): d.bit for d in DTYPES if d.name != "bfloat16"}

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        return np.asarray(value, native_dtype)

    def scalar(self, value: Any, native_dtype: Any) -> Any:
        return np.asarray(value, native_dtype)

    def empty(
        self, shape: tuple[int, ...], native_dtype: Any, device_index: int | None = None
    ) -> Any:
        return np.empty(shape, native_dtype)

    def to_host(self, array: Any) -> Any:
        return array

    def data_ptr(self, array: Any) -> int:
        return int(array.__array_interface__["data"][0])

    def as_view(
        self,
        memory: Any,
        native_dtype: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
    ) -> Any:
        return np.ndarray(shape, native_dtype, memory, offset, strides)

    def owns_memory(self, memory: Any) -> bool:
        return bool(memory.flags.owndata) or isinstance(memory.base, Allocated)

    def bytes_at(self, pointer: DataPtr) -> Any:
        return np.asarray(Allocated(pointer))

    def pointer_of(self, memory: Any) -> DataPtr | None:
        return memory.base.pointer if isinstance(memory.base, Allocated) else None


class NumberedArrays(NumPyArrays):
    """Arrays of several devices, that say on which they are; with an allocator if it is set."""

    several_devices = True

    def device_index(self, array: Any) -> int | None:
        return 1


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test add backends that the next one does not see."""
    monkeypatch.setattr(DEVICE_TYPES, "plugs", ())
    wrapped_backend()  # is made once: what transforms set up for it stays
    monkeypatch.setattr(backends, "_by_name", dict(backends._by_name))
    monkeypatch.setattr(backends, "_by_bit", dict(backends._by_bit))
    monkeypatch.setattr(backends, "_in_order", backends._in_order)


_made: dict[tuple[str, type[ArrayBackend]], Backend] = {}


@pytest.fixture
def backend_of(tables: None) -> Callable[..., Backend]:
    """Makes a backend of NumPy arrays by its name: of a device type of its own, or one called
    like a known device type, beside the one in the table.
    """

    def make(name: str = "npt", arrays: type[ArrayBackend] = NumPyArrays) -> Backend:
        if (name, arrays) not in _made:  # each has a bit of its own: not one more in every test
            made = Backend(name, name.upper(), 40 + len(_made), 0)
            made.attach(arrays())
            _made[name, arrays] = made
        found = _made[name, arrays]
        backends._by_bit[found.bit] = found
        backends._by_name.setdefault(name, found)
        return found

    return make


@pytest.fixture
def npt(backend_of: Callable[..., Backend]) -> Backend:
    """The backend of NumPy arrays, whose device type is called so."""
    return backend_of()


@pytest.fixture
def numbered(backend_of: Callable[..., Backend]) -> Backend:
    """A backend whose arrays are on its device 1."""
    return backend_of("npn", NumberedArrays)


@pytest.fixture
def tensor(npt: Backend) -> Callable[..., TensorBase]:
    """Makes tensors of the class `TensorBase` around arrays, which stay theirs."""

    def make(data: Any = 1.0, dtype: str | None = None, cls: Any = TensorBase) -> TensorBase:
        array = data if isinstance(data, np.ndarray) else np.array(data)
        if dtype is not None:
            array = array.astype(dtype)
        return wrap(array, npt, cls)

    return make


@pytest.fixture
def no_autograd(monkeypatch: pytest.MonkeyPatch) -> AutogradInterface:
    """Answer questions about gradients as if autograd were not installed."""
    monkeypatch.setattr(AUTOGRAD, "plug", AutogradInterface())
    return AUTOGRAD.plug


@pytest.fixture(autouse=True)
def same_state() -> Iterator[None]:
    """Let no test leave the dispatch state changed."""
    before = state()
    yield
    after = state()
    set_state(before)
    assert after == before


@pytest.fixture
def host_memory() -> Callable[[int], tuple[int, Any]]:
    """Allocates host memory: its address, and what owns it."""

    def acquire(nbytes: int) -> tuple[int, Any]:
        buffer = (ctypes.c_uint8 * max(nbytes, 1))()
        return ctypes.addressof(buffer), buffer

    return acquire
