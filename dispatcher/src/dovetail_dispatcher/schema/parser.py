"""Parses schemas by recursive descent, one method per rule of the grammar.

What PyTorch's parser accepts is accepted, but for these: types that nest more than 64 deep, lists
of a size above 256 or of one that is no decimal integer (PyTorch cuts 1.5 to 1), one name for two
arguments, hexadecimal integers beyond 64 bits (PyTorch reads them all as 0), and numbers that no
double can hold. Beyond it, numbers may be the default of complex arguments.
"""

from __future__ import annotations

import re
from typing import Any, Final

from . import lexer
from .default_parser import DefaultParser
from .errors import SchemaError, schema_error
from .function_schema import NO_DEFAULT, Argument, FunctionSchema, OperatorName
from .type_parser import TypeParser
from .types import ListType

_KEPT: Final = 4096
_KEPT_CHARACTERS: Final = 4096
_KEPT_TOKENS: Final = 64
_signatures: Final[dict[str, tuple[tuple[Argument, ...], tuple[Argument, ...], bool, bool]]] = {}
"""What was parsed, by the text from the arguments on: many operators of a library differ in nothing
but the name.
"""

_arguments: Final[dict[tuple[Any, ...], Argument]] = {}
"""What was parsed, by whether it is keyword-only and its tokens."""

_AFTER_ARGUMENT: Final = frozenset((",", ")", "(", lexer.END))

_PLAIN_NAME: Final = re.compile(
    r"((?:[A-Za-z_]\w*::)?[A-Za-z_]\w*)(?:\.(?!default$|__)([A-Za-z_]\w*))?", re.ASCII
)


def parse_schema(text: str, *, allow_typevars: bool = True) -> FunctionSchema:
    """Parse a schema.

    Parameters
    ----------
    text : str
        ``[namespace::]name[.overload](arguments) -> returns``.
    allow_typevars : bool
        Whether a lower-case word that names no type is a type variable. A definition of an operator
        has no type variables, so the word is an error there.

    Returns
    -------
    FunctionSchema

    Raises
    ------
    SchemaError
        A `RuntimeError`: the text does not follow the schema language, or is only a name.
    """
    head, paren, rest = text.partition("(")
    known = _signatures.get(rest) if paren else None
    if (
        known is not None
        and (plain := _PLAIN_NAME.fullmatch(head))
        and lexer.KEYWORDS.isdisjoint(plain.groups())
    ):
        return FunctionSchema(plain[1], plain[2] or "", *known)
    parser = _Parser(text)
    name = parser.operator_name()
    if parser.tokens[parser.index] == lexer.END:
        raise schema_error(
            "Tried to parse a function schema but only the operator name was given",
            text,
            None,
            f"Add arguments and returns, such as '{name}(Tensor self) -> Tensor'.",
        )
    schema = parser.schema(name)
    if parser.typevar is not None:
        if not allow_typevars:
            raise parser.unknown_type(parser.typevar)
        return schema
    # What a class stands for may change, and a text of any length should not stay for ever.
    if "__torch__" not in rest and len(rest) <= _KEPT_CHARACTERS:
        if len(_signatures) >= _KEPT:
            _signatures.clear()
        _signatures[rest] = (schema.arguments, schema.returns, schema.is_vararg, schema.is_varret)
    return schema


def parse_name(text: str) -> OperatorName:
    """Parse ``[namespace::]name[.overload]``.

    Raises
    ------
    SchemaError
        The text is not an operator name, or contains more than the name, such as a whole schema.
    """
    parser = _Parser(text)
    name = parser.operator_name()
    parser.expect(lexer.END)
    return name


