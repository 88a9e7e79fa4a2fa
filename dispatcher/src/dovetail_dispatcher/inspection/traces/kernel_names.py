"""Kernels that are handed to devices: backends are asked for their names while a trace is on."""

from __future__ import annotations

from threading import RLock
from typing import Final

from dovetail_kernel import all_backends, renewed_after_fork

from .spans import Span, open_span

_lock = renewed_after_fork(RLock())
_listening: Final[dict[int, Span]] = {}
"""The outermost spans of the traces that are on, by identity."""
_answers: Final[dict[str, str | None]] = {}
"""Of every backend that was asked, why it does not tell; None if it does."""


def listen(root: Span) -> None:
    """Let the launches of every span be noted, until `stop_listening` is called with `root`."""
    with _lock:
        _listening[id(root)] = root
        ask_backends()


def stop_listening(root: Span) -> None:
    """End what `listen` began; may be called twice."""
    with _lock:
        _listening.pop(id(root), None)
        if not _listening:
            _answers.clear()
            for each in all_backends():
                if each.is_attached and each.arrays.launches_kernels:
                    each.arrays.tell_launches(None)


def ask_backends() -> None:
    """Ask the backends that were not asked yet: one may be loaded while a trace is on."""
    with _lock:
        for each in all_backends() if _listening else ():
            if each.is_attached and each.name not in _answers and each.arrays.launches_kernels:
                _answers[each.name] = each.arrays.tell_launches(_note)


def why_unknown() -> str | None:
    """Return why launches of some backend are not noted; None if all are."""
    reasons = [f"launches on {name} are not known: {why}" for name, why in _answers.items() if why]
    return "; ".join(reasons) or None


def _note(name: str) -> None:
    span = open_span.get()
    if span is not None:
        span.launches.append(name)
