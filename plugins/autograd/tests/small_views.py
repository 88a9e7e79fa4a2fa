"""Views, factories and batching rules of the small library: what transforms call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.table import BatchingRule
from dovetail_dispatcher.table.derivative_formula import Formula, Forward, Saved
from dovetail_dispatcher.table.updates.rule_registration import set_batching_rule
from dovetail_kernel import TensorBase, backend, wrap

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = f"{_OPTIONS}, MemoryFormat? memory_format=None"


def _slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return self[(slice(None),) * (dim % self.ndim) + (slice(start, end, step),)]


def _expand(self: Any, size: Any, *, implicit: bool = False) -> Any:
    shape = (*size[: len(size) - self.ndim], *self.shape)
    return np.broadcast_to(
        self, tuple(s if wanted == -1 else wanted for wanted, s in zip(size, shape, strict=True))
    )


ARRAYS: dict[str, Callable[..., Any]] = {
    "alias(Tensor(a) self) -> Tensor(a)": lambda self: self[...],
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)": np.expand_dims,
    "squeeze(Tensor(a) self) -> Tensor(a)": np.squeeze,
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)": lambda self, dims: self.transpose(dims),
    "expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)": _expand,
    "slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, "
    "int step=1) -> Tensor(a)": _slice,
    "_cast(Tensor self, ScalarType dtype) -> Tensor": lambda self, dtype: self.astype(dtype),
    "_conj(Tensor self) -> Tensor": np.conj,
    "_real(Tensor self) -> Tensor": lambda self: self.real.copy(),
    "cat(Tensor[] tensors, int dim=0) -> Tensor": lambda tensors, dim=0: np.concatenate(
        tensors, dim
    ),
}


# -- operators made of others ----------------------------------------------------------------------


def _movedim(self: Any, source: int, destination: int) -> Any:
    dims = list(range(self.dim()))
    dims.insert(destination % len(dims), dims.pop(source))
    return ops.aten.permute.default(self, dims)


def _narrow(self: Any, dim: int, start: int, length: int) -> Any:
    return ops.aten.slice.Tensor(self, dim, start, start + length)


def _split_with_sizes(self: Any, split_sizes: Sequence[int], dim: int = 0) -> Any:
    ends = np.cumsum([0, *split_sizes]).tolist()
    return [_narrow(self, dim, end, size) for end, size in zip(ends, split_sizes, strict=False)]


def _split(self: Any, split_size: int, dim: int = 0) -> Any:
    total = self.array.shape[dim]
    sizes = [min(split_size, total - start) for start in range(0, total, split_size)]
    return _split_with_sizes(self, sizes, dim)


def _reshape(self: Any, shape: Sequence[int]) -> Any:
    known = math.prod([size for size in shape if size != -1])
    sizes = [self.numel() // known if size == -1 else size for size in shape]
    return ops.aten.view.default(ops.aten.clone.default(self), sizes)


def _to(self: Any, dtype: Any, *_: Any, **__: Any) -> Any:
    return self if self.dtype is dtype else ops.aten._cast.default(self, dtype)


def _conj(self: Any) -> Any:
    return ops.aten._conj.default(self) if self.dtype.is_complex else self


def _real(self: Any) -> Any:
    return ops.aten._real.default(self) if self.dtype.is_complex else self


COMPOSITES: dict[str, Callable[..., Any]] = {
    "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)": _movedim,
    "narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)": _narrow,
    "split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]": _split,
    "split_with_sizes(Tensor(a -> *) self, int[] split_sizes, "
    "int dim=0) -> Tensor(a)[]": _split_with_sizes,
    "reshape(Tensor(a) self, int[] shape) -> Tensor(a)": _reshape,
    "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)": _to,
    "conj(Tensor(a) self) -> Tensor(a)": _conj,
    "real(Tensor(a) self) -> Tensor(a)": _real,
}


# -- factories -------------------------------------------------------------------------------------


def _new(shape: Any, value: Any, dtype: Any) -> TensorBase:
    cpu = backend("cpu")
    native = cpu.arrays.native_dtypes.get(dtype, dtype)
    return wrap(np.full(tuple(shape), value, native), cpu)


def _strided(sizes: Any, strides: Any, dtype: Any) -> TensorBase:
    extent = 1 + sum([(size - 1) * step for size, step in zip(sizes, strides, strict=True)])
    memory = _new([extent], 0, dtype)
    return ops.aten.as_strided.default(memory, list(sizes), list(strides), 0)


def _eye(n: int, *, dtype: Any = None, **_: Any) -> TensorBase:
    made = _new((n, n), 0, dtype)
    np.fill_diagonal(made.array, 1)
    return made


FACTORIES: dict[str, Callable[..., Any]] = {
    f"eye(int n, *, {_OPTIONS}) -> Tensor": _eye,
    f"full(int[] size, Scalar fill_value, *, {_OPTIONS}) -> Tensor": (
        lambda size, fill_value, *, dtype=None, **_: _new(size, fill_value, dtype)
    ),
    f"full_like(Tensor self, Scalar fill_value, *, {_LIKE}) -> Tensor": (
        lambda self, fill_value, **_: _new(self.array.shape, fill_value, self.dtype)
    ),
    f"ones_like(Tensor self, *, {_LIKE}) -> Tensor": (
        lambda self, **_: _new(self.array.shape, 1, self.dtype)
    ),
    f"empty_like(Tensor self, *, {_LIKE}) -> Tensor": (
        lambda self, **_: _new(self.array.shape, 0, self.dtype)
    ),
    f"new_zeros(Tensor self, int[] size, *, {_OPTIONS}) -> Tensor": (
        lambda self, size, *, dtype=None, **_: _new(size, 0, dtype or self.dtype)
    ),
    f"new_empty(Tensor self, int[] size, *, {_OPTIONS}) -> Tensor": (
        lambda self, size, *, dtype=None, **_: _new(size, 0, dtype or self.dtype)
    ),
    f"empty_strided(int[] size, int[] stride, *, {_OPTIONS}) -> Tensor": (
        lambda size, stride, *, dtype=None, **_: _strided(size, stride, dtype)
    ),
    f"new_empty_strided(Tensor self, int[] size, int[] stride, *, {_OPTIONS}) -> Tensor": (
        lambda self, size, stride, **_: _strided(size, stride, self.dtype)
    ),
}


# -- derivatives -----------------------------------------------------------------------------------


def zeros_for(grad: Any, sizes: Any) -> Any:
    """Return zeros that `grad` can be written into, also where it is a batch."""
    return ops.aten.new_zeros.default(ops.aten.detach.default(grad), list(sizes))


def _sizes(node: Any) -> list[int]:
    return list(node._self_sym_sizes)


def formulas() -> list[Formula]:
    """Return the derivatives of the views."""
    of_dtype = Saved("self_dtype", "value", expression="self.dtype")
    shape = Saved("self_sym_sizes", "value", expression="self.array.shape")

    def same(node: Any, grad: Any) -> Any:
        return (grad,)

    def cast_back(node: Any, grad: Any) -> Any:
        return (_to(grad, node._self_dtype),)

    def back(node: Any, grad: Any) -> Any:
        return (ops.aten.reshape.default(grad, _sizes(node)),)

    def permuted(node: Any, grad: Any) -> Any:
        return (ops.aten.permute.default(grad, np.argsort(node._dims).tolist()),)

    def summed(node: Any, grad: Any) -> Any:
        sizes = _sizes(node)
        extra = grad.dim() - len(sizes)
        dims = [
            dim
            for dim, size in enumerate(grad.array.shape)
            if dim < extra or (sizes[dim - extra] == 1 and size != 1)
        ]
        found = ops.aten.sum.dim_IntList(grad, dims, True) if dims else grad
        return (ops.aten.reshape.default(found, sizes),)

    def sliced(node: Any, grad: Any) -> Any:
        zeros = zeros_for(grad, node._self_sym_sizes)
        part = ops.aten.slice.Tensor(zeros, node._dim, node._start, node._end, node._step)
        ops.aten.copy_.default(part, grad)
        return (zeros,)

    def parts(node: Any, grad: Any) -> Any:
        return (list(ops.aten.split_with_sizes.default(grad, node._sizes, node._dim)),)

    def unstacked(node: Any, grad: Any) -> Any:
        return (list(ops.aten.unbind.int(grad, node._dim)),)

    values = [Saved(name, "value") for name in ("dim", "start", "end", "step")]
    of_list = Saved("sizes", "value", expression="[each.array.shape[dim] for each in tensors]")
    linear = (Forward(0, "linear"),)
    return [
        Formula("aten::_conj", "ConjBackward0", ("self",), (), lambda node, grad: (_conj(grad),)),
        Formula("aten::_cast", "ToCopyBackward0", ("self",), (of_dtype,), cast_back),
        Formula("aten::alias", "AliasBackward0", ("self",), (), same, forward=linear),
        Formula("aten::view", "ViewBackward0", ("self",), (shape,), back, forward=linear),
        Formula("aten::unsqueeze", "UnsqueezeBackward0", ("self",), (shape,), back, forward=linear),
        Formula("aten::squeeze", "SqueezeBackward0", ("self",), (shape,), back, forward=linear),
        Formula(
            "aten::permute",
            "PermuteBackward0",
            ("self",),
            (Saved("dims", "value"),),
            permuted,
            forward=linear,
        ),
        Formula("aten::expand", "ExpandBackward0", ("self",), (shape,), summed, forward=linear),
        Formula(
            "aten::slice.Tensor",
            "SliceBackward0",
            ("self",),
            (shape, *values),
            sliced,
            forward=linear,
        ),
        Formula(
            "aten::cat",
            "CatBackward0",
            ("tensors",),
            (of_list, Saved("dim", "value")),
            parts,
            forward=linear,
        ),
        Formula(
            "aten::stack",
            "StackBackward0",
            ("tensors",),
            (Saved("dim", "value"),),
            unstacked,
            forward=linear,
        ),
    ]


# -- batching rules --------------------------------------------------------------------------------


def _by_samples(op: Any, writes: bool) -> Callable[..., Any]:
    """Return a rule that calls `op` for one sample after another."""

    def rule(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        def sample(value: Any, dim: Any, index: int) -> Any:
            if isinstance(value, (list, tuple)) and isinstance(dim, list):
                return [sample(v, d, index) for v, d in zip(value, dim, strict=True)]
            return value if dim is None else ops.aten.select.int(value, dim, index)

        count = range(info.batch_size)
        if writes:  # at once, so that it counts as one
            shape = list(args[0].array.shape[1:])
            whole = [
                ops.aten.stack.default(
                    [ops.aten.expand.default(sample(v, d, index), shape) for index in count], 0
                )
                if isinstance(v, TensorBase)
                else v
                for v, d in zip(args[1:], in_dims[1:], strict=False)
            ]
            return op(args[0], *whole, **kwargs), 0
        rows = [
            op(*[sample(v, d, index) for v, d in zip(args, in_dims, strict=False)], **kwargs)
            for index in count
        ]
        return ops.aten.stack.default(rows, 0), 0

    return rule


def _inner(dim: int) -> int:
    """Return the dimension of a batch that is `dim` of its samples."""
    return dim + 1 if dim >= 0 else dim


VIEWS: dict[str, Callable[..., Any]] = {
    "alias.": lambda info, x: ops.aten.alias.default(x),
    "detach.": lambda info, x: ops.aten.detach.default(x),
    "select.int": lambda info, x, dim, index: ops.aten.select.int(x, _inner(dim), index),
    "slice.Tensor": lambda info, x, dim, *rest: ops.aten.slice.Tensor(x, _inner(dim), *rest),
    "unsqueeze.": lambda info, x, dim: ops.aten.unsqueeze.default(x, _inner(dim)),
    "permute.": lambda info, x, dims: ops.aten.permute.default(
        x, [0, *[1 + dim % (x.dim() - 1) for dim in dims]]
    ),
    "view.": lambda info, x, size: ops.aten.view.default(x, [info.batch_size, *size]),
    "expand.": lambda info, x, size, **_: ops.aten.expand.default(
        ops.aten.view.default(
            x, [info.batch_size, *[1] * (len(size) - x.dim() + 1), *x.array.shape[1:]]
        ),
        [info.batch_size, *size],
    ),
    "unbind.int": lambda info, x, dim: ops.aten.unbind.int(x, _inner(dim)),
    "as_strided.": lambda info, x, size, stride, offset: ops.aten.as_strided.default(
        x, [info.batch_size, *size], [x.stride()[0], *stride], offset
    ),
}
FUNCTIONS = """
    add.Tensor sub.Tensor mul.Tensor exp. _cast. _conj. _real. sum. sum.dim_IntList clone. stack.
    cat. squeeze. full_like. ones_like. empty_like. new_zeros. new_empty.
