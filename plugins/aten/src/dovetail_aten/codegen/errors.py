"""Errors of declarations: every message says where, what, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail_kernel.errors import printable

MOST: Final = 1000
"""So many characters of a problem are shown: it may quote a value of any length."""


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a declaration file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def located(where: Location, problem: str, remedy: str) -> str:
    """Return the message for `problem` at `where`."""
    if len(problem) > MOST:
        problem = f"{problem[: MOST // 2]} … {problem[-MOST // 2 :]}"
    return printable(f"{where}: {problem} {remedy}")


class DeclarationError(AssertionError):
    """An entry of ``native_functions.yaml`` is invalid."""

    def __init__(self, where: Location, problem: str, remedy: str) -> None:
        super().__init__(located(where, problem, remedy))


class DerivativeError(RuntimeError):
    """An entry of ``derivatives.yaml`` is invalid."""

    def __init__(self, where: Location, problem: str, remedy: str) -> None:
        super().__init__(located(where, problem, remedy))
