"""Interrupts a program at every instant at which CPython delivers a signal, and compares the state
of the process before and after.

CPython looks for signals when a frame starts or resumes, after a call of a C function, and at a
jump backwards. A profile function is called at the first two, and what it raises comes out there,
as a KeyboardInterrupt would. (A jump backwards leaves nothing half done that a call before it does
not.)
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import cache
from types import FrameType, ModuleType
from typing import Any

from dovetail_dispatcher.interception import intercepted_functions
from dovetail_dispatcher.registration import namespace_owners
from dovetail_dispatcher.registration.supplied_kernels import SuppliedKernel
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.kernels import Kernel

LOCKS = (type(threading.Lock()), type(threading.RLock()))
HARMLESS = frozenset({"dovetail_current_sample"})


def is_ours(filename: str) -> bool:
    """Say whether code of this file may be interrupted."""
    return (
        filename.startswith("<dovetail")
        or filename == contextlib.__file__
        or (
            "dovetail" in filename and "/tests/" not in filename and "site-packages" not in filename
        )
    )


def _is_left_by_the_user(frame: FrameType) -> bool:
    """Say whether a guard of the program itself is being left.

    An interrupt between a block and the first instruction of an `__exit__` written in Python leaves
    the guard in force, whatever the library does; `__exit__` must need no other such instant.
    """
    outer = frame.f_back
    return (
        frame.f_code.co_name in ("__exit__", "leave")
        and outer is not None
        and not is_ours(outer.f_code.co_filename)
    )


def _has_quieted_numpy(function: Any) -> bool:
    """Say whether a C function is the one that puts NumPy's error state in force.

    Between its return and the try block after it lies one instant that routes leave open: closing
    it would cost every call of a kernel.
    """
    return getattr(getattr(function, "__self__", None), "name", "") == "numpy.ufunc.extobj"


def _is_called_by_c(frame: FrameType) -> bool:
    """Say whether a library of C calls the function, and not Python: what is raised there is
    printed, and lost.
    """
    told = "launched"  # by CUPTI, of every kernel
    return told in (frame.f_code.co_name, frame.f_back and frame.f_back.f_code.co_name)


class Interrupter:
    """Counts the instants of a run, and raises at one of them.

    Parameters
    ----------
    at
        The number of the instant, from 0. None: count only.
    at_once
        The guards of the program are in force from construction on, so that `__enter__` comes too
        late to undo it.
    """

    def __init__(self, at: int | None = None, *, at_once: bool = False) -> None:
        self.count = 0
        self._at_once = at_once
        self.where = ""
        self._at = at

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "c_return") or not is_ours(frame.f_code.co_filename):
            return
        if _is_called_by_c(frame) or (event == "call" and _is_left_by_the_user(frame)):
            return
        if event == "c_return" and _has_quieted_numpy(argument):
            return
        if self._at_once and frame.f_code.co_name == "__enter__":
            return
        if self.count == self._at:
            self.count += 1
            self.where = (
                f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name} {event}"
            )
            raise KeyboardInterrupt("at " + self.where)
        self.count += 1

    def run(self, program: Callable[[], Any]) -> bool:
        """Run `program`; return whether the interrupt came out of it."""
        sys.setprofile(self)
        try:
            program()
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(None)
        return False


def instants(program: Callable[[], Any]) -> int:
    """Return how many instants a run of `program` has."""
    counting = Interrupter()
    counting.run(program)
    return counting.count


def _wrong_code(each: Any) -> list[str]:
    """Return the name of an overridable function if it does not do what it should now.

    One that still asks modes after the last was left gets its code back when it is called; but all
    others are known as such, so that the next mode finds them.
    """
    if each.asks_modes:
        return []
    of_classes = intercepted_functions._has_classes
    expected = each._asking.get(False) if of_classes else each.own_code
    is_right = (
        each.function.__code__ is expected
        and each in intercepted_functions._not_asking_modes
        and not intercepted_functions._mode_holders
    )
    return [] if is_right else [each.function.__qualname__]


def snapshot() -> dict[str, Any]:
    """Return the state of this task and process, as far as an operation may leave it changed."""
    found: dict[str, Any] = {}
    for variable, value in copy_context().items():
        if variable.name in HARMLESS:
            continue
        try:
            default = Context().run(variable.get)
        except LookupError:
            default = None
        if value is not default and value != default:
            found[variable.name] = value
    found["holders"] = (
        len(intercepted_functions._mode_holders),
        [name for each in intercepted_functions.OVERRIDABLE.values() for name in _wrong_code(each)],
    )
    found["operators"] = {
        (op.name, op.overload): (
            op.schema if op.is_defined else None,
            tuple(
                (key, tuple(map(_identity, stack))) for key, stack in op.kernels.items() if stack
            ),
        )
        for op in registry.all_operators()
    }
    found["owners"] = {name: id(owner[0]) for name, owner in namespace_owners._owners.items()}
    found["collector"] = gc.get_threshold()
    found["fallbacks"] = {key: id(kernel) for key, kernel in registry.fallbacks.items()}
    return found


def _identity(kernel: Kernel) -> int:
    """Return what tells a kernel from others: its function, for one may be registered anew.

    That of a supplied kernel is not looked at. It would be made then, for every backend there is;
    and one that an interrupt finds made, or not yet, is the same kernel.
    """
    return id(kernel if isinstance(kernel, SuppliedKernel) else kernel.fn)


@cache
def _locks_of(module: ModuleType, _size: int) -> list[tuple[str, Any]]:
    return [
        (f"{module.__name__}.{name}", each)
        for name, each in vars(module).items()
        if isinstance(each, LOCKS)
    ]


def held_locks() -> list[str]:
    """Return the names of the locks of modules that are held."""
    modules = [each for name, each in sys.modules.items() if name.startswith("dovetail")]
    locks = [lock for each in modules for lock in _locks_of(each, len(vars(each)))]
    return [name for name, lock in locks if _is_held(lock)]


def _is_held(lock: Any) -> bool:
    return lock._is_owned() if hasattr(lock, "_is_owned") else lock.locked()


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Say what is different."""
    found = []
    for key in sorted(before.keys() | after.keys(), key=str):
        old, new = before.get(key), after.get(key)
        if old != new:
            if isinstance(old, dict) and isinstance(new, dict):
                found += [f"{key}: {each}" for each in differences(old, new)]
            else:
                found.append(f"{key}: {old!r} became {new!r}"[:300])
    return found


__all__ = ["Interrupter", "differences", "held_locks", "instants", "snapshot"]
