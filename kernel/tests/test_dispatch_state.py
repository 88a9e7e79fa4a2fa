"""The dispatch state of a task: its ints, the guards that change it, and what they restore."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest

from dovetail_kernel import (
    AutoDispatchBelowADInplaceOrView,
    AutoDispatchBelowAutograd,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    DispatchKey,
    DispatchKeySet,
    DispatchState,
    ExcludeDispatchKeyGuard,
    ForceDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    PreserveDispatchKeyGuard,
    SetExcludeDispatchKeyGuard,
    dispatch_state,
    is_grad_enabled,
    set_grad_enabled,
    set_state,
    state,
)
from dovetail_kernel.keys import (
    AUTOGRAD_KEYS,
    StateGuard,
    Transition,
    grad_mode_off,
    grad_mode_on,
    inference_mode_off,
    inference_mode_on,
    inside_recorded,
    inside_transform,
    intern_state,
    known_state,
    outside_inference_mode,
    tracing_off,
    tracing_on,
)
from dovetail_kernel.signature import FIRST_FREE_BIT, NO_GRAD

INPLACE = DispatchKeySet(DispatchKey.ADInplaceOrView)
SPARSE = DispatchKeySet(DispatchKey.SparseCPU)


@pytest.fixture(autouse=True)
def default_state() -> Any:
    """Begin in the state in which a program begins."""
    before = state()
    set_state(0)
    yield
    set_state(before)


# -- ints ------------------------------------------------------------------------------------------


def test_a_program_begins_in_the_default_state() -> None:
    now = dispatch_state()
    assert now == dispatch_state(0) == known_state(0) == DispatchState()
    assert repr(now.included) == "DispatchKeySet(BackendSelect, ADInplaceOrView)"
    assert now.excluded.has(DispatchKey.AutocastCPU) and now.excluded.has(DispatchKey.AutocastCUDA)
    assert not now.excluded.has(DispatchKey.AutogradCPU)
    assert now[2:] == (False, False, True, False, False)


def test_equal_states_are_one_bit() -> None:
    traced = DispatchState(traced=True)
    value = intern_state(traced)
    assert value.bit_count() == 1 and value >= 1 << FIRST_FREE_BIT
    assert intern_state(DispatchState(traced=True)) == value != intern_state(DispatchState())
    assert known_state(value) == dispatch_state(value) == dispatch_state(value | NO_GRAD) == traced
    assert intern_state(DispatchState()) == 0


def test_grad_mode_is_a_bit_of_its_own() -> None:
    assert is_grad_enabled()
    set_grad_enabled(False)
    assert (is_grad_enabled(), state(), dispatch_state()) == (False, NO_GRAD, DispatchState())
    with StateGuard(tracing_on):
        assert not is_grad_enabled() and dispatch_state().traced
        set_grad_enabled(True)
        assert is_grad_enabled() and dispatch_state().traced
    assert not is_grad_enabled()
    set_grad_enabled(True)
    set_grad_enabled(True)
    assert state() == 0


def test_a_new_thread_begins_in_the_default_state() -> None:
    seen: list[int] = []
    with StateGuard(inference_mode_on):
        thread = threading.Thread(target=lambda: seen.append(state()))
        thread.start()
        thread.join()
    assert seen == [0]


def test_a_task_has_a_state_of_its_own() -> None:
    task = copy_context()
    task.run(set_grad_enabled, False)
    assert is_grad_enabled() and not task.run(is_grad_enabled)


# -- guards ----------------------------------------------------------------------------------------


GUARDS: dict[str, tuple[Callable[[], StateGuard], DispatchState]] = {
    "below autograd": (
        AutoDispatchBelowAutograd,
        DispatchState(excluded=DispatchState().excluded | AUTOGRAD_KEYS),
    ),
    "below in-place": (
        AutoDispatchBelowADInplaceOrView,
        DispatchState(excluded=DispatchState().excluded | AUTOGRAD_KEYS | INPLACE),
    ),
    "no subclasses": (DisableTorchFunctionSubclass, DispatchState(torch_function=False)),
    "excluded": (
        lambda: ExcludeDispatchKeyGuard(SPARSE),
        DispatchState(excluded=DispatchState().excluded | SPARSE),
    ),
    "excluded key": (
        lambda: ExcludeDispatchKeyGuard(DispatchKey.SparseCPU),
        DispatchState(excluded=DispatchState().excluded | SPARSE),
    ),
    "included": (
        lambda: IncludeDispatchKeyGuard(SPARSE),
        DispatchState(included=DispatchState().included | SPARSE),
    ),
    "included key": (
        lambda: IncludeDispatchKeyGuard(DispatchKey.SparseCPU),
        DispatchState(included=DispatchState().included | SPARSE),
    ),
    "exactly": (lambda: ForceDispatchKeyGuard(SPARSE, INPLACE), DispatchState(SPARSE, INPLACE)),
    "one excluded": (
        lambda: SetExcludeDispatchKeyGuard(DispatchKey.SparseCPU, True),
        DispatchState(excluded=DispatchState().excluded | SPARSE),
    ),
    "one not excluded": (
        lambda: SetExcludeDispatchKeyGuard(DispatchKey.AutocastCPU, False),
        DispatchState(excluded=DispatchState().excluded - DispatchKeySet(DispatchKey.AutocastCPU)),
    ),
    "inference": (
        lambda: StateGuard(inference_mode_on),
        DispatchState(
            included=DispatchKeySet(DispatchKey.BackendSelect),
            excluded=DispatchState().excluded | AUTOGRAD_KEYS,
            inference=True,
        ),
    ),
    "traced": (lambda: StateGuard(tracing_on), DispatchState(traced=True)),
    "transformed": (lambda: StateGuard(inside_transform), DispatchState(transformed=True)),
}


@pytest.mark.parametrize(("guard", "expected"), GUARDS.values(), ids=GUARDS)
def test_a_guard_changes_the_state_in_its_block_and_no_longer(
    guard: Callable[[], StateGuard], expected: DispatchState
) -> None:
    made = guard()
    assert state() == 0
    with made:
        assert dispatch_state() == expected
        with made:  # entered in itself
            assert dispatch_state() == expected
            set_grad_enabled(False)
        assert dispatch_state() == expected
    assert state() == 0
    with pytest.raises(KeyError), made:
        raise KeyError("left by an error")
    assert state() == 0


def test_no_function_is_overridden_where_that_is_disabled() -> None:
    with StateGuard(Transition(lambda now: now._replace(function_modes=True))):
        with DisableTorchFunctionSubclass():
            assert dispatch_state() == DispatchState(function_modes=True, torch_function=False)
        with DisableTorchFunction():
            assert dispatch_state() == DispatchState(torch_function=False)


def test_what_is_changed_in_a_preserving_block_is_reverted() -> None:
    with PreserveDispatchKeyGuard():
        assert state() == 0
        set_state(tracing_on(state()))
        set_grad_enabled(False)
    assert state() == 0


def test_tracing_is_turned_off_within_a_trace() -> None:
    with StateGuard(tracing_on), StateGuard(tracing_off):
        assert dispatch_state() == DispatchState()


# -- grad mode and inference mode ------------------------------------------------------------------


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("transition", "after"),
    [
        (grad_mode_off, False),
        (grad_mode_on, True),
        (inside_recorded, False),
        (inference_mode_on, False),
        (inference_mode_off, True),
        (inside_transform, True),
        (tracing_on, None),
        (outside_inference_mode, None),
    ],
    ids=["off", "on", "recorded", "inference", "no inference", "transform", "traced", "outside"],
)
def test_a_transition_sets_grad_mode_or_leaves_it(
    transition: Transition, before: bool, after: bool | None
) -> None:
    set_grad_enabled(before)
    with StateGuard(transition):
        assert is_grad_enabled() is (before if after is None else after)
    assert is_grad_enabled() is before
    set_grad_enabled(True)


def test_recorded_kernels_run_below_autograd() -> None:
    with StateGuard(inside_recorded):
        assert dispatch_state().excluded == DispatchState().excluded | AUTOGRAD_KEYS


def test_inference_mode_is_left_as_if_it_had_not_been_entered() -> None:
    with StateGuard(inference_mode_on):
        inside = state()
        with StateGuard(inference_mode_off):
            assert state() == 0
        with StateGuard(outside_inference_mode):
            assert dispatch_state() == DispatchState() and not is_grad_enabled()
        assert state() == inside
    with AutoDispatchBelowAutograd(), StateGuard(outside_inference_mode):
        assert dispatch_state().excluded == DispatchState().excluded | AUTOGRAD_KEYS


def test_a_transition_is_one_change_whatever_it_was_applied_to() -> None:
    made: list[DispatchState] = []

    def change(now: DispatchState) -> DispatchState:
        made.append(now)
        return now._replace(traced=True)

    transition = Transition(change)
    other = Transition(change)
    assert transition and transition != other and hash(transition) != hash(other)
    assert transition(0) == transition(0) and transition(NO_GRAD) == transition(0) | NO_GRAD
    assert made == [DispatchState(), DispatchState()]
    assert transition != other and "Transition object" in repr(transition)
