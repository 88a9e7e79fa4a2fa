"""Extras of recording a node: saved-tensor hooks pack its values, anomaly mode notes the stack.

Recording routes ask about it only once any task of the process has wanted it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any, Final, NamedTuple

from dovetail_dispatcher.table import registry
from dovetail_kernel import TensorBase

from .node import Node
from .saved_tensor import check_unwritten, pack_saved

TRACEBACK: Final = "traceback_"
"""Key under which a node's `metadata` has the formatted stack of its recording, as in PyTorch."""

Pack = Callable[[Any], Any]  # of a tensor, of whatever class the user says it is
Unpack = Callable[[Any], TensorBase]
Entry = tuple[Pack, Unpack]


class Extras(NamedTuple):
    """Says what to do with every node recorded in this task.

    Attributes
    ----------
    hooks
        Stack of (pack, unpack) for saved tensors; the last one counts.
    disabled
        Why saved-tensor hooks are refused; None if they are not.
    anomaly
        Whether to note where nodes are recorded.
    """

    hooks: tuple[Entry, ...] = ()
    disabled: str | None = None
    anomaly: bool = False


_NOTHING: Final = Extras()
_extras: ContextVar[Extras | None] = ContextVar("dovetail_recording_extras", default=None)

EXTRAS: Final = _extras
"""The context variable that holds them, for `Guard.variables`."""

recording_extras: Final[Callable[[], Extras | None]] = _extras.get
"""Return what to do with a node that was just recorded; None: nothing."""


_ever_wanted = False


def needs_extras() -> bool:
    """Return whether recording routes have to ask for extras. When that changes they are all
    composed anew.
    """
    return _ever_wanted


def change_extras(**changes: Any) -> None:
    """Change the extras of this task."""
    global _ever_wanted
    extras = reduced(_extras.get() or _NOTHING, **changes)
    if not _ever_wanted and extras is not None:
        _ever_wanted = True
        registry.forget_all_routes()
    _extras.set(extras)


def reduced(extras: Extras, **changes: Any) -> Extras | None:
    """Return `extras` with changes; None if nothing is to be done then."""
    changed = extras._replace(**changes)
    return None if changed == _NOTHING else changed


def refuse_hooks(message: str) -> None:
    """Raise an error for saved-tensor hooks in this task.

    Unlike `change_extras` it does not make recording routes ask: there is nothing to do for them.
    Raises RuntimeError if there are hooks in force.
    """
    before = _extras.get()
    if before is None:
        _extras.set(_refusing(message))
    elif before.hooks:
        raise RuntimeError(message)
    elif before.disabled is None:
        _extras.set(before._replace(disabled=message))


@cache
def _refusing(message: str) -> Extras:
    return Extras(disabled=message)


def anomaly_changed(mode: bool) -> None:
    """Note that anomaly mode was turned on or off."""
    change_extras(anomaly=mode)


def _remember_where(node: Node) -> None:
    from traceback import format_stack  # only anomaly mode needs it

    node.metadata[TRACEBACK] = format_stack()[:-1]


def recorded(node: Node, extras: Extras) -> None:
    """Do what `extras` asks for with `node`, whose slots are all filled: called at the end of a
    recording route.
    """
    if extras.anomaly:
        _remember_where(node)
    if extras.hooks and node._formula_record is not None:
        pack, unpack = extras.hooks[-1]
        for saved in node._formula_record.saved:
            check_unwritten(node, saved)
            pack_saved(node, saved, pack, unpack)
