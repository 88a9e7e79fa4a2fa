"""What compiled code needs to know of an entry: how a call of one operator is bound, keyed and run.

It says the same as the text of the entry (`templates.entry`), which stays behind it for every call
that does not fit, or has no route yet.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection
from functools import partial, reduce
from operator import or_
from typing import Any, Final, NamedTuple

from dovetail_kernel.signature import SCALAR_BITS

from ..missing import MISSING
from ..schema import Argument, FunctionSchema, default_of
from ..schema.function_schema import OPTIONAL_TENSOR_LIST, TENSOR, TENSOR_LIST
from ..sockets import BASE_OPERATORS
from ..table.operator import Operator
from .entry_support import COMMON, NumberArgument, takes_numbers
from .promotion.scalar_arguments import number_arguments
from .routes import route_of
from .templates.arguments import CLASSES, INT_LISTS, default_text, parameter
from .templates.entry import numbers_allowed


class Parameter(NamedTuple):
    """One argument of an entry.

    Attributes
    ----------
    name
        By which it is given; None if it cannot be.
    kind
        ``TENSOR``, ``SINGLE``: a tensor of one element; ``PLAIN_SINGLE``: one that cannot require
        grad; ``TENSOR_OR_NUMBER``, ``TENSORS``, ``OPTIONAL_TENSORS``, ``CLASSES``,
        ``NUMBER``: its class counts in the key; ``INTS``, ``SIZES``: ints from 0 on; ``DTYPE``,
        ``DEVICE``: for None the route gets the default; ``OWN_DEVICE``: None, or the device of the
        tensors before; ``GRAD``: whether the result requires grad; ``DEFAULT``: nothing but the
        default.
    is_optional
        Whether None is taken, and adds nothing to the key.
    repeat
        How many times an int stands for a list of them; 0 if it does not.
    default
        MISSING if it has to be given.
    classes
        The exact classes of what is taken.
    """

    name: str | None
    kind: str
    is_optional: bool
    repeat: int
    default: Any
    classes: tuple[type, ...]


class EntryForm(NamedTuple):
    """The fast path of an entry.

    Attributes
    ----------
    routes
        By key; what changes the table clears it in place.
    parameters
        In the order of the schema, which is that of the arguments of routes.
    positional
        How many of them may be given by position.
    is_variadic
        Whether the ints of the last positional one may be given one by one.
    finish
        Makes of what the route returns what the entry returns; None: the same.
    finished
        The class of results that the entry returns without `finish`; None: there is none.
    leading
        How many of the first parameters cannot be given: they have their defaults.
    own
        How many of the last parameters are the function's own: they have their defaults, and the
        route does not get them.
    overridden
        What modes and overriding arguments get as the function that was called, without the
        arguments that are defaults; None: they are left to the text of the entry.
    compose
        Returns the new route of a key, where no mode and no argument is asked; None: the text of
        the entry makes it, or raises. So the text is compiled for other calls alone.
    """

    routes: dict[int, Callable[..., Any]]
    parameters: tuple[Parameter, ...]
    positional: int
    is_variadic: bool = False
    finish: Callable[..., Any] | None = None
    own: int = 0
    finished: type | None = None
    leading: int = 0
    overridden: Callable[..., Any] | None = None
    compose: Callable[[int], Callable[..., Any] | None] | None = None


def form_of(
    op: Operator,
    schema: FunctionSchema | None = None,
    *,
    routes: dict[int, Callable[..., object]] | None = None,
    promote: Collection[str] | None = None,
    is_operator: bool = False,
    is_variadic: bool = False,
    finish: Callable[..., object] | None = None,
    overridden: Callable[..., object] | None = None,
) -> EntryForm | None:
    """Return the form of an entry of `op`; None if none of its calls has a fast path.

    Parameters
    ----------
    op
        The operator.
    schema
        The schema with the parameter names of the function, if they differ from those of the
        `OpOverload`. `promote` uses these names.
    routes
        Default: those of `op`.
    is_operator
        Whether keyword-only arguments cannot be given.
    is_variadic, finish, overridden
        As for `EntryForm`.
    """
    schema = op.schema if schema is None else schema
    promote = op.promote if promote is None else promote
    numbers = numbers_allowed(schema, promote)
    second = [a.name for a in schema.arguments if a.kind == TENSOR][1:2] if numbers else []
    parameters = []
    for argument in schema.arguments:
        each = _parameter(argument, argument.name in second, argument.name in promote)
        if each is None:
            return None
        if is_operator and argument.kwarg_only:
            each = each._replace(name=None)
        parameters.append(each)
    positional = sum([not a.kwarg_only for a in schema.arguments])
    own = op.routes if routes is None else routes
    # Handlers get the names of the schema, which those of parameters may differ from.
    is_named = all([parameter(a) == a.name for a in schema.arguments if a.kwarg_only])
    return EntryForm(
        own,
        tuple(parameters),
        positional,
        is_variadic,
        finish,
        overridden=overridden if is_named else None,
        compose=partial(_new_route, op, own) if routes is None else None,
    )


def _new_route(
    op: Operator, routes: dict[int, Callable[..., Any]], key: int
) -> Callable[..., Any] | None:
    """Return the route of a call that fits the form of `op`, made when `routes` were its; None for
    a call that is refused, as a number may be in the place of a tensor, and where the operator has
    another definition since.
    """
    if op.routes is not routes or (key & _NUMBERS and not _serves_numbers(op)):
        return None
    try:
        return route_of(op, key)
    except Exception:
        return None


def _serves_numbers(op: Operator) -> bool:
    """Return whether an operator takes the numbers that its form does: one may stand for the second
    of two tensors, or those of its other arguments count in the key.
    """
    if not takes_numbers(op):
        return True
    _, second = op.promote
    beside = (NumberArgument(),)  # a tensor, as all of its class
    return op.namespace == BASE_OPERATORS.plug.namespace and second in number_arguments(
        op, beside, {}
    )


_NUMBERS: Final = reduce(or_, SCALAR_BITS.values())

_TENSORS: Final = {
    TENSOR: "TENSOR",
    f"{TENSOR}?": "TENSOR",
    TENSOR_LIST: "TENSORS",
    OPTIONAL_TENSOR_LIST: "OPTIONAL_TENSORS",
}


def _parameter(argument: Argument, takes_number: bool, promotes: bool) -> Parameter | None:
    """Return what an entry takes for `argument`; None if it refuses everything."""
    kind, repeat = "DEFAULT", 0
    classes: tuple[type, ...] = ()
    base, is_optional = argument.kind.removesuffix("?"), argument.kind.endswith("?")
    default = _default(argument)
    if argument.kind in _TENSORS:
        kind = "TENSOR_OR_NUMBER" if takes_number else _TENSORS[argument.kind]
    elif base in CLASSES:
        kind = "NUMBER" if promotes and base == "Scalar" else "CLASSES"
        classes = tuple([_class(name) for name in CLASSES[base]])
    elif base in INT_LISTS:
        kind, repeat = "INTS", argument.N or 0
    elif default is not None if is_optional else default is MISSING:
        return None
    return Parameter(parameter(argument), kind, is_optional, repeat, default, classes)


def _class(name: str) -> Any:
    return COMMON[name] if name in COMMON else getattr(builtins, name)


def _default(argument: Argument) -> Any:
    if not argument.has_default_value():
        return MISSING
    is_named = default_text(argument) == f"{argument.name}_default"
    return default_of(argument) if is_named else argument.default_value
