"""Parses the default values of a schema."""

from __future__ import annotations

import cmath
import math
import re
from typing import Any

from . import lexer
from .codes import CONSTANTS, DTYPE_CONSTANTS
from .cursor import Cursor
from .types import (
    BoolType,
    ComplexType,
    DeviceObjType,
    FloatType,
    GeneratorType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    ScalarTypeType,
    StringType,
    SymBoolType,
    TensorType,
    Type,
    without_optional,
)

_TENSOR = TensorType()
_FLOAT = FloatType()
_DEFAULTABLE = (IntType, FloatType, BoolType, ComplexType, StringType, NumberType, OptionalType)
_LIST_ELEMENTS: dict[Type, type] = {
    IntType(): int,
    FloatType(): float,
    ComplexType(): complex,
    BoolType(): bool,
}
_WORDS: dict[str, bool | None] = {"True": True, "False": False, "None": None}
_NONZERO = re.compile(r"-?[0.]*[1-9]", re.ASCII)
_DEVICE = re.compile(r"[A-Za-z_]\w*(:(0|[1-9]\d*))?", re.ASCII)


class DefaultParser(Cursor):
    """The rules for defaults."""

    __slots__ = ()

    def default(self, declared: Type) -> Any:
        if declared is _TENSOR or isinstance(declared, GeneratorType):
            self.expect("None")
            return None
        if isinstance(declared, ListType):
            return self.list_default(declared)
        if isinstance(declared, DeviceObjType):
            return self.device_default()
        if not isinstance(declared.collapsed, _DEFAULTABLE) or isinstance(declared, SymBoolType):
            raise self.error(
                f"a {declared.schema_str} argument cannot have a default",
                f"Declare it {declared.schema_str}? and use None.",
            )
        return self.constant(declared)

    def list_default(self, declared: ListType) -> tuple[Any, ...]:
        start = self.index
        elem = declared.elem
        wanted = None if isinstance(elem, SymBoolType) else _LIST_ELEMENTS.get(elem.collapsed)
        values: tuple[Any, ...]
        token = self.tokens[start]
        named = lexer.is_identifier(token) and token not in _WORDS
        # One literal stands for every element of a list of known size; the name of a constant does
        # not.
        if declared.size is not None and token != "[" and not named:
            values = (self.constant(elem),) * declared.size
        else:
            values = self.list_constant(elem)
        if wanted is None:
            raise self.error(
                "lists are only supported for float, int and complex types",
                f"Leave the default out, or declare {declared.schema_str}? with the default None.",
                start,
            )
        for value in values:
            if type(value) is not wanted:
                raise self.error(
                    f"expected {wanted.__name__} but found {value!r} in the default of a "
                    f"{declared.schema_str}",
                    f"Write each element as a {wanted.__name__}.",
                    start,
                )
        return values

    def list_constant(self, elem: Type) -> tuple[Any, ...]:
        self.expect("[")
        values: list[Any] = []
        if self.accept("]"):
            return ()
        while True:
            values.append(self.constant(elem))
            if not self.accept(","):
                self.expect("]")
                return tuple(values)

    def device_default(self) -> str:
        token = self.tokens[self.index]
        if not lexer.is_string(token):
            raise self.unexpected("a string")
        device = self.string(token)
        if not _DEVICE.fullmatch(device):
            raise self.error(
                f"Invalid device string: '{device}'", 'Write a device as "type" or "type:index".'
            )
        self.index += 1
        return device

    def constant(self, declared: Type) -> Any:
        start = self.index
        token = self.tokens[start]
        if token in _WORDS:
            self.index += 1
            return _WORDS[token]
        if lexer.is_string(token):
            value = self.string(token)
            self.index += 1
            return value
        if lexer.is_identifier(token):
            names_dtype = isinstance(without_optional(declared), ScalarTypeType)
            constants = DTYPE_CONSTANTS if names_dtype else CONSTANTS
            if token not in constants:
                raise self.error(
                    "invalid numeric default value",
                    f"Use a literal, or one of {', '.join(constants)}.",
                )
            self.index += 1
            return constants[token]
        negative = self.accept("-")
        return self.convert(("-" if negative else "") + self.number(), declared, start)

    def string(self, token: str) -> str:
        try:
            return lexer.string_value(token)
        except ValueError as reason:
            raise self.error(
                str(reason), "Write the character itself, or its octal code as \\ooo."
            ) from None

    def convert(self, literal: str, declared: Type, start: int) -> int | float | complex:
        is_hex = lexer.is_hexadecimal(literal)
        wants_int = declared is not _FLOAT and not isinstance(declared, ComplexType)
        if wants_int and (is_hex or literal.lstrip("-").isdecimal()):
            return self.integer(literal, start)
        value: float | complex
        if literal.endswith("j"):
            value = complex(literal)
        else:
            value = _from_hexadecimal(literal) if is_hex else float(literal)
        if not cmath.isfinite(value) or (value == 0 and _NONZERO.match(literal)):
            raise self.error(
                f"the number {literal} is out of range", "Use a number a double can hold.", start
            )
        return complex(value) if isinstance(declared, ComplexType) else value


def _from_hexadecimal(literal: str) -> float:
    try:
        return float(int(literal, 16))
    except OverflowError:
        return math.inf
