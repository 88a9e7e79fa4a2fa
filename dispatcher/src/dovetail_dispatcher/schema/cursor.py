"""Cursor: a place in the tokens of a schema, and the errors that point at it."""

from __future__ import annotations

from sys import intern

from . import lexer
from .errors import SchemaError, schema_error

_GRAMMAR = (
    "Write a schema as 'namespace::name.overload(Type argument=default, *, Type keyword) -> Type'."
)

_NAME_THE_ARGUMENT = (
    "Give each argument a type and a name: 'Tensor x'. No comma follows the last one."
)
_TYPE_FIRST = "Write the type before the name: 'Tensor x', not 'x: Tensor'."
_SAY_WHAT_RETURNS = "Say what it returns: '-> Tensor', or '-> ()' for nothing."
_REMEDIES = {
    ("a name", ")"): _NAME_THE_ARGUMENT,
    ("a name", ","): _NAME_THE_ARGUMENT,
    ("a name", ":"): _TYPE_FIRST,
    ("')'", ":"): _TYPE_FIRST,
    ("'->'", lexer.END): _SAY_WHAT_RETURNS,
    ("a name", lexer.END): _SAY_WHAT_RETURNS,
    ("the end of the text", ","): "Put several results in parentheses: '-> (Tensor, Tensor)'.",
}
"""What to do about the usual mistakes, by what was expected and what was found."""


class Cursor:
    """The tokens of one text and the index of the next one; every rule of the grammar moves it
    on.
    """

    __slots__ = ("fresh_sets", "index", "level", "text", "tokens", "typevar")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = lexer.tokenize(text)
        self.index = 0
        self.fresh_sets = 0
        self.level = 0
        self.typevar: int | None = None
        """Where the last type variable stands."""

    def expect(self, token: str) -> None:
        if self.tokens[self.index] != token:
            raise self.unexpected(lexer.describe(token))
        self.index += 1

    def accept(self, token: str) -> bool:
        if self.tokens[self.index] != token:
            return False
        self.index += 1
        return True

    def identifier(self) -> str:
        token = self.tokens[self.index]
        if not lexer.is_identifier(token):
            raise self.unexpected("a name")
        self.index += 1
        return intern(token)  # compiled code compares names by identity first

    def number(self) -> str:
        token = self.tokens[self.index]
        if not lexer.is_number(token):
            raise self.unexpected("a number")
        self.index += 1
        return token

    def integer(self, literal: str, start: int) -> int:
        base = 16 if lexer.is_hexadecimal(literal) else 10
        # int() takes quadratic time and refuses thousands of digits: look at their number first.
        if len(literal.lstrip("-0xX")) < 20 and (base == 16 or literal.lstrip("-").isdecimal()):
            value = int(literal, base)
            if -(2**63) <= value < 2**63:
                return value
        raise self.error(
            f"{literal} is not a 64-bit integer", "Write an integer below 2**63.", start
        )

    def unexpected(self, wanted: str) -> SchemaError:
        token = self.tokens[self.index]
        if not lexer.is_token(token) and token != lexer.END:
            return self.error(
                f"expected a valid token but found '{token[0]}'",
                "Remove it, or close the string it opens.",
            )
        remedy = _REMEDIES.get((wanted, token), _GRAMMAR)
        if token in lexer.KEYWORDS and wanted == "a name":
            remedy = (
                f"{token} is a keyword of the schema language; use "
                f"another name, such as '{token}_'."
            )
        return self.error(f"expected {wanted} but found {lexer.describe(token)}", remedy)

    def error(self, reason: str, remedy: str, index: int | None = None) -> SchemaError:
        span = lexer.token_spans(self.text)[self.index if index is None else index]
        return schema_error(reason, self.text, span, remedy)
