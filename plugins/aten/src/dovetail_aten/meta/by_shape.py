"""Rules that follow from the shape of an operator: each function makes the rule of one.

`results` are the dtypes that the entry gives the results, one each; none means ``same``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_dispatcher import Operator
from dovetail_dispatcher.schema import default_of
from dovetail_kernel import MemoryFormat, int64, preserve_format, uint8
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType

from ..kernel_support.dims import wrap_dim
from ..kernel_support.geometry.memory_layout import required_order, strides_in_order
from .meta_array import MetaArray
from .reductions import reduced
from .table import Rule, broadcast_result, dense_like, float_of, like

_DTYPES: dict[str, Callable[[DType, DType | None], DType]] = {
    "same": lambda own, wanted: wanted or own,
    "bool": lambda own, wanted: uint8 if own is uint8 else bool_,
    "mask": lambda own, wanted: bool_,
    "int64": lambda own, wanted: int64,
    "real": lambda own, wanted: (wanted or own).to_real(),
    "int_to_float": lambda own, wanted: wanted or float_of(own),
    "accumulated": lambda own, wanted: wanted or (int64 if own.category < 2 else own),
}
"""The dtype of a result, from that of the operand and the argument ``dtype``."""


def elementwise(op: Operator, results: Sequence[str]) -> Rule:
    """Return the rule of an operator whose operands broadcast, and come with one dtype already."""
    promotion = op.promotion

    def rule(*args: Any, **options: Any) -> MetaArray:
        arrays = [value for value in (*args, *options.values()) if isinstance(value, MetaArray)]
        dtype = arrays[0].dtype
        if promotion == "bool_result":
            dtype = bool_
        elif promotion == "complex_to_real":
            dtype = dtype.to_real()
        elif promotion == "int_to_float":
            dtype = float_of(dtype)
        return broadcast_result(arrays, dtype)

    return rule


def reduce(op: Operator, results: Sequence[str]) -> Rule:
    """Return the rule of an operator whose dimensions ``dim`` go, or become 1 with ``keepdim``."""
    given = _reader(op, "dim", "keepdim")
    make = _maker(op, results)

    def rule(*args: Any, **options: Any) -> Any:
        values = given(args, options)
        dim, keepdim = values.get("dim"), values.get("keepdim", False)
        return make(args[0], values, lambda dtype: reduced(args[0], dim, keepdim, dtype))

    return rule


def along_dim(op: Operator, results: Sequence[str]) -> Rule:
    """Return the rule of an operator that goes along the dimension ``dim`` and keeps it."""
    given = _reader(op)
    make = _maker(op, results)
    default = next(iter([default_of(a) for a in op.schema.arguments if a.name == "dim"]))

    def rule(*args: Any, **options: Any) -> Any:
        values = given(args, options)
        wrap_dim(values.get("dim", default), args[0].ndim)
        return make(args[0], values, lambda dtype: like(args[0], dtype=dtype))

    return rule


def same_as(op: Operator, results: Sequence[str]) -> Rule:
    """Return the rule of an operator whose results lie in memory as its first tensor, or are it."""
    if op.schema.arguments[0].is_write:
        return lambda self, *_args, **_options: self
    given = _reader(op)
    make = _maker(op, results)

    def rule(*args: Any, **options: Any) -> Any:
        return make(args[0], given(args, options), lambda dtype: dense_like(args[0], dtype))

    return rule


def factory(op: Operator, results: Sequence[str]) -> Rule:
    """Return the rule of a new tensor: of the argument ``size``, or like its tensor."""
    names = [argument.name for argument in op.schema.arguments]
    if "size" not in names:
        return _new_like
    place, has_tensor = names.index("size"), "self" in names

    def rule(*args: Any, dtype: Any = None, **_options: Any) -> MetaArray:
        return MetaArray(args[place], args[0].dtype if has_tensor and dtype is None else dtype)

    return rule


def _new_like(
    self: MetaArray,
    *_args: Any,
    dtype: DType | None = None,
    memory_format: MemoryFormat | None = None,
    **_options: Any,
) -> MetaArray:
    if memory_format in (None, preserve_format):
        return dense_like(self, dtype)
    order = required_order(memory_format, self.ndim)
    return MetaArray(self.shape, dtype or self.dtype, strides_in_order(self.shape, order))


def _reader(op: Operator, *besides: str) -> Callable[[Any, Any], dict[str, Any]]:
    """Return what gives the arguments by name; formulas over arrays may pass those of `besides`,
    which another overload has, behind.
    """
    names = [argument.name for argument in op.schema.arguments if not argument.kwarg_only]
    names += [name for name in besides if name not in names]
    return lambda args, options: {**dict(zip(names, args, strict=False)), **options}


def _maker(op: Operator, results: Sequence[str]) -> Callable[..., Any]:
    """Return what makes every result with its dtype."""
    count = len(op.schema.returns)
    rules = [_DTYPES[name] for name in results or ("same",) * count]

    def make(self: MetaArray, values: dict[str, Any], one: Callable[[DType], MetaArray]) -> Any:
        wanted = values.get("dtype")
        made = tuple([one(rule(self.dtype, wanted)) for rule in rules])
        return made if count > 1 else made[0]

    return make
