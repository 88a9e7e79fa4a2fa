"""SchemaError: raised by a malformed schema, with a picture of where it is malformed."""

from __future__ import annotations

import reprlib
import sys
from typing import Final

_MOST: Final = 1000
"""Characters of a value that a message shows."""

_representation = reprlib.Repr()
_representation.maxlist = _representation.maxtuple = _representation.maxdict = 100
_representation.maxset = _representation.maxfrozenset = 100
_representation.maxstring = _representation.maxother = _MOST


class SchemaError(RuntimeError):
    """Raised for a schema with a syntax error.

    The message has four parts: the reason, the source text, a caret line under the offending token,
    and one remedy.
    """


def schema_error(reason: str, text: str, span: tuple[int, int] | None, remedy: str) -> SchemaError:
    """Return a `SchemaError` that points at ``text[span[0]:span[1]]``, or at nothing where ``span``
    is None.
    """
    if span is None:
        return SchemaError(f"{reason} in {text!r}\n{remedy}")
    return SchemaError(f"{reason} here:\n{_underline(text, *span)}\n{remedy}")


def shown(value: object, *, quoted: bool = False) -> str:
    """Return a value as messages show it, long ones in part.

    Parameters
    ----------
    value
        Anything: its own text is not asked for more than the message shows, where it is a
        container.
    quoted
        Strings in quotes, and others by their `repr`.
    """
    try:
        if isinstance(value, str) and not quoted:
            text = value[: _MOST + 1]
        elif quoted or isinstance(value, list | tuple | dict | set | frozenset | int):
            text = _representation.repr(value)
        else:
            text = str(value)
    except ValueError:  # an int of more digits than Python prints
        return (
            f"<{type(value).__name__} with a number beyond {sys.get_int_max_str_digits()} digits>"
        )
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def _underline(text: str, start: int, end: int) -> str:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    if line_end < 0:
        line_end = len(text)
    width = max(1, min(end, line_end) - start)
    caret = " " * (start - line_start) + "~" * width + " <--- HERE"
    return text[:line_end] + "\n" + caret + text[line_end:]
