"""The stacks of active modes of the running task, and the dispatch state that makes calls look at
them.

The stacks hold the mode objects; the dispatch state says only whether there is any, so that
entering a mode makes no new state, and routes are shared by all modes. Both are context variables:
a thread begins without modes, an asyncio task with those of its maker, and neither changes what the
others have.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    Guard,
    full_after,
    full_keyset,
    set_state,
    state,
)
from dovetail_kernel.keys import PYTHON_KEYS, STATE, Transition

ABOVE_PYTHON: Final = (
    full_keyset
    - full_after(DispatchKey.Python)
    - DispatchKeySet.of(DispatchKey.Python, DispatchKey.PythonDispatcher)
)
"""What a `__torch_dispatch__` runs without: Autograd, ADInplaceOrView, the transforms, all of
higher priority.
"""

below_python: Final = Transition(lambda s: s._replace(excluded=s.excluded | ABOVE_PYTHON))
"""Leave out what a `__torch_dispatch__` runs without."""

above_python: Final = Transition(lambda s: s._replace(excluded=s.excluded - ABOVE_PYTHON))
"""Heed it again."""


class ModeStack:
    """The active modes of one kind, outermost first.

    Parameters
    ----------
    kind
        What messages call a mode.
    seen
        The state in which calls look at the stack.
    unseen
        The state in which they do not, because it is empty.

    Attributes
    ----------
    variable
        The context variable that holds the modes.
    seen, unseen
        As given.
    """

    __slots__ = ("active", "kind", "put", "seen", "unseen", "variable")

    def __init__(self, kind: str, seen: Transition, unseen: Transition) -> None:
        self.kind = kind
        self.variable: ContextVar[tuple[Any, ...]] = ContextVar(f"dovetail_{kind}", default=())
        self.put: Callable[[tuple[Any, ...]], Any] = self.variable.set
        """Makes modes the active ones, in a state that fits them already."""
        self.active: Callable[[], tuple[Any, ...]] = self.variable.get
        """Returns `modes`, without a frame of Python."""
        self.seen = seen
        self.unseen = unseen

    @property
    def modes(self) -> tuple[Any, ...]:
        """The active modes, innermost last."""
        return self.variable.get()

    def replace(self, modes: tuple[Any, ...]) -> None:
        """Make `modes` the active ones."""
        before, state_before = self.variable.get(), state()
        after = (self.seen if modes else self.unseen)(state_before)
        try:
            self.put(modes)
            set_state(after)
        except BaseException:  # an interrupt: neither of them is changed
            set_state(state_before)
            self.put(before)
            raise

    def push(self, mode: object) -> None:
        """Make `mode` the innermost."""
        self.replace((*self.variable.get(), mode))

    def pop(self) -> Any:
        """Take away the innermost mode and return it. Raises RuntimeError if no mode is active."""
        mode = self.innermost()
        self.replace(self.variable.get()[:-1])
        return mode

    def innermost(self) -> Any:
        """Return the innermost mode. Raises RuntimeError if no mode is active."""
        modes = self.variable.get()
        if not modes:
            raise RuntimeError(f"no {self.kind} is active, so none can be popped. Push one first.")
        return modes[-1]

    def popped(self) -> Guard:
        """Return a context in which the innermost mode is taken away; it is the context's value."""
        return _Without(self, lambda modes: (modes[:-1], self.innermost()))

    def disabled(self) -> Guard:
        """Return a context in which all modes are taken away; its value is the list of them."""
        return _Without(self, lambda modes: ((), list(modes)))


class _Without(Guard):
    """Takes modes away for a block.

    Parameters
    ----------
    stack
        Where from.
    chosen
        Takes the active modes; returns those that stay, and what the ``with`` statement binds.
    """

    def __init__(self, stack: ModeStack, chosen: Callable[[tuple[Any, ...]], Any]) -> None:
        self.variables = (STATE, stack.variable)  # type: ignore[misc]
        self._stack = stack
        self._chosen = chosen

    def change(self) -> Any:
        stay, value = self._chosen(self._stack.modes)
        self._stack.replace(stay)
        return value


dispatch_modes: Final = ModeStack(
    "TorchDispatchMode",
    Transition(lambda s: s._replace(included=s.included | PYTHON_KEYS)),
    Transition(lambda s: s._replace(included=s.included - PYTHON_KEYS)),
)

function_modes: Final = ModeStack(
    "TorchFunctionMode",
    Transition(lambda s: s._replace(function_modes=True)),
    Transition(lambda s: s._replace(function_modes=False)),
)


class Mode(Guard):
    """A context manager that stands on a stack while it is entered; it may be entered again within
    itself.

    Leaving puts the stack back that entering found, whatever has been done to it meanwhile.
    """

    _stack: ModeStack

    def save(self) -> Any:
        """Return the active modes."""
        return self._stack.modes

    def change(self) -> Any:
        """Make this mode the innermost."""
        self._stack.push(self)
        return self

    def restore(self, saved: Any) -> None:
        """Make those modes the active ones again; whatever else is in the state stays."""
        self._stack.replace(saved)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new mode, to be entered."""
        return cls(*args, **kwargs)
