"""Anomaly mode: remembers where each node was recorded, and stops at the first gradient that is
nan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from dovetail_kernel import Guard, TensorBase, warn_user
from dovetail_kernel.keys import SettingGuard

from ..graph.node import Node
from ..graph.saved_extras import EXTRAS, TRACEBACK, anomaly_changed

_mode: ContextVar[tuple[bool, bool]] = ContextVar("dovetail_anomaly_mode", default=(False, True))

anomaly_mode = _mode.get
"""Return whether anomaly mode is on, and whether it looks for nan."""


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on."""
    return _mode.get()[0]


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode checks for nan."""
    return _mode.get()[1]


def _check_bool(name: str, value: object) -> None:
    if value.__class__ is not bool:
        raise TypeError(
            f"set_anomaly_enabled(): argument '{name}' must be bool, not {type(value).__name__}. "
            "Give True or False."
        )


class set_detect_anomaly(SettingGuard):
    """Turn anomaly mode on or off immediately; as a context manager, restore the previous mode at
    the end.

    Parameters
    ----------
    mode
        On or off.
    check_nan
        Raise when a backward returns nan.
    """

    variables = (_mode, EXTRAS)

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        _check_bool("enabled", mode)
        _check_bool("check_nan", check_nan)
        self._wanted = mode, check_nan
        super().__init__()

    def change(self) -> None:
        """Turn the mode on or off."""
        _set(*self._wanted)


class detect_anomaly(Guard):
    """Context manager that enables anomaly mode, which finds the operation that caused an error in
    backward. It is slow.

    Parameters
    ----------
    check_nan
        Raise when a backward returns nan.
    """

    variables = (_mode, EXTRAS)

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        _check_bool("check_nan", check_nan)
        warn_user(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for "
            "debugging."
        )

    def change(self) -> None:
        """Turn the mode on."""
        _set(True, self._check_nan)


def _set(mode: bool, check_nan: bool) -> None:
    _mode.set((mode, check_nan))
    anomaly_changed(mode)


@contextmanager
def watch(node: Node) -> Iterator[None]:
    """If the body of `node` fails, warn with the stack of the call that recorded it."""
    try:
        yield
    except Exception:
        where = node.metadata.get(TRACEBACK)
        detail = (
            f"Traceback of forward call that caused the error:\n{''.join(where)}"
            if where
            else "No forward pass information available. Enable detect "
            "anomaly during forward pass for more "
            "information."
        )
        warn_user(f"Error detected in {node.name()}. {detail}")
        raise


def check_nan(node: Node, grads: Sequence[TensorBase | None]) -> None:
    """Raise an error for a nan among `grads`, which `node` returned. Raises RuntimeError if there
    is one.
    """
    if not is_anomaly_check_nan_enabled():
        return
    for index, grad in enumerate(grads):
        if grad is not None and _has_nan(grad.array):
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output. The "
                "warning above shows the "
                "forward call."
            )


def _has_nan(array: Any) -> bool:
    return bool((array != array).any())
