"""What the text of every entry refers to, and how a third-party operator gets its entry at its
first call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, Final
from weakref import ref

from dovetail_kernel import Device, DispatchKeySet, Layout, MemoryFormat, TensorBase, state
from dovetail_kernel import dtype as DType
from dovetail_kernel.short_tracebacks import shorten_traceback
from dovetail_kernel.signature import SCALAR_BITS

from ..compilation import compile_source, exchange_code
from ..interception.overrides import call_overrides, overriding
from ..missing import MISSING
from ..schema import FunctionSchema, bind, bind_of_function, default_of
from ..sockets import BASE_OPERATORS, PROMOTION
from ..table import registry
from ..table.operator import Operator, destroyed_error
from . import plans
from .promotion.int_to_float_arguments import with_floats
from .promotion.scalar_arguments import number_arguments
from .promotion.scalar_operands import tensor_of_number
from .routes import redispatch_route, route_of
from .templates import entry_source
from .templates.arguments import are_ints, default_text
from .templates.entry import numbers_allowed, symbol


def miss(
    op: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, object],
    function: Callable[..., object] | None = None,
) -> Any:
    """Run a call that left the fast path: bind with every check and cast, compose the route if
    there is none.

    If a mode or an argument overrides functions, it is asked instead.

    Parameters
    ----------
    function
        What the user called, for those that override it; default: the handle of `op`.

    Raises
    ------
    RuntimeError
        If the arguments do not fit the schema, in PyTorch's words.
    TypeError
        If an argument of a public function is missing or of the wrong type.
    NotImplementedError
        If there is no kernel for them.
    """
    try:
        modes, overloaded = overriding(args, kwargs)
        values = None if modes or overloaded else with_floats(op, args, kwargs)
        if values is None:
            args, kwargs = _as_given(op, args, kwargs)
            if modes or overloaded:
                return call_overrides(function or op.handle, overloaded, args, kwargs)
            values = bound_call(op, args, kwargs, bind if function is None else bind_of_function)
        # Entries send every call with an `alpha` that is neither int nor float here.
        if "bool_alpha" in op.refuses and bool in map(type, values):
            PROMOTION.plug.check_alpha(op, values)
        route = route_of(op, call_key(op, values))
    except (RuntimeError, TypeError) as error:
        if not op.is_defined:
            raise destroyed_error(op) from error
        raise
    result = route(*values)
    # As the text of entries does: a function returns a tuple of tensors, an operator a list.
    return tuple(result) if function is not None and result.__class__ is list else result


def _as_given(
    op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call without those that its entry filled in: they would count as
    given in messages.

    Compares by identity wherever there may be a tensor, whose ``==`` is an operator.
    """
    schema = op.schema
    positional, arguments = schema._positional, schema._by_name
    given = len(args)
    if given <= len(positional):
        for place, value in enumerate(args):
            if value is MISSING:
                rest = zip(positional[place:], args[place:], strict=False)
                named = {a.name: v for a, v in rest if v is not MISSING}
                args, kwargs, given = args[:place], {**named, **kwargs}, place
                break
        while given and plans.equals_default(positional[given - 1], args[given - 1]):
            given -= 1
        args = args[:given]
    if not kwargs:
        return args, kwargs
    named = {}
    for name, value in kwargs.items():
        argument = arguments.get(name)
        if value is not MISSING and (
            argument is None
            or not (value is argument._default or plans.equals_default(argument, value))
        ):
            named[name] = value
    return args, named


def bound_call(
    op: Operator,
    args: tuple[Any, ...],
    kwargs: dict[str, object],
    binding: Callable[..., list[object]] = bind,
) -> list[Any]:
    """Return the value of every argument of a call, checked and cast, in the order of the schema.

    Parameters
    ----------
    binding
        `bind`, or `bind_of_function` for a call of a public function.

    Raises
    ------
    RuntimeError
        If the arguments do not fit the schema, in PyTorch's words.
    TypeError
        If an argument of a public function is missing or of the wrong type.
    """
    if op.namespace != BASE_OPERATORS.plug.namespace:
        return binding(op.schema, args, kwargs)
    values = binding(op.schema, args, kwargs, number_argument, number_arguments(op, args, kwargs))
    _replace_numbers(op, values)
    return values


def call_key(op: Operator, values: list[Any]) -> int:
    """Return the key of a call with these bound arguments."""
    key = state()
    for argument, value in zip(op.schema.arguments, values, strict=True):
        match argument.kind:
            case "Tensor" | "Tensor?":
                if value is not None:
                    key |= (
                        value._signature
                        if isinstance(value, TensorBase)
                        else SCALAR_BITS[value.__class__]
                    )
            case "Tensor[]" | "Tensor?[]":
                for item in value:
                    if item is not None:
                        key |= item._signature
            case "Scalar" | "Scalar?" if argument.name in op.promote and value is not None:
                key |= SCALAR_BITS[value.__class__]
    return key


