"""Writes schemas back as text that parses to the same schema.

The text is PyTorch's, except where PyTorch's does not parse back: strings are always quoted,
``Tensor!`` and ``Tensor(a!)?[]`` keep their spelling, alias sets keep their order, complex numbers
are written as literals, a list default is shortened to one element only if the argument has that
size, and the default of a float or complex argument that was given by the name of a code keeps a
name.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .codes import CONSTANTS
from .lexer import ESCAPES
from .types import ComplexType, FloatType, IntType, ListType, OptionalType, Type

if TYPE_CHECKING:
    from .function_schema import AliasInfo, Argument, FunctionSchema

_CODE_NAMES = {code: name for name, code in CONSTANTS.items()}
_ESCAPES = str.maketrans(
    {chr(code): f"\\{code:03o}" for code in range(32)}
    | {value: f"\\{letter}" for letter, value in ESCAPES.items()}
)


def format_schema(schema: FunctionSchema) -> str:
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    arguments: list[str] = []
    kwarg_only = False
    for argument in schema.arguments:
        if argument.kwarg_only and not kwarg_only:
            arguments.append("*")
            kwarg_only = True
        arguments.append(format_argument(argument))
    if schema.is_vararg:
        arguments.append("...")
    return f"{name}({', '.join(arguments)}) -> {_format_returns(schema)}"


def format_argument(argument: Argument) -> str:
    text = _format_type(argument.real_type, argument.alias_info)
    if argument.name:
        text += " " + argument.name
    if argument.has_default_value():
        text += "=" + _format_default(argument.default_value, argument)
    return text


def _format_returns(schema: FunctionSchema) -> str:
    returns = [format_argument(returned) for returned in schema.returns]
    if schema.is_varret:
        returns.append("...")
    if len(returns) == 1 and not returns[0].startswith("("):
        return returns[0]
    return f"({', '.join(returns)})"


def _format_type(declared: Type, alias: AliasInfo | None) -> str:
    if alias is None:
        return declared.schema_str
    if isinstance(declared, OptionalType):
        return _format_type(declared.elem, alias) + "?"
    if isinstance(declared, ListType) and alias.contained is not None:
        brackets = "[]" if declared.size is None else f"[{declared.size}]"
        return _format_type(declared.elem, alias.contained) + brackets + alias.schema_str
    return declared.schema_str + alias.schema_str


def _format_default(value: object, argument: Argument) -> str:
    declared = argument.real_type
    if not isinstance(value, tuple):
        if type(value) is int and isinstance(declared, FloatType | ComplexType):
            return _CODE_NAMES[value]  # a number would be read as a float
        return _format_constant(value, declared)
    assert isinstance(declared, ListType)
    elem = declared.elem
    if elem is IntType() and 1 < len(value) == declared.size and len(set(value)) == 1:
        return _format_constant(value[0], elem)
    return f"[{', '.join([_format_constant(element, elem) for element in value])}]"


def _format_constant(value: object, declared: Type) -> str:
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, float):
        return _format_float(value)
    if isinstance(value, complex):
        is_real = value.imag == 0 and math.copysign(1, value.imag) == 1
        if is_real and isinstance(declared, ComplexType):
            return _format_float(value.real)
        return f"{_format_float(value.imag)}j"
    return str(value)


def _format_float(value: float) -> str:
    if value.is_integer() and -(2.0**63) <= value < 2.0**63:
        return f"{value:.0f}."
    return f"{value:.17g}"