class _Parser(TypeParser, DefaultParser):
    """The rules for a whole schema."""

    __slots__ = ()

    def operator_name(self) -> OperatorName:
        name = self.identifier()
        namespace = overload_name = ""
        if self.accept(":"):
            self.expect(":")
            namespace, name = name, self.identifier()
        if self.accept("."):
            overload_name = self.identifier()
            if overload_name == "default" or overload_name.startswith("__"):
                raise self.error(
                    f"{overload_name} is not a legal overload name for aten operators",
                    "Leave the overload name out for the default overload, or choose another one.",
                    self.index - 1,
                )
        return OperatorName(namespace, name, overload_name)

    def schema(self, name: OperatorName) -> FunctionSchema:
        if self.tokens[self.index] != "(":
            raise self.unexpected("'('")
        arguments, is_vararg = self.arguments()
        self.expect("->")
        returns, is_varret = self.returns()
        self.expect(lexer.END)
        qualified = f"{name.namespace}::{name.name}" if name.namespace else name.name
        return FunctionSchema(
            qualified, name.overload_name, arguments, returns, is_vararg, is_varret
        )

    def arguments(self) -> tuple[tuple[Argument, ...], bool]:
        self.expect("(")
        arguments: list[Argument] = []
        names: set[str] = set()
        kwarg_only = is_vararg = optional_seen = False
        if self.accept(")"):
            return (), False
        while True:
            if self.accept("*"):
                kwarg_only = True
            elif self.accept("..."):
                is_vararg = True
            else:
                argument = self.known_argument(kwarg_only)
                if argument.name in names:
                    raise self.repeated(argument.name)
                names.add(argument.name)
                if argument.has_default_value():
                    optional_seen = True
                elif (
                    optional_seen
                    and not kwarg_only
                    and not isinstance(argument.real_type, ListType)
                ):
                    # PyTorch lets lists through, which old serialized schemas have without their
                    # defaults.
                    raise self.error(
                        "Non-default positional argument follows default argument. Parameter "
                        f"{argument.name}",
                        f"Give {argument.name} a default, move it to the front, or make it "
                        "keyword-only with '*'.",
                        self.index - 1,
                    )
                arguments.append(argument)
            if not self.accept(","):
                break
            if is_vararg:
                raise self.error(
                    "... must be the last element of the argument list", "Move ... to the end."
                )
        if is_vararg and optional_seen:
            reason = "schemas with vararg (...) can't have default value args"
            raise self.error(reason, "Leave out ... or the defaults.")
        self.expect(")")
        return tuple(arguments), is_vararg

    def repeated(self, name: str) -> SchemaError:
        return self.error(
            f"argument name '{name}' is used twice",
            "Give each argument a name of its own.",
            self.index - 1,
        )

    def known_argument(self, kwarg_only: bool) -> Argument:
        """An argument that was parsed before in another schema, or a new one; alias sets belong to
        one schema.
        """
        tokens, start = self.tokens, self.index
        end = start
        in_list = False
        while (token := tokens[end]) != lexer.END and (in_list or token not in _AFTER_ARGUMENT):
            in_list = token == "[" or (in_list and token != "]")
            end += 1
        if token == "(":
            return self.argument(kwarg_only)
        key = (kwarg_only, *tokens[start:end])
        argument = _arguments.get(key)
        if argument is not None:
            self.index = end
            return argument
        argument = self.argument(kwarg_only)
        kept = end - start <= _KEPT_TOKENS and "!" not in key and "__torch__" not in key
        if kept and self.index == end and self.typevar is None:
            if len(_arguments) >= _KEPT:
                _arguments.clear()
            _arguments[key] = argument
        return argument

    def argument(self, kwarg_only: bool) -> Argument:
        declared, alias = self.argument_type()
        name = self.identifier()
        default = self.default(declared) if self.accept("=") else NO_DEFAULT
        return Argument(name, declared, kwarg_only, alias, default)

    def returns(self) -> tuple[tuple[Argument, ...], bool]:
        if self.accept("..."):
            return (), True
        if not self.accept("("):
            return (self.returned(),), False
        returns: list[Argument] = []
        if self.accept(")"):
            return (), False
        while True:
            if self.accept("..."):
                self.expect(")")
                return tuple(returns), True
            returns.append(self.returned())
            if not self.accept(","):
                self.expect(")")
                return tuple(returns), False

    def returned(self) -> Argument:
        declared, alias = self.argument_type()
        name = self.identifier() if lexer.is_identifier(self.tokens[self.index]) else ""
        return Argument(name, declared, False, alias)
