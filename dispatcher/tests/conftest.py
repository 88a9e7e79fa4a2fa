"""A backend of NumPy arrays, small enough to read, and libraries that are gone at the end of each
test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import pytest

from dovetail_dispatcher import CustomOpDef, Library, custom_op
from dovetail_dispatcher._C import _dispatch_dump
from dovetail_dispatcher.sockets import BASE_OPERATORS, BaseOperators
from dovetail_dispatcher.table import registry
from dovetail_kernel import (
    DTYPES,
    ArrayBackend,
    PluginError,
    TensorBase,
    backend,
    plugin_manager,
    share_storage,
    share_version,
    wrap,
)


class NumPyArrays(ArrayBackend):
    """The array side of the backend."""

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
        return bool(memory.flags.owndata)

    def may_overlap(self, a: Any, b: Any) -> bool:
        return bool(np.shares_memory(a, b))


def attach_backends() -> None:
    """Attach the installed backends, so that they and these tests can share a process, else the
    small one.
    """
    if find_spec("dovetail_cpu") is not None:
        try:
            plugin_manager.load_library("aten")
            plugin_manager.load_backend("cpu")
            plugin_manager.load_backend("meta")
        except PluginError:
            pass
    for name in ("cpu", "meta"):
        if not backend(name).is_attached:
            backend(name).attach(NumPyArrays())


attach_backends()


@pytest.fixture
def library() -> Iterator[Callable[..., Library]]:
    """Makes libraries that are destroyed after the test."""
    made: list[Library] = []

    def make(ns: str = "tt", kind: str = "FRAGMENT", dispatch_key: str = "") -> Library:
        made.append(Library(ns, kind, dispatch_key))
        return made[-1]

    yield make
    for each in reversed(made):
        each._destroy()


@pytest.fixture
def snapshot() -> Callable[[], tuple[Any, ...]]:
    """Reads everything that registration may change, as text."""

    def read() -> tuple[Any, ...]:
        operators = [_dispatch_dump(op.qualified_name) for op in registry.all_operators()]
        return operators, {key.name: repr(kernel) for key, kernel in registry.fallbacks.items()}

    return read


@pytest.fixture
def tensor() -> Callable[..., TensorBase]:
    """Makes tensors: ``tensor([1.0, 2.0])``, ``tensor(2.5, device="meta")``; floats are float32."""

    def make(data: Any = 1.0, dtype: str | None = None, device: str = "cpu") -> TensorBase:
        array = np.asarray(data)
        if dtype is None:
            dtype = "float32" if array.dtype == np.float64 else array.dtype.name
        return wrap(np.array(array, dtype), backend(device))

    return make


@pytest.fixture
def make() -> Iterator[Callable[..., CustomOpDef]]:
    """Makes custom ops that are gone after the test."""
    made: list[CustomOpDef] = []

    def make_one(fn: Callable[..., Any], name: str = "cust::f", **kwargs: Any) -> CustomOpDef:
        made.append(custom_op(name, fn, **{"mutates_args": (), **kwargs}))
        return made[-1]

    yield make_one
    for each in made:
        each._lib._destroy()


def detach(x: TensorBase) -> TensorBase:
    """Return a tensor that shows the same array."""
    made = wrap(x.array, x._backend)
    made._storage, made._counter = share_storage(x), share_version(x)
    return made


def clone(x: TensorBase) -> TensorBase:
    """Return a copy."""
    return move(x, x.device)


def move(x: TensorBase, device: Any) -> TensorBase:
    """Return a copy on a device; without elements on meta."""
    target = backend(device.type)
    native = target.arrays.native_dtypes[x.dtype]
    made = target.arrays.empty(tuple(x.shape), native)
    if device.type != "meta":
        made[...] = x.array
    return wrap(made, target)


def ones_like(x: TensorBase) -> TensorBase:
    """Return ones."""
    made = clone(x)
    if not made.is_meta:
        made.array[...] = 1
    return made


def convert(x: TensorBase, dtype: Any) -> TensorBase:
    """Return a tensor of another dtype."""
    return wrap(x.array.astype(x._backend.arrays.native_dtypes[dtype]), x._backend)


def empty_strided(size: Any, stride: Any, dtype: Any, device: Any) -> TensorBase:
    """Return a tensor without elements set; in C order."""
    target = backend(device.type)
    return wrap(target.arrays.empty(tuple(size), target.arrays.native_dtypes[dtype]), target)


@pytest.fixture
def base(library: Callable[..., Library], monkeypatch: pytest.MonkeyPatch) -> Library:
    """The few operators of a base library that the dispatcher calls, as small as they can be."""
    lib = library("small", "FRAGMENT")
    for schema, function in (
        ("detach(Tensor(a) x) -> Tensor(a)", detach),
        ("clone(Tensor x) -> Tensor", clone),
        ("ones_like(Tensor x) -> Tensor", ones_like),
        ("convert(Tensor x, ScalarType dtype) -> Tensor", convert),
        ("move(Tensor x, *, Device device) -> Tensor", move),
        (
            "empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType dtype, Device device)"
            " -> Tensor",
            empty_strided,
        ),
    ):
        name = lib.define(schema)
        lib.impl(name, function, "CompositeExplicitAutograd")
    roles = ("detach", "clone", "ones_like", "convert", "move", "empty_strided")
    names = {role: f"small::{role}" for role in roles}
    monkeypatch.setattr(BASE_OPERATORS, "plug", BaseOperators(namespace="small", **names))
    return lib
