"""Modes belong to the task that entered them: threads, asyncio tasks, generators; and they cost
nothing elsewhere.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest

import dovetail
from dovetail.overrides import TorchFunctionMode
from dovetail.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    _pop_mode_temporarily,
    is_in_torch_dispatch_mode,
)


class Dispatch(TorchDispatchMode):
    def __init__(self) -> None:
        self.log: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.log.append(str(func))
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    def __init__(self) -> None:
        self.log: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.log.append(func.__name__)
        return func(*args, **(kwargs or {}))


KINDS = [(Dispatch, "aten.add.Tensor"), (Functions, "add")]


@pytest.mark.parametrize(("kind", "seen"), KINDS)
def test_another_thread_has_no_modes(kind: Any, seen: str) -> None:
    x = dovetail.ones(2)
    with kind() as mode:
        thread = threading.Thread(target=lambda: x + x)
        thread.start()
        thread.join()
        assert mode.log == []
        x + x
    assert mode.log == [seen]


@pytest.mark.parametrize(("kind", "seen"), KINDS)
def test_many_threads_see_their_own_calls_only(kind: Any, seen: str) -> None:
    logs: list[list[str]] = []
    failures: list[BaseException] = []
    barrier = threading.Barrier(8)

    def work(count: int) -> None:
        try:
            x = dovetail.ones(2)
            barrier.wait()
            for _ in range(20):
                with kind() as mode:
                    for _ in range(count):
                        x + x
                logs.append(mode.log)
                assert mode.log == [seen] * count
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(count,)) for count in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(logs) == 160


@pytest.mark.parametrize(("kind", "seen"), KINDS)
def test_tasks_enter_and_leave_modes_without_each_others_notice(kind: Any, seen: str) -> None:
    x = dovetail.ones(2)

    async def work(count: int) -> list[str]:
        with kind() as mode:
            for _ in range(count):
                await asyncio.sleep(0)
                x + x
        x + x
        mode_log: list[str] = mode.log
        return mode_log

    async def main() -> list[list[str]]:
        return await asyncio.gather(*[work(count) for count in range(1, 6)])

    assert asyncio.run(main()) == [[seen] * count for count in range(1, 6)]


@pytest.mark.parametrize(("kind", "seen"), KINDS)
def test_a_task_begins_with_the_modes_of_its_maker(kind: Any, seen: str) -> None:
    x = dovetail.ones(2)

    async def add() -> None:
        x + x

    async def main() -> list[str]:
        with kind() as mode:
            task = asyncio.create_task(add())
        await task
        log: list[str] = mode.log
        return log

    assert asyncio.run(main()) == [seen]


@pytest.mark.parametrize(("kind", "seen"), KINDS)
def test_a_generator_may_be_left_in_another_context_than_it_was_entered_in(
    kind: Any, seen: str
) -> None:
    x = dovetail.ones(2)
    mode = kind()

    def numbers() -> Iterator[int]:
        with mode:
            x + x
            yield 1

    generator = numbers()
    context = copy_context()
    assert context.run(next, generator) == 1
    x + x
    assert list(generator) == []
    x + x
    assert mode.log == [seen]
    assert type(x.shape) is dovetail.Size


@pytest.mark.parametrize(("kind", "seen"), KINDS)
def test_a_mode_is_left_when_what_is_inside_fails(kind: Any, seen: str) -> None:
    x = dovetail.ones(2)
    with pytest.raises(ValueError, match="on purpose"), kind() as mode:
        raise ValueError("on purpose")
    x + x
    assert mode.log == []


def test_a_handler_that_fails_leaves_its_mode_active() -> None:
    class Fails(Dispatch):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if not self.log:
                self.log.append("failed")
                raise ValueError("on purpose")
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = dovetail.ones(2)
    with Fails() as mode:
        with pytest.raises(ValueError, match="on purpose"):
            x + x
        x + x
    assert mode.log == ["failed", "aten.add.Tensor"]


def test_modes_may_be_entered_again_while_they_are_active() -> None:
    x = dovetail.ones(2)
    mode = Dispatch()
    with mode:
        with mode:
            x + x
        x + x
    x + x
    assert mode.log == ["aten.add.Tensor"] * 3


def test_modes_can_be_taken_away_for_a_while() -> None:
    x = dovetail.ones(2)
    with Dispatch() as outer, Dispatch() as inner:
        assert _get_current_dispatch_mode() is inner
        with _pop_mode_temporarily() as popped:
            assert popped is inner
            x + x
        with _disable_current_modes() as disabled:
            assert disabled == [outer, inner]
            assert not is_in_torch_dispatch_mode()
            x + x
        assert _get_current_dispatch_mode_stack() == [outer, inner]
    assert (outer.log, inner.log) == (["aten.add.Tensor"], [])
    assert _get_current_dispatch_mode() is None


def test_the_raw_stacks_push_and_pop() -> None:
    C = dovetail._C
    x = dovetail.ones(2)
    mode = Dispatch()
    C._push_on_torch_dispatch_stack(mode)
    try:
        x + x
        assert C._len_torch_dispatch_stack() == 1
        assert C._get_dispatch_stack_at(0) is mode
        assert C._dispatch_tls_is_dispatch_key_included("Python")
    finally:
        assert C._pop_torch_dispatch_stack() is mode
    assert not C._dispatch_tls_is_dispatch_key_included("Python")
    with pytest.raises(
        RuntimeError, match=r"no TorchDispatchMode is active, so none can be popped"
    ):
        C._pop_torch_dispatch_stack()


def test_a_mode_that_one_task_pops_leaves_functions_asking_for_that_of_another() -> None:
    C = dovetail._C
    x = dovetail.ones(1)
    first, second = Functions(), Functions()
    here, there = copy_context(), copy_context()
    here.run(C._push_on_torch_function_stack, first)
    there.run(C._push_on_torch_function_stack, second)
    try:
        assert here.run(C._pop_torch_function_stack) is first
        there.run(x.item)
    finally:
        assert there.run(C._pop_torch_function_stack) is second
    x.item()
    assert (first.log, second.log) == ([], ["item"])


def test_a_handler_runs_without_the_keys_above_python() -> None:
    seen = []

    class Asks(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(dovetail._C._dispatch_tls_is_dispatch_key_excluded("AutogradCPU"))
            result = func(*args, **(kwargs or {}))
            seen.append(result.requires_grad)
            return result

    x = dovetail.ones(2, requires_grad=True)
    with Asks():
        y = x + x
    assert seen == [True, False]
    assert y.requires_grad


def test_modes_make_no_new_states_however_many_there_are() -> None:
    x = dovetail.ones(2)
    with Dispatch():
        x + x
        first = dovetail._C._dispatch_tls_local_include_set()
    from dovetail_kernel import state

    for _ in range(3):
        with Dispatch():
            x + x
            assert dovetail._C._dispatch_tls_local_include_set() == first
            bits = state()
    with Dispatch():
        assert state() == bits
    assert state() == 0


def test_a_mode_without_a_handler_says_what_to_write() -> None:
    class Empty(TorchDispatchMode):
        pass

    class EmptyFunctions(TorchFunctionMode):
        pass

    with (
        pytest.raises(
            NotImplementedError, match=r"Empty must override __torch_dispatch__\(func, types"
        ),
        Empty(),
    ):
        dovetail.ones(1)
    with (
        pytest.raises(NotImplementedError, match="EmptyFunctions must override __torch_function__"),
        EmptyFunctions(),
    ):
        dovetail.ones(1)


def test_when_all_decline_the_error_names_the_operator_and_who_was_asked() -> None:
    class Declines(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    with (
        pytest.raises(
            TypeError,
            match=r"(?s)Multiple dispatch failed for 'dovetail.ops.aten.ones.default'; all "
            r"__torch_dispatch__ handlers "
            r"returned NotImplemented:\n\n  - mode object <.*Declines.*>\n\nTreat it in one of "
            r"them",
        ),
        Declines(),
    ):
        dovetail.ones(1)


def test_plain_tensors_take_the_same_routes_after_modes_as_before() -> None:
    x = dovetail.ones(2)
    x + x
    routes = dict(dovetail.ops.aten.add.Tensor._operator.routes)
    with Functions():
        x + x
    x + x
    after = dovetail.ops.aten.add.Tensor._operator.routes
    assert {key: after[key] for key in routes} == routes
    assert set(after) == set(routes)


def test_attributes_of_plain_tensors_are_their_own_again_when_called_after_a_function_mode() -> (
    None
):
    """In a process of its own: one class that overrides functions makes them ask for good. Compiled
    code reads neither of the two.
    """
    program = """
import dovetail
from dovetail.overrides import TorchFunctionMode
leaf, item = dovetail.Tensor.is_leaf, dovetail.Tensor.item
codes = leaf.fget.__code__, item.__code__
with TorchFunctionMode():
    assert dovetail.Tensor.is_leaf is leaf
    assert dovetail.Tensor.item is item
    assert leaf.fget.__code__ is not codes[0]
    assert item.__code__ is not codes[1]
x = dovetail.ones(1)
assert x.is_leaf
assert leaf.fget.__code__ is codes[0]
assert item.__code__ is not codes[1]
assert x.item() == 1.0
assert item.__code__ is codes[1]
"""
    subprocess.run([sys.executable, "-c", program], check=True)
