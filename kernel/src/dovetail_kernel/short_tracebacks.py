"""Tracebacks of errors that a program made: without the frames of Dovetail."""

from __future__ import annotations

import os
from opcode import opmap
from types import TracebackType
from typing import Final

from .errors import note_out_of_memory
from .frames import is_ours, package

_BELOW: Final = frozenset(["contextlib", "cupy", "functools", "numpy", "scipy"])
"""What our frames call: theirs go with ours."""

_RAISES: Final = frozenset([opmap["RAISE_VARARGS"], opmap["RERAISE"]])

_MARK: Final = "_is_of_dovetail"
"""Set on an error that was shortened at an inner entry, where the frame that raised it is gone."""

_full = os.environ.get("DOVETAIL_FULL_TRACEBACKS", "0") not in ("", "0")


def set_full_tracebacks(b: bool) -> None:
    """Show or hide the frames of Dovetail in the tracebacks of its errors.

    Parameters
    ----------
    b
        True for all frames. The default is False, or True if the environment variable
        ``DOVETAIL_FULL_TRACEBACKS`` is set to anything but 0. Errors that Dovetail does not raise
        deliberately always have all frames.
    """
    global _full
    _full = b


def shorten_traceback(error: BaseException) -> None:
    """Take the frames of Dovetail out of the traceback of an error that leaves one of its entries.

    Frames of a program stay: of its kernels, functions and hooks. So do all frames of an error that
    Dovetail did not raise on purpose: that is a defect, and its report needs them. The error of an
    array library that was translated into this one is no longer shown. A MemoryError of an array
    library becomes a RuntimeError too.
    """
    note_out_of_memory(error)
    if _full or not isinstance(error, Exception):
        return
    kept: list[TracebackType] = []
    inside = False
    trace = last = error.__traceback__
    while trace is not None:
        inside = is_ours(trace.tb_frame) or (inside and package(trace.tb_frame) in _BELOW)
        if not inside:
            kept.append(trace)
        last, trace = trace, trace.tb_next
    if last is not None and inside:
        if not (type(error) is RuntimeError or hasattr(error, _MARK) or _was_raised(last)):
            return
        setattr(error, _MARK, True)
        _forget_translated(error)
    elif last is None:
        _forget_translated(error)
    shorter: TracebackType | None = None
    for each in reversed(kept):
        shorter = TracebackType(shorter, each.tb_frame, each.tb_lasti, each.tb_lineno)
    error.__traceback__ = shorter


def _forget_translated(error: Exception) -> None:
    """Take out the errors of which an error is the translation; what the program was handling when
    it called stays.
    """
    below = error.__cause__ or error.__context__
    if below is None or not _is_of_arrays(below):
        return
    while below is not None and _is_of_arrays(below):
        below = below.__context__
    error.__cause__ = None
    error.__context__ = below
    error.__suppress_context__ = below is None


def _is_of_arrays(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if not is_ours(trace.tb_frame) and package(trace.tb_frame) not in _BELOW:
            return False
        trace = trace.tb_next
    return True


def _was_raised(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] in _RAISES
