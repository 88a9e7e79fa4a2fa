"""SchemaError: raised by a malformed schema, with a picture of where it is malformed."""

from __future__ import annotations


class SchemaError(RuntimeError):
    """A schema that does not follow the schema language.

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


def _underline(text: str, start: int, end: int) -> str:
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    if line_end < 0:
        line_end = len(text)
    width = max(1, min(end, line_end) - start)
    caret = " " * (start - line_start) + "~" * width + " <--- HERE"
    return text[:line_end] + "\n" + caret + text[line_end:]
