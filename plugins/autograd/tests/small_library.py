"""A base library of a dozen operators over NumPy, for testing autograd where the real one is not
installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from typing import Any

import numpy as np

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import Formula, Saved
from dovetail_dispatcher.table.updates.rule_registration import set_derivative_formulas
from dovetail_kernel import DTYPES, ArrayBackend, TensorBase, backend, wrap

_NAMES = ("float32", "float64", "complex64", "complex128", "int32", "int64", "bool")


_NATIVE = {
    each: np.dtype(name) for each in DTYPES if (name := str(each).rpartition(".")[2]) in _NAMES
}


class NumPyArrays(ArrayBackend):
    array_types = (np.ndarray,)

    def __init__(self) -> None:
        self.native_dtypes = _NATIVE
        self.dtype_bits = {native: each.bit for each, native in _NATIVE.items()}

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        return np.asarray(value, native_dtype)

    def scalar(self, value: Any, native_dtype: Any) -> Any:
        return np.array(value, native_dtype)

    def to_host(self, array: Any) -> Any:
        return array

    def empty(
        self, shape: tuple[int, ...], native_dtype: Any, device_index: int | None = None
    ) -> Any:
        return np.empty(shape, native_dtype)

    def data_ptr(self, array: Any) -> int:
        return int(array.__array_interface__["data"][0])

    def may_overlap(self, left: Any, right: Any) -> bool:
        return bool(np.may_share_memory(left, right))


def _as_strided(self: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    root = NumPyArrays().storage_of(self)
    itemsize = self.itemsize
    if storage_offset is None:
        storage_offset = (
            self.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        ) // itemsize
    steps = tuple(each * itemsize for each in stride)
    return np.ndarray(tuple(size), self.dtype, root, storage_offset * itemsize, steps)


def _sum_dims(self: Any, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return self.sum(axis=tuple(dim), keepdims=keepdim)


def _mul(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    self_edge, other_edge = edges
    grad_self = grad_other = None
    if self_edge is not None:
        other = node._other
        version = other._counter
        if version is not None and version.value != node._other_version:
            node.unpack_other()
        grad_self = k.mul(grad, other.array)
    if other_edge is not None:
        self = node._self
        version = self._counter
        if version is not None and version.value != node._self_version:
            node.unpack_self()
        grad_other = k.mul(grad, self.array)
    return grad_self, grad_other


def _mul_tensors(node: Any, grad: Any) -> Any:
    self_edge, other_edge = node.next_edges
    mul = ops.aten.mul.Tensor
    return (
        None if self_edge is None else mul(grad, node.unpack_other()),
        None if other_edge is None else mul(grad, node.unpack_self()),
    )


def _exp(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    array, counter, expected = node._result
    if counter.value != expected:
        node.unpack_result()
    return (k.mul(grad, array),)


def _select_tensors(node: Any, grad: Any) -> Any:
    result = wrap(np.zeros(node._self_sym_sizes, grad.array.dtype), grad._backend)
    index = [slice(None)] * len(node._self_sym_sizes)
    index[node._dim] = node._index
    result.array[tuple(index)] = grad.array
    return (result,)


def _unbind_tensors(node: Any, *grads: Any) -> Any:
    result = wrap(np.zeros(node._self_sym_sizes, np.float32), backend("cpu"))
    for index, grad in enumerate(grads):
        if grad is not None:
            result.array[index] = grad.array
    return (result,)


def _as_strided_tensors(node: Any, grad: Any) -> Any:
    result = np.zeros(math.prod(node._self_sym_sizes), grad.array.dtype)
    view = np.lib.stride_tricks.as_strided(
        result[node._storage_offset :],
        node._size,
        tuple(each * result.itemsize for each in node._stride),
    )
    view += grad.array
    return (wrap(result.reshape(node._self_sym_sizes), grad._backend),)


_POINTWISE = {
    "add.Tensor(Tensor self, Tensor other) -> Tensor": np.add,
    "sub.Tensor(Tensor self, Tensor other) -> Tensor": np.subtract,
    "mul.Tensor(Tensor self, Tensor other) -> Tensor": np.multiply,
    "exp(Tensor self) -> Tensor": np.exp,
    "add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)": np.add,
    "mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)": np.multiply,
}
_OTHERS = {
    "sum(Tensor self) -> Tensor": lambda self: self.sum(),
    "sum.dim_IntList(Tensor self, int[] dim, bool keepdim=False) -> Tensor": _sum_dims,
    "clone(Tensor self, *, MemoryFormat? "
    "memory_format=None) -> Tensor": lambda self, *, memory_format=None: self.copy(),
    "copy_(Tensor(a!) self, Tensor src, bool "
    "non_blocking=False) -> Tensor(a!)": lambda self, src, non_blocking=False: src,
    "zero_(Tensor(a!) self) -> Tensor(a!)": np.zeros_like,
    "detach(Tensor(a) self) -> Tensor(a)": lambda self: self[...],
    "select.int(Tensor(a) self, int dim, int index) -> Tensor(a)": lambda self, dim, index: self[
        (slice(None),) * dim + (index, ...)
    ],
    "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]": lambda self, dim=0: [
        self[(slice(None),) * dim + (i, ...)] for i in range(self.shape[dim])
    ],
    "as_strided(Tensor(a) self, int[] size, int[] stride, "
    "int? storage_offset=None) -> Tensor(a)": _as_strided,
    "stack(Tensor[] tensors, int dim=0) -> Tensor": lambda tensors, dim=0: np.stack(tensors, dim),
    "view(Tensor(a) self, int[] size) -> Tensor(a)": lambda self, size: self.reshape(tuple(size)),
}

_BOTH = ("self", "other")
_SHAPE = Saved("self_sym_sizes", "value", expression="self.array.shape")


def _formulas() -> list[Formula]:
    mul_saved = (Saved("self", "input", ("other",)), Saved("other", "input", ("self",)))

    def add_tensors(node: Any, grad: Any) -> Any:
        return grad, grad

    def add(node: Any, k: Any, edges: Any, grad: Any) -> Any:
        return grad, grad

    def expand_tensors(node: Any, grad: Any) -> Any:
        return (wrap(np.array(np.broadcast_to(grad.array, node._self_sym_sizes)), grad._backend),)

    def expand(node: Any, k: Any, edges: Any, grad: Any) -> Any:
        return (np.broadcast_to(grad, node._self_sym_sizes),)

    def same(node: Any, grad: Any) -> Any:
        return (grad,)

    def exp_tensors(node: Any, grad: Any) -> Any:
        return (ops.aten.mul.Tensor(grad, node.unpack_result()),)

    def copy_tensors(node: Any, grad: Any) -> Any:
        return None, grad

    return [
        Formula("aten::add.Tensor", "AddBackward0", _BOTH, (), add_tensors, add),
        Formula("aten::add_.Tensor", "AddBackward0", _BOTH, (), add_tensors, add),
        Formula("aten::mul.Tensor", "MulBackward0", _BOTH, mul_saved, _mul_tensors, _mul),
        Formula("aten::mul_.Tensor", "MulBackward0", _BOTH, mul_saved, _mul_tensors, _mul),
        Formula(
            "aten::exp", "ExpBackward0", ("self",), (Saved("result", "result"),), exp_tensors, _exp
        ),
        Formula("aten::sum", "SumBackward0", ("self",), (_SHAPE,), expand_tensors, expand),
        Formula(
            "aten::clone", "CloneBackward0", ("self",), (), same, lambda node, k, grad: (grad,)
        ),
        Formula("aten::copy_", "CopyBackwards", ("self", "src"), (), copy_tensors),
        Formula("aten::detach", "DetachBackward0", ("self",), output_differentiability=(False,)),
        Formula(
            "aten::select.int",
            "SelectBackward0",
            ("self",),
            (_SHAPE, Saved("dim", "value"), Saved("index", "value")),
            _select_tensors,
        ),
        Formula("aten::unbind.int", "UnbindBackward0", ("self",), (_SHAPE,), _unbind_tensors),
        Formula(
            "aten::as_strided",
            "AsStridedBackward0",
            ("self",),
            (
                _SHAPE,
                Saved("size", "value"),
                Saved("stride", "value"),
                Saved("storage_offset", "value"),
            ),
            _as_strided_tensors,
        ),
    ]


def load() -> list[Library]:
    """Load the base library if it is installed, else define the small one; keep the result
    alive.
    """
    libraries = []
    if importlib.util.find_spec("dovetail_aten") is not None:
        importlib.import_module("dovetail_aten").ones(1)  # the first tensor loads the backend
    else:
        libraries.append(_define())
    extra = Library("autograd_tests", "DEF")
    extra.define("no_formula(Tensor self) -> Tensor")
    extra.array_impl("no_formula", np.negative, "CPU")
    return [*libraries, extra]


def _define() -> Library:
    cpu = backend("cpu")
    if not cpu.is_attached:
        cpu.attach(NumPyArrays())
    library = Library("aten", "DEF")
    for schema, function in (_POINTWISE | _OTHERS).items():
        library.define(schema)
        name = schema.partition("(")[0]
        is_ufunc = isinstance(function, np.ufunc)
        library.array_impl(
            name,
            function,
            "CPU",
            fast_path=function if is_ufunc else None,
            out_function=function if is_ufunc else None,
        )
        base, _, overload = name.partition(".")
        operator = registry.find_or_throw(f"aten::{base}", overload)
        if schema in _POINTWISE:
            operator.kind, operator.promotion = "pointwise", "same"
    set_derivative_formulas(_formulas(), [])
    return library


def tensor(values: Any, requires_grad: bool = False, dtype: Any = np.float32) -> TensorBase:
    """Return a new tensor on cpu."""
    made = wrap(np.array(values, dtype), backend("cpu"))
    made.requires_grad = requires_grad
    return made
