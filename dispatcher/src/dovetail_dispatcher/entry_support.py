"""What the text of every entry refers to, and how a third-party operator gets its entry at its first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail_kernel import TensorBase, backend, scalar_dtype, state
from dovetail_kernel.dtype import dtype as DType
from dovetail_kernel.signature import SCALAR_BITS

from .numbers import category_of_number, number_tensor
from .operator import Operator
from .routes import route_of
from .schema import bind, default_of
from .templates import compile_source, entry_source
from .templates.arguments import (
    OPTIONAL_TENSOR,
    OPTIONAL_TENSOR_LIST,
    TENSOR,
    TENSOR_LIST,
    are_ints,
    default_text,
    spelling,
)
from .templates.entry import symbol


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""Default of an entry's required parameters: whoever looks at it leaves the fast path, and `miss` says what is missing."""

NUMBERS_ALLOWED: Final = ("aten",)
"""Namespaces in whose operators a Python number may stand for a Tensor."""


def miss(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call that left the fast path: bind with every check and cast, compose the route if there is none.

    Raises
    ------
    RuntimeError
        If the arguments do not fit the schema, in PyTorch's words.
    NotImplementedError
        If there is no kernel for them.
    """
    if not op.is_defined:
        raise RuntimeError(
            f"operator {op.qualified_name} is not defined any more: its library was destroyed. Look it up again."
        )
    schema = op.schema
    if MISSING in args:
        names = [a.name for a in schema.arguments if not a.kwarg_only]
        first = args.index(MISSING)
        given = {n: v for n, v in zip(names[first:], args[first:], strict=False) if v is not MISSING}
        args, kwargs = args[:first], {**given, **kwargs}
    given_by_entry = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    kwargs = {n: v for n, v in kwargs.items() if v is not MISSING and not (n in given_by_entry and v is given_by_entry[n])}
    values = bind(schema, args, kwargs, number_argument if op.namespace in NUMBERS_ALLOWED else None)
    if op.namespace in NUMBERS_ALLOWED:
        _replace_numbers(op, values)
    return route_of(op, call_key(op, values))(*values)


def call_key(op: Operator, values: list[Any]) -> int:
    """Return the key of a call with these bound arguments."""
    key = state()
    for argument, value in zip(op.schema.arguments, values, strict=True):
        match spelling(argument):
            case "Tensor" | "Tensor?":
                if value is not None:
                    key |= value._signature if isinstance(value, TensorBase) else SCALAR_BITS[value.__class__]
            case "Tensor[]" | "Tensor?[]":
                for item in value:
                    if item is not None:
                        key |= item._signature
    return key


def takes_numbers(op: Operator) -> bool:
    """Return whether the entry of `op` lets a Python number stand for the second of its two tensors."""
    if op.namespace not in NUMBERS_ALLOWED or op.kind != "pointwise" or op.promotion == "none":
        return False
    tensors = [a for a in op.schema.arguments if not a.is_out]
    spellings = [spelling(a) for a in tensors]
    return spellings.count(TENSOR) == 2 and not set(spellings) & {OPTIONAL_TENSOR, TENSOR_LIST, OPTIONAL_TENSOR_LIST}


def entry_bindings(op: Operator) -> dict[str, Any]:
    """Return what the names in the text of the entry of `op` are bound to."""
    own = symbol(op.schema)
    bindings = {**COMMON, f"{own}_op": op, f"{own}_routes": op.routes}
    for argument in op.schema.arguments:
        if argument.has_default_value() and default_text(argument) == f"{argument.name}_default":
            bindings[f"{argument.name}_default"] = default_of(argument)
    return bindings


def make_entry(op: Operator) -> Callable[..., Any]:
    """Return the entry of `op`, compiled from the same template as the base library's generated entries."""
    text = entry_source(op.schema, numbers=takes_numbers(op))
    return compile_source(text, symbol(op.schema), entry_bindings(op))


class NumberArgument(TensorBase):
    """Stands for a Python number while a call is bound: binding takes it for a Tensor."""

    __slots__ = ("number",)
    number: complex


def number_argument(number: Any) -> NumberArgument:
    """Return a stand-in for a Python or NumPy number."""
    argument = NumberArgument()
    for exact in (bool, int, float, complex):
        if isinstance(number, exact):
            argument.number = exact(number)
            return argument
    argument.number = number.item()
    return argument


COMMON: Final[dict[str, Any]] = {
    "DType": DType,
    "MISSING": MISSING,
    "SCALAR_BITS": SCALAR_BITS,
    "are_ints": are_ints,
    "miss": miss,
    "state": state,
}


def _replace_numbers(op: Operator, values: list[Any]) -> None:
    """Put back the number where the route takes one, and a 0-d tensor where it does not.

    A number counts as a tensor of the other operands' dtype if that holds its category, else of the category's default.
    """
    tensors = [v for v in values if isinstance(v, TensorBase) and not isinstance(v, NumberArgument)]
    for position, value in enumerate(values):
        if isinstance(value, NumberArgument):
            number = value.number
            fast = position == 1 and takes_numbers(op) and isinstance(values[0], TensorBase)
            values[position] = number if fast else _tensor_of(number, tensors)


def _tensor_of(number: complex, tensors: list[TensorBase]) -> TensorBase:
    category = category_of_number(SCALAR_BITS[type(number)])
    same = next((t for t in tensors if t.dtype.category >= category), None)
    wanted = same.dtype if same is not None else scalar_dtype(category)
    return number_tensor(number, tensors[0]._backend if tensors else backend("cpu"), wanted)


__all__ = ["COMMON", "MISSING", "are_ints", "call_key", "entry_bindings", "make_entry", "miss", "takes_numbers"]
