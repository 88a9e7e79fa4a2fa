"""Binds the arguments of a call to a schema, fully checked, and words the errors.

Entry functions generated for an operator bind by their own Python signature; this is the general
form, which they fall back on to explain a call that they refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from dovetail_kernel.errors import did_you_mean

from .casts import CastError, caster
from .errors import shown
from .function_schema import Argument, FunctionSchema
from .function_values import function_value
from .numbers import is_number
from .types import DeviceObjType, OptionalType, TensorType, without_optional


def bind(
    schema: FunctionSchema,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    wrap_number: Callable[[int | float | complex], Any] | None = None,
    number_arguments: Collection[str] = (),
) -> list[Any]:
    """Return the value of every argument of a schema for one call.

    Parameters
    ----------
    schema : FunctionSchema
    args, kwargs
        The arguments of the call; any argument may be passed by name; keyword-only arguments must
        be.
    wrap_number : callable, optional
        Converts a Python number passed for a ``Tensor`` to a tensor. By default such a number is an
        error.
    number_arguments
        Names of the arguments that `wrap_number` converts.

    Returns
    -------
    list
        Cast values in the order of the schema, including defaults. All lists are new.

    Raises
    ------
    RuntimeError
        An argument is missing, unknown, given twice, too many, or of the wrong type.
    """
    try:
        return _bind(schema, args, kwargs, wrap_number, number_arguments, _cast)
    except (ArgumentError, BindingError) as error:
        raise RuntimeError(str(error)) from None


def bind_of_function(
    schema: FunctionSchema,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    wrap_number: Callable[[int | float | complex], Any] | None = None,
    number_arguments: Collection[str] = (),
) -> list[Any]:
    """Bind a call of a public function, like `bind`. A 0-dimensional tensor that does not require
    grad is accepted for a number, and None for a list that is empty by default.

    Raises
    ------
    TypeError
        An argument is missing, unknown, given twice, too many, or of the wrong type.
    """
    try:
        return _bind(schema, args, kwargs, wrap_number, number_arguments, _cast_for_function)
    except ArgumentError as error:
        raise error.as_type_error() from None
    except BindingError as error:
        raise TypeError(str(error)) from None


def _bind(
    schema: FunctionSchema,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    wrap_number: Callable[[int | float | complex], Any] | None,
    number_arguments: Collection[str],
    cast: Callable[[FunctionSchema, int, Any], Any],
) -> list[Any]:
    arguments = schema.arguments
    if kwargs:
        _refuse_surplus_keywords(schema, len(args), kwargs)
    given = len(args) + len(kwargs)
    if given > len(arguments):
        raise binding_error(
            schema,
            f"expected at most {len(arguments)} argument(s) but received {given} argument(s).",
        )
    positional = sum([not argument.kwarg_only for argument in arguments])
    if len(args) > positional:
        raise binding_error(
            schema, f"takes {positional} positional argument(s) but {len(args)} was/were given. "
        )
    values = list(args)
    for position in range(len(args), len(arguments)):
        argument = arguments[position]
        if argument.name in kwargs:
            values.append(kwargs[argument.name])
        elif argument.has_default_value():
            values.append(None)
        else:
            raise missing_error(schema, argument)
    for position, argument in enumerate(arguments):
        if position >= len(args) and argument.name not in kwargs:
            values[position] = default_of(argument)
        else:
            value = values[position]
            if wrap_number is not None:
                value = _as_tensor(schema, position, value, wrap_number, number_arguments)
            values[position] = cast(schema, position, value)
    return values


def default_of(argument: Argument) -> Any:
    """Return the default of an argument as a kernel receives it: a new list, a dtype, a device.

    A default that its type does not accept is returned as written: PyTorch does not check defaults
    either.
    """
    value = argument.default_value
    if value is None:
        return None
    if isinstance(value, tuple):
        value = list(value)
    declared = without_optional(argument.real_type)
    if declared.collapsed is declared and not isinstance(declared, DeviceObjType):
        return value
    try:
        return caster(declared)(value)
    except CastError:
        return value


def _as_tensor(
    schema: FunctionSchema,
    position: int,
    value: Any,
    wrap_number: Callable[..., Any],
    number_arguments: Collection[str],
) -> Any:
    """Return what a number becomes that is given for a tensor, and any other value."""
    argument = schema.arguments[position]
    if value is None and isinstance(argument.real_type, TensorType):
        raise undefined_error(schema, position)
    # What is written into a number would be lost.
    if argument.name in number_arguments and is_number(value) and not argument.is_out:
        return wrap_number(value)
    return value


def _cast(schema: FunctionSchema, position: int, value: Any) -> Any:
    declared = schema.arguments[position].real_type
    try:
        return caster(declared)(value)
    except CastError as reason:
        raise cast_error(schema, position, value, reason) from None


def _cast_for_function(schema: FunctionSchema, position: int, value: Any) -> Any:
    argument = schema.arguments[position]
    if value is None and argument.default_value == ():
        return []  # as PyTorch's functions, not its operators
    if value is not None or not isinstance(argument.real_type, OptionalType):
        try:
            value = function_value(without_optional(argument.real_type), argument.N, value)
        except CastError as reason:
            raise cast_error(schema, position, value, reason) from None
    return _cast(schema, position, value)


def _refuse_surplus_keywords(schema: FunctionSchema, given: int, kwargs: Mapping[str, Any]) -> None:
    names = [argument.name for argument in schema.arguments]
    for name in kwargs:
        if name not in names:
            raise BindingError(
                f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: "
                f"{schema}\n"
                f"Use one of {', '.join(names) or 'no keywords'}.{did_you_mean(name, names)}"
            )
        if names.index(name) < given:
            raise BindingError(
                f"Argument '{name}' specified both as positional and keyword argument. Schema: "
                f"{schema}\nGive it once."
            )


class ArgumentError(Exception):
    """An argument is missing or of the wrong type: the text is what an operator of `ops` raises.

    Attributes
    ----------
    schema, position
        Which argument it is.
    value
        A tuple with what was given for it, or without anything.
    """

    def __init__(
        self, text: str, schema: FunctionSchema, position: int, value: tuple[Any, ...]
    ) -> None:
        super().__init__(text)
        self.schema = schema
        self.position = position
        self.value = value

    def as_type_error(self) -> TypeError:
        """Return what the public function raises instead, in PyTorch's words."""
        function = self.schema.name.partition("::")[2]
        argument = self.schema.arguments[self.position]
        name = "input" if argument.name == "self" else argument.name
        details = f"The operator says: {self}"
        if not self.value:
            return TypeError(
                f'{function}() missing 1 required positional arguments: "{name}". {details}'
            )
        (value,) = self.value
        declared = argument.type
        wanted = _SPOKEN.get(str(without_optional(declared)), str(declared))
        got = type(value).__name__
        if isinstance(value, list | tuple) and wanted.startswith("tuple of "):
            wrong = _first_wrong(argument, value)
            got = f"{got} of {wrong}" if wrong else got
        return TypeError(
            f"{function}(): argument '{name}' (position {self.position + 1}) must be {wanted}, "
            f"not {got}. {details}"
        )


