"""The stacks of active modes of the running task, and the dispatch state that makes calls look at
them.

The stacks hold the mode objects; the dispatch state says only whether there is any, so that
entering a mode makes no new state, and routes are shared by all modes. Both are context variables:
a thread begins without modes, an asyncio task with those of its maker, and neither changes what the
others have.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

from dovetail_kernel import DispatchKey, DispatchKeySet, full_after, full_keyset, set_state, state
from dovetail_kernel.keys.interception import PYTHON_KEYS
from dovetail_kernel.keys.state import Transition

ABOVE_PYTHON: Final = (
    full_keyset
    - full_after(DispatchKey.Python)
    - DispatchKeySet.of(DispatchKey.Python, DispatchKey.PythonDispatcher)
)
"""What a `__torch_dispatch__` runs without: Autograd, ADInplaceOrView, the transforms, all of
higher priority.
"""

below_python: Final = Transition(lambda s: replace(s, excluded=s.excluded | ABOVE_PYTHON))


above_python: Final = Transition(lambda s: replace(s, excluded=s.excluded - ABOVE_PYTHON))


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
    """

    __slots__ = ("_modes", "_seen", "_unseen", "kind")

    def __init__(self, kind: str, seen: Transition, unseen: Transition) -> None:
        self.kind = kind
        self._modes: ContextVar[tuple[Any, ...]] = ContextVar(f"dovetail_{kind}", default=())
        self._seen = seen
        self._unseen = unseen

    @property
    def modes(self) -> tuple[Any, ...]:
        """The active modes, innermost last."""
        return self._modes.get()

    def replace(self, modes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Make `modes` the active ones, and return those that were."""
        before = self._modes.get()
        self._modes.set(modes)
        set_state((self._seen if modes else self._unseen)(state()))
        return before

    def push(self, mode: Any) -> tuple[Any, ...]:
        """Make `mode` the innermost, and return what `replace` takes to undo it."""
        return self.replace((*self._modes.get(), mode))

    def pop(self) -> Any:
        """Take away the innermost mode and return it.

        Raises
        ------
        RuntimeError
            If there is none.
        """
        modes = self._modes.get()
        if not modes:
            raise RuntimeError(f"no {self.kind} is active, so none can be popped. Push one first.")
        self.replace(modes[:-1])
        return modes[-1]

    def take(self) -> tuple[Any, tuple[tuple[Any, ...], int]]:
        """Take away the innermost mode; return it, and what `give_back` takes to undo that."""
        taken = self._modes.get(), state()
        return self.pop(), taken

    def give_back(self, taken: tuple[tuple[Any, ...], int]) -> None:
        """Put back the modes and the state that there were before `take`."""
        modes, state_before = taken
        self._modes.set(modes)
        set_state(state_before)

    @contextmanager
    def popped(self) -> Iterator[Any]:
        """Take away the innermost mode meanwhile: a mode does not see what its own handler does."""
        mode, taken = self.take()
        try:
            yield mode
        finally:
            self.give_back(taken)

    @contextmanager
    def disabled(self) -> Iterator[list[Any]]:
        """Take away all modes meanwhile."""
        state_before = state()
        before = self.replace(())
        try:
            yield list(before)
        finally:
            self._modes.set(before)
            set_state(state_before)


dispatch_modes: Final = ModeStack(
    "TorchDispatchMode",
    Transition(lambda s: replace(s, included=s.included | PYTHON_KEYS)),
    Transition(lambda s: replace(s, included=s.included - PYTHON_KEYS)),
)

function_modes: Final = ModeStack(
    "TorchFunctionMode",
    Transition(lambda s: replace(s, function_modes=True)),
    Transition(lambda s: replace(s, function_modes=False)),
)


class Mode:
    """A context manager that stands on a stack while it is entered; it may be entered again within
    itself.

    Leaving puts the stack back that entering found, whatever has been done to it meanwhile.
    """

    _stack: ModeStack
    _entered: list[tuple[Any, ...]]

    def __enter__(self) -> Any:
        if "_entered" not in self.__dict__:  # a subclass need not call __init__
            self._entered = []
        self._entered.append(self._stack.push(self))
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self._stack.replace(self._entered.pop())

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new mode, to be entered."""
        return cls(*args, **kwargs)
