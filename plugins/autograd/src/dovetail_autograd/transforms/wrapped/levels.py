"""Levels: the transforms in force, innermost last, and the interpreter that each one is."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from dovetail_dispatcher import dispatch_modes
from dovetail_kernel import DispatchState, Guard, dispatch_state, restoring, set_state, state
from dovetail_kernel.keys import PYTHON_KEYS, STATE, Transition
from dovetail_kernel.signature import NO_GRAD

from ...engine import active_levels as _active
from ...engine.active_levels import LEVELS, set_active_levels
from ...graph.saved_extras import EXTRAS
from .wrapped_backend import install

if TYPE_CHECKING:
    from dovetail_dispatcher import OpOverload
    from dovetail_kernel import TensorBase


class Level(Guard):
    """One transform in force: a context manager while which is open tensors may be wrapped at it.

    A call goes to the deepest level among its arguments, whose `interpret` unwraps them, makes
    physical calls of it, and wraps what they return. A subclass is a kind of transform.

    Attributes
    ----------
    depth
        How many levels this one is inside, plus one. Of the levels that meet in a call, the deepest
        is interpreted first.
    is_alive
        False once the transform was left.
    number
        Of a transform that differentiates a function, higher than of those entered before; 0 of all
        others.
    outer_state
        The dispatch state before a transform that turns grad mode on was entered; None of all
        others.
    leaves
        What gradients inside of this level were taken with respect to. Calls inside of it may have
        recorded a graph that leads there, which is no concern of the outside.
    """

    variables: ClassVar[tuple[ContextVar[Any], ...]] = (LEVELS,)

    transforms_function: ClassVar[bool] = True
    """Whether the level belongs to a transform of a function, which has the graph of its inside to
    itself.
    """

    maps_samples: ClassVar[bool] = False
    """Whether the level is a vmap, whose physical calls are the calls of all samples."""

    def __init__(self) -> None:
        install()
        self.depth = 0
        self.is_alive = False
        self.number = 0
        self.outer_state: int | None = None
        self.leaves: list[TensorBase] = []

    def change(self) -> Any:
        """Become the innermost level."""
        self._before = before = active_levels()
        self.depth = 1 + (before[-1].depth if before else 0)
        self.is_alive = True
        self._modes = dispatch_modes.variable.get()
        self._outside = _restoring(state() & ~NO_GRAD)
        set_active_levels((*before, self))
        return self

    def restore(self, saved: object) -> None:
        """Leave this level, and what was entered inside."""
        self.is_alive = False
        self.leaves = []  # which may be wrapped at this level, and so hold it
        super().restore(saved)

    def run_outside(self, function: Callable[..., object], *args: Any) -> Any:
        """Return ``function(*args)``, run where this level was entered: at those levels, with keys
        included and excluded as they were.

        So what an Autograd kernel above the call on wrapped tensors left out is in force again.
        Grad mode stays as it is, but off where it was before the first gradient inside of this
        level, which turned it on for itself.
        """
        state_before, levels_before = state(), active_levels()
        physical_state = self._outside(state_before)
        for level in levels_before[self.depth :]:
            if level.outer_state is not None:
                physical_state |= level.outer_state & NO_GRAD
                break
        try:
            set_state(physical_state)
            set_active_levels(self._before)
            return function(*args)
        finally:
            try:
                set_active_levels(levels_before)
            finally:
                set_state(state_before)

    def has_modes_inside(self) -> bool:
        """Return whether a `TorchDispatchMode` was entered inside of the level: it is asked before
        the level about tensors with ``__torch_dispatch__``.
        """
        return len(dispatch_modes.modes) > len(self._modes)

    def is_behind_modes(self) -> bool:
        """Return whether one of the modes inside of the level is a transform, so that modes are
        asked about all tensors.
        """
        return any([each.is_transform for each in dispatch_modes.modes[len(self._modes) :]])

    def enclose(self, tensor: TensorBase) -> TensorBase | None:
        """Return `tensor` wrapped at this level as what does not vary there; None if the level does
        without.
        """
        return None

    def enclosed(self, tensor: TensorBase) -> TensorBase:
        """Return `tensor` as a tensor of this level where the level wraps what it captures."""
        made = self.enclose(tensor)
        return tensor if made is None else made

    def interpret(self, op: OpOverload, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """Return the results of ``op(*args, **kwargs)``, whose deepest wrapped arguments are of
        this level.

        The dispatch state is that of the physical calls.
        """
        raise NotImplementedError

    def call_function(self, cls: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """Return what ``cls.apply(*args, **kwargs)`` gives for a `Function`, as `interpret` does
        for an operator.
        """
        raise NotImplementedError


active_levels: Final = cast("Callable[[], tuple[Level, ...]]", _active.active_levels)
"""Return the levels that this task is in, outermost first."""


leaves_levels: Final = restoring(LEVELS, STATE, EXTRAS)
"""Decorates a function that enters a level: where it fails, that is left."""


@cache
def _restoring(outside: int) -> Transition:
    """Return the change to the keys of a state, but for those of modes, which may have been left or
    entered since.
    """
    before = dispatch_state(outside)

    def change(now: DispatchState) -> DispatchState:
        return now._replace(
            included=(before.included - PYTHON_KEYS) | (now.included & PYTHON_KEYS),
            excluded=(before.excluded - PYTHON_KEYS) | (now.excluded & PYTHON_KEYS),
        )

    return Transition(change)
