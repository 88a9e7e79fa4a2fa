"""The task-local dispatch state: one int in a ContextVar, read by every call.

The int is 0 by default. `NO_GRAD` is a bit of its own; every other combination of included and
excluded keys, inference mode and active Python modes (a `DispatchState`) is interned to a one-hot
bit, so that or-ing the int into a call's key can never collide. Guards restore with
``set(previous)``, not ``reset(token)``, which fails when a guard is entered in one context and left
in another (generators, async functions). New threads start from the default state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from threading import Lock
from types import TracebackType
from typing import Any, Final, NamedTuple

from ..fork_locks import renewed_after_fork
from ..signature import NO_GRAD
from ..types.bits import allocate_bit
from .dispatch_key import DispatchKey
from .dispatch_keyset import DispatchKeySet

_state: ContextVar[int] = ContextVar("dovetail_dispatch_state", default=0)

STATE: Final = _state
"""The context variable, for compiled code."""

state: Final[Callable[[], int]] = _state.get
"""Return the state's int."""

set_state: Final[Callable[[int], Any]] = _state.set


def _keys(*prefixes: str) -> DispatchKeySet:
    """Return the set of all runtime keys whose functionality begins with one of `prefixes`."""
    return DispatchKeySet.of(
        *(key for key in DispatchKey if key.is_runtime and key.functionality.startswith(prefixes))
    )


DEFAULT_INCLUDED: Final = DispatchKeySet.of(DispatchKey.BackendSelect, DispatchKey.ADInplaceOrView)
DEFAULT_EXCLUDED: Final = _keys("Autocast")
AUTOGRAD_KEYS: Final = _keys("AutogradFunctionality", "AutogradOther", "AutogradNestedTensor")


class DispatchState(NamedTuple):
    """Decoded dispatch state, except for grad mode.

    Attributes
    ----------
    included, excluded
        Keys added to, then removed from, the keys of a call's arguments.
    inference
        Inside inference mode: new tensors are inference tensors.
    function_modes
        Whether a `TorchFunctionMode` is active. (If a `TorchDispatchMode` is active, `included` has
        the key Python.)
    torch_function
        Whether the `__torch_function__` of Tensor subclasses is enabled.
    traced
        Whether the trace of this task records every call.
    transformed
        Whether a function transform is active: new memory is marked as allocated there, and other
        memory must not be written.
    """

    included: DispatchKeySet = DEFAULT_INCLUDED
    excluded: DispatchKeySet = DEFAULT_EXCLUDED
    inference: bool = False
    function_modes: bool = False
    torch_function: bool = True
    traced: bool = False
    transformed: bool = False


_DEFAULT: Final = DispatchState()
KNOWN_STATES: Final[dict[int, DispatchState]] = {0: _DEFAULT}
"""The states by their ints without the bit of grad mode; compiled code reads them too."""

_bits: dict[DispatchState, int] = {_DEFAULT: 0}
_lock = renewed_after_fork(Lock())


def intern_state(value: DispatchState) -> int:
    """Return the int of `value`, with grad mode on."""
    bit = _bits.get(value)
    if bit is None:
        with _lock:
            bit = _bits.get(value)
            if bit is None:
                bit = allocate_bit()
                KNOWN_STATES[bit] = value
                _bits[value] = bit
    return bit


def dispatch_state(value: int | None = None) -> DispatchState:
    """Return what `value` (default: the current state's int) stands for."""
    return KNOWN_STATES[(_state.get() if value is None else value) & ~NO_GRAD]


known_state: Final = KNOWN_STATES.__getitem__
"""Return what an int of the state stands for, whose bit of grad mode is not set."""


def is_grad_enabled() -> bool:
    """Return whether grad mode is on in the current thread or asyncio task."""
    return not _state.get() & NO_GRAD


def set_grad_enabled(mode: bool) -> None:
    """Turn grad mode on or off in the current thread or asyncio task."""
    _state.set(_state.get() & ~NO_GRAD if mode else _state.get() | NO_GRAD)


class Transition(dict[int, int]):
    """A change of state as a function from int to int, computed once for every state it is applied
    to: the items are what it is known to do. Applying it is a lookup, without a Python call.

    Parameters
    ----------
    change
        Maps the `DispatchState` in force to the one wanted.
    no_grad
        True and False set grad mode as well, None leaves it.
    """

    __slots__ = ("_change", "_no_grad")

    def __init__(
        self, change: Callable[[DispatchState], DispatchState], no_grad: bool | None = None
    ) -> None:
        self._change = change
        self._no_grad = no_grad

    __call__ = dict.__getitem__
    # Whatever it is known to do, it is one change.
    __eq__, __ne__, __repr__ = object.__eq__, object.__ne__, object.__repr__
    __hash__ = object.__hash__  # type: ignore[assignment]  # a dict has none

    def __bool__(self) -> bool:
        return True

    def __missing__(self, before: int) -> int:
        after = intern_state(self._change(dispatch_state(before)))
        no_grad = before & NO_GRAD if self._no_grad is None else NO_GRAD if self._no_grad else 0
        after = self[before] = after | no_grad
        return after


Saved = tuple[Any, Any] | None
"""What a guard has to restore: a value, and what the same guard has to restore after that, because
it was entered within itself.

Signals come after calls, so that between taking such a pair apart and one call that sets a context
variable there is no instant for an interrupt: it finds the block entered, or left.
"""


