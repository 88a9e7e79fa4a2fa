"""Registrar: the code that registers something, so that the same code run again replaces what it
registered before.

A module that is reloaded and a notebook cell that is run again are compiled anew: their functions
have the same ``module:qualname`` and other code objects. A closure made twice has one code object,
and is another implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType
from typing import Any
from weakref import ref


class Registrar:
    """The code that made a library, or defined an operator with it.

    Attributes
    ----------
    code
        The code object of the running function or module.
    """

    __slots__ = ("_library", "_module", "code")

    def __init__(self, frame: FrameType, library: ref[Any]) -> None:
        self.code: CodeType = frame.f_code
        self._module = frame.f_globals.get("__name__")
        self._library = library

    @property
    def name(self) -> str:
        """``"module:qualname"`` of the running function; ``"module:<module>"`` at the top level."""
        return f"{self._module}:{self.code.co_qualname}"

    def replaces(self, earlier: Registrar | None) -> bool:
        """Return whether this is the code of `earlier` run again: compiled anew, or its library is
        held no more. A lambda has no name of its own: it is known by where it stands.
        """
        if earlier is None or earlier is self or self.name != earlier.name:
            return False
        if self.code.co_name == "<lambda>" and _place(self.code) != _place(earlier.code):
            return False
        return self.code is not earlier.code or earlier._library() is None

    def repeats(self, earlier: Registrar | None) -> bool:
        """Return whether this is a whole file or cell run again: it registers all that it still has
        to register.
        """
        return (
            earlier is not None
            and self.replaces(earlier)
            and self.code.co_filename == earlier.code.co_filename
        )


def provider_name(function: Callable[..., object]) -> str:
    """Return ``"module:qualname"`` of a function, or of the class of a callable object."""
    while isinstance(function, partial):
        function = function.func
    named: Any = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', None)}:{named.__qualname__}"


def is_written_anew(new: Callable[..., object], old: Callable[..., object]) -> bool:
    """Return whether two functions are one piece of source, compiled twice.

    A lambda has no name of its own: it is known by where it stands.
    """
    ours: CodeType | None = getattr(new, "__code__", None)
    theirs: CodeType | None = getattr(old, "__code__", None)
    if ours is None or theirs is None or ours is theirs or provider_name(new) != provider_name(old):
        return False
    return ours.co_name != "<lambda>" or _place(ours) == _place(theirs)


def _place(code: CodeType) -> Any:
    """Return the file, and the line and the column where the body begins."""
    parts = [
        (line, column)
        for line, _, column, end in code.co_positions()
        if line is not None and column is not None and column != end
    ]
    return code.co_filename, min(parts, default=code.co_firstlineno)