def takes_numbers(op: Operator) -> bool:
    """Return whether the entry of `op` lets a Python number stand for the second of its two
    tensors.
    """
    return numbers_allowed(op.schema, op.promote)


def entry_bindings(op: Operator) -> dict[str, Any]:
    """Return the values of the names in the text of the entry of `op`."""
    own = symbol(op.schema)
    bindings = {**COMMON, f"{own}_op": op, f"{own}_routes": op.routes}
    for argument in op.schema.arguments:
        if argument.has_default_value() and default_text(argument) == f"{argument.name}_default":
            bindings[f"{argument.name}_default"] = default_of(argument)
    return bindings


def make_entry(op: Operator) -> Callable[..., Any]:
    """Return the entry of `op`: a function whose text is compiled at its first call, from the same
    template as that of the base library's generated entries.
    """
    own = symbol(op.schema)
    names = {"__name__": "dovetail.generated", **entry_bindings(op)}
    entry = FunctionType(_first_call.__code__, names, own)
    entry.__qualname__ = own
    # Without a reference to the function: its globals would hold it, and all that it holds.
    names["complete"] = partial(_complete, ref(entry), op.schema, op.promote)
    return entry


def _first_call(*args: Any, **kwargs: Any) -> Any:
    return complete()(*args, **kwargs)  # type: ignore[name-defined] # noqa: F821 - a global of entries


def _complete(
    found: ref[FunctionType], schema: FunctionSchema, promote: tuple[str, ...]
) -> Callable[..., Any]:
    """Give an entry the body that its template says, and return it."""
    entry = found()
    assert entry is not None  # it is being called
    made = compile_source(entry_source(schema, promote), entry.__name__, entry.__globals__)
    entry.__defaults__, entry.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
    exchange_code(entry, made.__code__)
    return entry


def redispatch_entry(op: Operator, keys: DispatchKeySet) -> Callable[..., Any]:
    """Return the entry for calls of `op` that begin at exactly `keys`: the same text, over routes
    of its own.
    """
    entry = op.redispatch_entries.get(keys)
    if entry is None:
        with registry.lock:
            bindings = entry_bindings(op)
            own = symbol(op.schema)
            bindings[f"{own}_routes"] = op.redispatch_routes.setdefault(keys, {})
            bindings["miss"] = partial(_redispatch_miss, keys)
            entry = compile_source(entry_source(op.schema, op.promote), own, bindings)
            op.redispatch_entries[keys] = entry
    return entry


def _redispatch_miss(
    keys: DispatchKeySet, op: Operator, args: tuple[Any, ...], kwargs: dict[str, object]
) -> Any:
    values = bound_call(op, *_as_given(op, args, kwargs))
    return redispatch_route(op, keys, call_key(op, values))(*values)


class NumberArgument(TensorBase):
    """Stands for a Python number while a call is bound: binding takes it for a Tensor."""

    __slots__ = ("number",)
    number: complex


def number_argument(number: Any) -> NumberArgument:
    """Return a stand-in for a Python or NumPy number."""
    argument = NumberArgument()
    plain = number if isinstance(number, bool | int | float | complex) else number.item()
    exact: Any = next(iter([cls for cls in (bool, int, float, complex) if isinstance(plain, cls)]))
    argument.number = exact(plain)
    return argument


COMMON: Final[dict[str, Any]] = {
    "DType": DType,
    "Device": Device,
    "Layout": Layout,
    "MISSING": MISSING,
    "MemoryFormat": MemoryFormat,
    "SCALAR_BITS": SCALAR_BITS,
    "are_ints": are_ints,
    "miss": miss,
    "shorten_traceback": shorten_traceback,
    "state": state,
}


def _replace_numbers(op: Operator, values: list[object]) -> None:
    """Put back the number where the route takes one, and a 0-d tensor where it does not.

    A number counts as a tensor of the other operands' dtype if that holds its category, else of the
    category's default; a bool stays one.
    """
    tensors = [v for v in values if isinstance(v, TensorBase) and not isinstance(v, NumberArgument)]
    for position, value in enumerate(values):
        if isinstance(value, NumberArgument):
            number = value.number
            fast = position == 1 and takes_numbers(op) and isinstance(values[0], TensorBase)
            values[position] = number if fast else tensor_of_number(number, tensors)