class StateGuard:
    """Context manager that applies a `Transition` to this task's state and restores what it found,
    whatever happens.
    """

    __slots__ = ("_previous", "_transition")

    def __init__(self, transition: Transition) -> None:
        self._transition = transition
        self._previous: Saved = None

    def __enter__(self) -> None:
        before = _state.get()
        after = self._transition(before)
        self._previous = before, self._previous
        try:
            _state.set(after)
        except BaseException:  # an interrupt: the block is not entered
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        before, self._previous = self._previous  # type: ignore[misc]
        _state.set(before)


def _below_autograd(now: DispatchState) -> DispatchState:
    return now._replace(excluded=now.excluded | AUTOGRAD_KEYS)


below_autograd: Final = Transition(_below_autograd)
"""Leave out all Autograd keys; grad mode is untouched."""


def _below_ad_inplace_or_view(now: DispatchState) -> DispatchState:
    left_out = AUTOGRAD_KEYS | DispatchKeySet.of(DispatchKey.ADInplaceOrView)
    return now._replace(excluded=now.excluded | left_out)


below_ad_inplace_or_view: Final = Transition(_below_ad_inplace_or_view)
"""Leave out all Autograd keys and ADInplaceOrView; grad mode is untouched."""

grad_mode_off: Final = Transition(lambda s: s, no_grad=True)
"""Turn grad mode off."""

grad_mode_on: Final = Transition(lambda s: s, no_grad=False)
"""Turn grad mode on."""

inside_recorded: Final = Transition(_below_autograd, no_grad=True)
"""Leave out all Autograd keys, with grad mode off: a kernel of a call that is recorded runs so."""

inference_mode_on: Final = Transition(
    lambda s: s._replace(
        included=s.included - DispatchKeySet.of(DispatchKey.ADInplaceOrView),
        excluded=s.excluded | AUTOGRAD_KEYS,
        inference=True,
    ),
    no_grad=True,
)


def _without_inference(now: DispatchState) -> DispatchState:
    return now._replace(
        included=now.included | DispatchKeySet.of(DispatchKey.ADInplaceOrView),
        # Of its own keys alone: bits of backends that only Autograd's had would stay.
        excluded=DispatchKeySet.of(*(now.excluded - AUTOGRAD_KEYS)),
        inference=False,
    )


inference_mode_off: Final = Transition(_without_inference, no_grad=False)

outside_inference_mode: Final = Transition(lambda s: _without_inference(s) if s.inference else s)
"""Leave inference mode, if it is on; grad mode stays as it is, which is off there."""

tracing_on: Final = Transition(lambda s: s._replace(traced=True))
"""Record every call; what else is in force stays so."""

tracing_off: Final = Transition(lambda s: s._replace(traced=False))
"""Record no calls."""

inside_transform: Final = Transition(lambda s: s._replace(transformed=True), no_grad=False)
"""Mark new memory and guard what there was before, with grad mode on."""


torch_function_off: Final = Transition(lambda s: s._replace(torch_function=False))
"""Ignore the `__torch_function__` of Tensor subclasses; function modes stay in force."""

functions_as_they_are: Final = Transition(
    lambda s: s._replace(torch_function=False, function_modes=False)
)
"""Neither subclasses nor modes override functions."""


class DisableTorchFunctionSubclass(StateGuard):
    """Guard: the `__torch_function__` of Tensor subclasses is ignored; modes still apply."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(torch_function_off)


class DisableTorchFunction(StateGuard):
    """Guard: the `__torch_function__` of Tensor subclasses and all `TorchFunctionMode`s are
    ignored.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(functions_as_they_are)


class AutoDispatchBelowAutograd(StateGuard):
    """Guard: calls go below every Autograd key (grad mode untouched)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(below_autograd)


class AutoDispatchBelowADInplaceOrView(StateGuard):
    """Guard: calls go below Autograd and ADInplaceOrView."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(below_ad_inplace_or_view)


class ExcludeDispatchKeyGuard(StateGuard):
    """Guard: `keys` (a DispatchKeySet or one DispatchKey) are removed from the keys of every
    call.
    """

    __slots__ = ()

    def __init__(self, keys: DispatchKeySet | DispatchKey) -> None:
        wanted = _as_keyset(keys)
        super().__init__(Transition(lambda s: s._replace(excluded=s.excluded | wanted)))


class IncludeDispatchKeyGuard(StateGuard):
    """Guard: `keys` (a DispatchKeySet or one DispatchKey) are added to the keys of every call."""

    __slots__ = ()

    def __init__(self, keys: DispatchKeySet | DispatchKey) -> None:
        wanted = _as_keyset(keys)
        super().__init__(Transition(lambda s: s._replace(included=s.included | wanted)))


class ForceDispatchKeyGuard(StateGuard):
    """Guard: the included and excluded sets are exactly these."""

    __slots__ = ()

    def __init__(self, included: DispatchKeySet, excluded: DispatchKeySet) -> None:
        super().__init__(Transition(lambda s: s._replace(included=included, excluded=excluded)))


class PreserveDispatchKeyGuard(StateGuard):
    """Guard: all changes of the state in the block are reverted at its end."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Transition(lambda s: s))


class SetExcludeDispatchKeyGuard(StateGuard):
    """Guard: one key is excluded, or not excluded, in the block."""

    __slots__ = ()

    def __init__(self, key: DispatchKey, excluded: bool) -> None:
        only = DispatchKeySet(key)
        super().__init__(
            Transition(
                lambda s: s._replace(excluded=s.excluded | only if excluded else s.excluded - only)
            )
        )


def _as_keyset(keys: DispatchKeySet | DispatchKey) -> DispatchKeySet:
    return DispatchKeySet(keys) if isinstance(keys, DispatchKey) else keys
