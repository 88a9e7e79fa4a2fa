"""Issues warnings that point at the user's line, however many layers lie between."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_BETWEEN = ("contextlib", "functools", "importlib")
"""Modules whose frames lie between a function of the library, or a module that is imported, and its
caller.
"""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for the innermost caller that is neither part of Dovetail nor a generated
    entry or route, nor a block or a wrapper of the standard library.

    A fixed ``stacklevel`` would not do: the first call of an operator has more frames than the
    second, and a warning that falls on a generated function, which belongs to no module, is lost.
    """
    frame = sys._getframe(1)
    while _is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__", "<unknown>"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _is_ours(frame: FrameType) -> bool:
    top = (frame.f_globals.get("__name__") or "").partition(".")[0]
    return (
        top == "dovetail"
        or top.startswith("dovetail_")
        or top in _BETWEEN
        or frame.f_code.co_filename.startswith("<dovetail ")
    )