"""
WRITES = ("add_.Tensor", "mul_.Tensor", "copy_.", "zero_.")


def _of_view(function: Callable[..., Any]) -> Callable[..., Any]:
    def rule(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        found = function(info, *args, **kwargs)
        return (list(found), [0] * len(found)) if isinstance(found, (list, tuple)) else (found, 0)

    return rule


def define(library: Library, owner: list[Any]) -> None:
    """Define the operators, without derivatives, and the batching rules of the whole library."""
    for schema, function in ARRAYS.items():
        library.define(schema)
        library.array_impl(schema.partition("(")[0], function, "CPU")
    for schema, function in COMPOSITES.items():
        library.define(schema)
        library.impl(schema.partition("(")[0], function, "CompositeImplicitAutograd")
    for schema, function in FACTORIES.items():
        library.define(schema)
        library.impl(schema.partition("(")[0], function, "CompositeExplicitAutograd")
    rules = {name: _of_view(function) for name, function in VIEWS.items()}
    for name in (*FUNCTIONS.split(), *WRITES):
        base, _, overload = name.partition(".")
        op = getattr(getattr(ops.aten, base), overload or "default")
        rules[name] = _by_samples(op, name in WRITES)
    for name, rule in rules.items():
        base, _, overload = name.partition(".")
        set_batching_rule(f"aten::{base}", overload, BatchingRule(rule, takes_all=True), owner)
