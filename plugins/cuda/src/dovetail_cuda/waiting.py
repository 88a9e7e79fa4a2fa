"""What waits for the device: warnings of it, if they are asked for, and the errors found then."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

import cupy

from dovetail_kernel import AcceleratorError, warn_user

from .index_errors import raise_reported

_Function = TypeVar("_Function", bound=Callable[..., Any])
_SILENT, _WARN, _RAISE = range(3)

_mode = _SILENT


def debug_mode() -> int:
    """Return what is done where a call waits for the device: 0 nothing, 1 warn, 2 raise."""
    return _mode


def set_debug_mode(mode: int) -> None:
    """Decide what is done where a call waits for the device; for all threads."""
    global _mode
    _mode = mode


def note_wait(what: str) -> None:
    """Warn or raise, if that is asked for, because `what` waits for the device. Raises RuntimeError
    in mode 2.
    """
    if _mode == _SILENT:
        return
    text = (
        f"called a synchronizing CUDA operation: {what} waits for the device. Keep values there, "
        "or allow it: dovetail.cuda.set_sync_debug_mode('default')."
    )
    if _mode == _RAISE:
        raise RuntimeError(text)
    warn_user(text)


class waiting:  # noqa: N801  # read as a statement: with waiting(...)
    """A block that waits for the device; then it raises what kernels have reported.

    Parameters
    ----------
    what
        What the user did not call in order to wait; None for what is called for that.

    Raises
    ------
    AcceleratorError
        For an error of the device, or an index that was out of range.
    RuntimeError
        If waits are to raise.
    """

    def __init__(self, what: str | None = None) -> None:
        self.what = what

    def __enter__(self) -> None:
        if self.what is not None:
            note_wait(self.what)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, cupy.cuda.runtime.CUDARuntimeError):
            raise AcceleratorError(
                f"CUDA error: {error}. An earlier call is wrong. Start the program again with "
                "CUDA_LAUNCH_BLOCKING=1 to see which."
            ) from error
        if error is None:
            raise_reported()


def waits(what: str) -> Callable[[_Function], _Function]:
    """Return a decorator of functions that wait for the device; see `waiting`."""

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with waiting(what):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]  # it has the signature of `function`

    return decorate
