"""A base library of few operators over NumPy, for testing autograd where the real one is not
installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
from typing import Any

import numpy as np
import pytest
import small_views

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import Formula, Forward, Saved
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
        grad_self = k.mul(grad, other.array.conj())
    if other_edge is not None:
        self = node._self
        version = self._counter
        if version is not None and version.value != node._self_version:
            node.unpack_self()
        grad_other = k.mul(grad, self.array.conj())
    return grad_self, grad_other


def _mul_tensors(node: Any, grad: Any) -> Any:
    self_edge, other_edge = node.next_edges
    mul = ops.aten.mul.Tensor
    return (
        None if self_edge is None else mul(grad, ops.aten.conj.default(node.unpack_other())),
        None if other_edge is None else mul(grad, ops.aten.conj.default(node.unpack_self())),
    )


def _exp(node: Any, k: Any, edges: Any, grad: Any) -> Any:
    array, counter, expected = node._result
    if counter.value != expected:
        node.unpack_result()
    return (k.mul(grad, array),)


def _select_tensors(node: Any, grad: Any) -> Any:
    result = small_views.zeros_for(grad, node._self_sym_sizes)
    ops.aten.copy_.default(ops.aten.select.int(result, node._dim, node._index), grad)
    return (result,)


def _unbind_tensors(node: Any, *grads: Any) -> Any:
    model = next(iter([grad for grad in grads if grad is not None]))
    zeros = small_views.zeros_for(model, model.array.shape)
    defined = [zeros if grad is None else grad for grad in grads]
    return (ops.aten.stack.default(defined, node._dim),)


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
        return [None if edge is None else grad for edge in edges]

    def sub_tensors(node: Any, grad: Any) -> Any:
        return grad, ops.aten.sub.Tensor(small_views.zeros_for(grad, grad.array.shape), grad)

    def expand_tensors(node: Any, grad: Any) -> Any:
        return (ops.aten.expand.default(grad, list(node._self_sym_sizes)),)

    def expand_dims_tensors(node: Any, grad: Any) -> Any:
        sizes = list(node._self_sym_sizes)
        kept = [1 if dim in node._dim else size for dim, size in enumerate(sizes)]
        return (ops.aten.expand.default(ops.aten.reshape.default(grad, kept), sizes),)

    def expand(node: Any, k: Any, edges: Any, grad: Any) -> Any:
        return (np.broadcast_to(grad, node._self_sym_sizes),)

    def same(node: Any, grad: Any) -> Any:
        return (grad,)

    def exp_tensors(node: Any, grad: Any) -> Any:
        return (ops.aten.mul.Tensor(grad, node.unpack_result()),)

    def copy_tensors(node: Any, grad: Any) -> Any:
        return None, grad

    def product(self_p: Any, self_t: Any, other_p: Any, other_t: Any) -> Any:
        return ops.aten.add.Tensor(
            ops.aten.mul.Tensor(self_t, other_p), ops.aten.mul.Tensor(self_p, other_t)
        )

    def of_parts(function: Any, *parameters: str) -> tuple[Forward, ...]:
        return (Forward(0, "expression", function, parameters),)

    of_sum = of_parts(ops.aten.add.Tensor, "self_t", "other_t")
    of_product = of_parts(product, "self_p", "self_t", "other_p", "other_t")
    of_copy = of_parts(lambda src_t: src_t, "src_t")
    of_zeros = of_parts(lambda self_t: small_views.zeros_for(self_t, self_t.array.shape), "self_t")
    dim = Saved("dim", "value")
    linear = (Forward(0, "linear"),)
    return [
        Formula("aten::add.Tensor", "AddBackward0", _BOTH, (), add_tensors, add, forward=of_sum),
        Formula("aten::add_.Tensor", "AddBackward0", _BOTH, (), add_tensors, add, forward=of_sum),
        Formula("aten::sub.Tensor", "SubBackward0", _BOTH, (), sub_tensors),
        Formula(
            "aten::mul.Tensor",
            "MulBackward0",
            _BOTH,
            mul_saved,
            _mul_tensors,
            _mul,
            forward=of_product,
        ),
        Formula(
            "aten::mul_.Tensor",
            "MulBackward0",
            _BOTH,
            mul_saved,
            _mul_tensors,
            _mul,
            forward=of_product,
        ),
        Formula(
            "aten::sum.dim_IntList", "SumBackward1", ("self",), (_SHAPE, dim), expand_dims_tensors
        ),
        Formula(
            "aten::zero_",
            "ZeroBackward0",
            ("self",),
            (),
            lambda node, grad: (None,),
            forward=of_zeros,
        ),
        Formula(
            "aten::exp", "ExpBackward0", ("self",), (Saved("result", "result"),), exp_tensors, _exp
        ),
        Formula(
            "aten::sum",
            "SumBackward0",
            ("self",),
            (_SHAPE,),
            expand_tensors,
            expand,
            forward=linear,
        ),
        Formula(
            "aten::clone",
            "CloneBackward0",
            ("self",),
            (),
            same,
            lambda node, k, edges, grad: (grad,),
        ),
        Formula("aten::copy_", "CopyBackwards", ("self", "src"), (), copy_tensors, forward=of_copy),
        Formula("aten::detach", "DetachBackward0", ("self",), output_differentiability=(False,)),
        Formula(
            "aten::select.int",
            "SelectBackward0",
            ("self",),
            (_SHAPE, Saved("dim", "value"), Saved("index", "value")),
            _select_tensors,
            forward=linear,
        ),
        Formula("aten::unbind.int", "UnbindBackward0", ("self",), (dim,), _unbind_tensors),
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
            forward=linear,
        ),
    ]


IS_SMALL = (
    importlib.util.find_spec("dovetail_aten") is None
    or "dovetail-aten" in os.environ.get("DOVETAIL_BLOCK", "").split()
)
"""Whether the small library is in place of the base library, which is not installed or blocked."""

needs_base = pytest.mark.skipif(IS_SMALL, reason="the small library has not all that it calls")


def load() -> list[Library]:
    """Load the base library if it is installed, else define the small one; keep the result
    alive.
    """
    libraries = []
    if IS_SMALL:
        libraries.append(_define())
    else:
        importlib.import_module("dovetail_aten").ones(1)  # the first tensor loads the backend
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
    small_views.define(library, [])
    set_derivative_formulas([*_formulas(), *small_views.formulas()], [])
    return library


def tensor(values: Any, requires_grad: bool = False, dtype: Any = np.float32) -> TensorBase:
    """Return a new tensor on cpu."""
    made = wrap(np.array(values, dtype), backend("cpu"))
    made.requires_grad = requires_grad
    return made


def real(values: Any, requires_grad: bool = False) -> TensorBase:
    """Return a tensor of double precision."""
    return tensor(values, requires_grad, np.float64)


def close(found: Any, expected: Any) -> None:
    """Check shape and values of a tensor, to twelve digits."""
    assert tuple(found.shape) == np.shape(expected)
    np.testing.assert_allclose(found.array, expected, rtol=1e-12)
