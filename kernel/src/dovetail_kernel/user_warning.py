"""Issues warnings that point at the user's line, however many layers lie between."""

from __future__ import annotations

import sys
import warnings
from typing import Final, Literal

from .frames import is_ours, package

_BETWEEN: Final = frozenset(["contextlib", "functools", "importlib"])
"""Modules whose frames lie between a function of the library, or a module that is imported, and its
caller.
"""

_given: Final[set[str]] = set()
"""Sites of the warnings that this process has had from `warn_user_once`."""

_policy: Literal["once", "always", "never"] = "once"


def warn_user_once(
    message: str, category: type[Warning] = UserWarning, *, site: str | None = None
) -> None:
    """Issue a warning the first time in a process, or each time under ``set_warn_always(True)``.

    Parameters
    ----------
    site
        Name of the warning, where messages differ between calls. Default: the message.
    """
    if _policy == "once":
        site = message if site is None else site
        if site in _given:
            return
        _given.add(site)
    if _policy != "never":
        warn_user(message, category)


def set_warn_always(b: bool) -> None:
    """Issue warnings each time that are otherwise issued once per process, subject to Python's
    warning filters.

    Raises
    ------
    RuntimeError
        If `b` is not a bool.
    """
    global _policy
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _policy = "always" if b else "once"


def is_warn_always_enabled() -> bool:
    """Return the argument of the last `set_warn_always`; initially False."""
    return _policy == "always"


def reset_once_warnings(policy: Literal["once", "never"] = "once") -> None:
    """Forget which warnings `warn_user_once` has issued, as if the process had just begun; with
    "never" it issues none: a test that meets one passes, whichever tests ran before it.
    """
    global _policy
    _given.clear()
    _policy = policy


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for the innermost caller that is neither part of Dovetail nor a generated
    entry or route, nor a block or a wrapper of the standard library.

    A fixed ``stacklevel`` would not do: the first call of an operator has more frames than the
    second, and a warning that falls on a generated function, which belongs to no module, is lost.
    """
    frame = sys._getframe(1)
    while (is_ours(frame) or package(frame) in _BETWEEN) and frame.f_back is not None:
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__", "<unknown>"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )
