"""Splits schema text into tokens with one compiled expression.

Tokens are plain strings and carry no position: a schema is parsed thousands of times for every one
that is wrong, so positions are found again only when an error needs them (`token_spans`).
"""

from __future__ import annotations

import re
from typing import Final

from .errors import schema_error

END: Final = ""
"""The token after the last one."""

KEYWORDS: Final = frozenset(
    [
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "for",
        "global",
        "if",
        "import",
        "in",
        "is",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "while",
        "with",
    ]
)

_STRING = r"""
      \"\"\"(?:[^"\\]|\\.|"(?!""))*+\"\"\"
    | '''(?:[^'\\]|\\.|'(?!''))*+'''
    | "(?!"")(?:[^"\\\n]|\\.)*+" | '(?!'')(?:[^'\\\n]|\\.)*+'
"""
_CLOSED_STRING = re.compile(_STRING, re.VERBOSE | re.ASCII | re.DOTALL)

# Every branch either matches or fails without a second look at what it read (``*+``), and a string
# that nothing closes is one token: the text is read at most twice.
_TOKEN = re.compile(
    r"""
      [A-Za-z_]\w*                                              # identifier or keyword
    | 0[xX][0-9A-Fa-f]+                                         # number
    | (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?
    | """
    + _STRING
    + r"""
    | \"\"\"(?:[^\\]|\\.)*+ | '''(?:[^\\]|\\.)*+               # string that nothing closes
    | "(?:[^"\\\n]|\\.)*+ | '(?:[^'\\\n]|\\.)*+
    | -> | \.\.\.
    | \#[^\n]* | \\\n                                            # comment, continued line
    | \S                                                        # punctuation, or no token at all
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)

_AFTER = ("the rest of the schema", "'->'")
"""What is expected behind anything else, and behind the closing parenthesis."""
_DROPPED = re.compile(r"\#[^\n]*|\\\n")
_PUNCTUATION = frozenset("()[]{},.:=*?!|-+/%<>&^~@")
_SIGNS = frozenset([END, "->", "..."])
_ESCAPE = re.compile(r"\\(?:([0-3][0-7]{2})|(.))", re.DOTALL)
ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
}
"""What the letter after a backslash stands for in a string."""


def tokenize(text: str) -> list[str]:
    """Return the tokens of ``text``, comments and continuations dropped, followed by `END`."""
    tokens: list[str] = _TOKEN.findall(text)
    if "#" in text or "\\\n" in text:
        tokens = [token for token in tokens if not _is_dropped(token)]
    if "\n" in text:
        _refuse_newline_between_parts(text)
    tokens.append(END)
    return tokens


def token_spans(text: str) -> list[tuple[int, int]]:
    """Return where each token of `tokenize` lies in ``text``."""
    spans = [match.span() for match in _TOKEN.finditer(text) if not _is_dropped(match[0])]
    spans.append((len(text), len(text)))
    return spans


def _is_dropped(token: str) -> bool:
    return token[0] == "#" or token == "\\\n"


def is_identifier(token: str) -> bool:
    return token.isidentifier() and token not in KEYWORDS and token.isascii()


def is_number(token: str) -> bool:
    digit = token[1:2] if token[:1] == "." else token[:1]
    return digit.isdecimal() and digit.isascii()


def is_hexadecimal(number: str) -> bool:
    return "x" in number or "X" in number


def is_string(token: str) -> bool:
    return token[:1] in ("'", '"') and _CLOSED_STRING.fullmatch(token) is not None


def describe(token: str) -> str:
    """Return the words of error messages for a token."""
    if token == END:
        return "the end of the text"
    if is_identifier(token):
        return f"the name '{token}'"
    if is_number(token):
        return f"the number {token}"
    if is_string(token):
        return f"the string {token}"
    return f"'{token}'"


def is_token(token: str) -> bool:
    """Say whether the schema language knows this token at all."""
    valued = is_identifier(token) or is_number(token) or is_string(token)
    return valued or token in KEYWORDS or token in _SIGNS or token in _PUNCTUATION


def string_value(token: str) -> str:
    """Return the text a string literal stands for. Raises ValueError if the literal holds an escape
    that the schema language does not have.
    """
    quotes = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
    return _ESCAPE.sub(_unescape, token[quotes:-quotes])


def _unescape(match: re.Match[str]) -> str:
    octal, character = match.groups()
    if octal is not None:
        return chr(int(octal, 8))
    if character == "x":
        raise ValueError("unsupported hex specifier")
    if character not in ESCAPES:
        raise ValueError("ill formed octal specifier")
    return ESCAPES[character]


def _refuse_newline_between_parts(text: str) -> None:
    """Raise an error for a line break outside of brackets that no backslash precedes."""
    depth = end = 0
    for index, (start, stop) in enumerate(token_spans(text)[:-1]):
        between = text[end:start]
        if index and depth == 0 and "\n" in between and "\n" in _DROPPED.sub("", between):
            reason = f"expected {_AFTER[text[end - 1] == ')']}"
            remedy = "Write the schema on one line, or break it inside ()."
            raise schema_error(
                f"{reason} but found the end of the line", text, (start, stop), remedy
            )
        token = text[start:stop]
        depth += (token in "([") - (token in ")]")
        end = stop