_SPOKEN: Final = {
    "List[int]": "tuple of ints",
    "List[Tensor]": "tuple of Tensors",
    "List[float]": "tuple of floats",
    "List[bool]": "tuple of bools",
    "number": "Number",
}
"""How PyTorch's functions call the types of schemas."""


def _first_wrong(argument: Argument, values: Sequence[Any]) -> str:
    """Return the type of the first element that the list may not have, or nothing."""
    declared = without_optional(argument.real_type)
    element = caster(getattr(declared, "elem", declared))
    for value in values:
        try:
            element(value)
        except CastError:
            return type(value).__name__
    return ""


class BindingError(RuntimeError):
    """An argument is unknown, given twice, or too many."""


def binding_error(schema: FunctionSchema, problem: str) -> BindingError:
    """Return the error for a call whose arguments do not fit the schema's names and number."""
    return BindingError(f"{schema.name}() {problem} Declaration: {schema}")


def missing_error(schema: FunctionSchema, argument: Argument) -> ArgumentError:
    """Return the error for a call without a required argument."""
    where = (
        f"Pass it by keyword: {argument.name}=..."
        if argument.kwarg_only
        else "Pass it by position or by keyword."
    )
    return ArgumentError(
        f"{schema.name}() is missing value for argument '{argument.name}'. Declaration: "
        f"{schema}\n{where}",
        schema,
        list(schema.arguments).index(argument),
        (),
    )


def undefined_error(schema: FunctionSchema, position: int) -> ArgumentError:
    """Return the error for None in place of a tensor that a base operator needs."""
    return ArgumentError(
        f"{schema.name}() Expected a proper Tensor but got None (or an undefined Tensor) for "
        f"argument #{position} '{schema.arguments[position].name}'. Give a tensor.",
        schema,
        position,
        (None,),
    )


def cast_error(
    schema: FunctionSchema, position: int, value: object, reason: Exception | str
) -> ArgumentError:
    """Return the error for an argument of the wrong type."""
    argument = schema.arguments[position]
    return ArgumentError(
        f"{schema.name}() Expected a value of type '{argument.type}' for argument "
        f"'{argument.name}' but instead found type '{type(value).__name__}'.\nPosition: "
        f"{position}\nValue: {shown(value, quoted=True)}\nDeclaration: {schema}\n"
        f"Cast error details: {reason}\nPass a value that a schema type "
        f"{argument.real_type.schema_str} accepts.",
        schema,
        position,
        (value,),
    )
