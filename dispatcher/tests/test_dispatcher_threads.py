"""Threads that register, destroy and call at the same time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import Barrier, Thread

import pytest

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher._C import _dispatch_check_all_invariants, _dispatch_dump
from dovetail_kernel import TensorBase

Tensors = Callable[..., TensorBase]


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(*jobs: Callable[[], None]) -> list[BaseException]:
    """Run all jobs at once and return what they raised."""
    errors: list[BaseException] = []
    barrier = Barrier(len(jobs))

    def work(job: Callable[[], None]) -> None:
        barrier.wait()
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=work, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_calls_always_see_a_kernel_that_was_live_while_kernels_come_and_go(
    library: Callable[..., Library], tensor: Tensors
) -> None:
    library("th", "DEF").define("f(Tensor x) -> int")
    library("th", "IMPL").impl("f", lambda x: 0, "CPU")
    overload, x = ops.th.f.default, tensor()

    def call() -> None:
        for _ in range(400):
            assert overload(x) in range(5)

    def register(number: int) -> Callable[[], None]:
        def job() -> None:
            for _ in range(60):
                lib = Library("th", "IMPL")
                lib.impl("f", lambda x: number, "CPU")
                overload(x)
                lib._destroy()

        return job

    assert run(*[call] * 4, *[register(number) for number in range(1, 5)]) == []
    assert overload(x) == 0
    _dispatch_check_all_invariants()


def test_definitions_come_and_go_under_calls(
    library: Callable[..., Library], tensor: Tensors
) -> None:
    x = tensor()
    allowed = (
        "is not defined any more",
        "Could not find schema",
        "has no attribute",
        "has no overloads any more",
        "Could not run",
        "has no",
    )

    def define() -> None:
        for _ in range(60):
            lib = Library("th2", "FRAGMENT")
            try:
                lib.define("f(Tensor x) -> int")
            except RuntimeError as error:
                assert "Tried to register an operator" in str(error)
            else:
                lib.impl("f", lambda x: 1, "CPU")
            lib._destroy()

    def call() -> None:
        for _ in range(200):
            try:
                assert ops.th2.f(x) == 1
            except (RuntimeError, AttributeError, NotImplementedError) as error:
                assert any(words in str(error) for words in allowed), error

    assert run(*[define] * 4, *[call] * 4) == []
    assert _dispatch_dump("th2::f") == ""
    _dispatch_check_all_invariants()


def test_fallbacks_come_and_go_under_calls(
    library: Callable[..., Library], tensor: Tensors
) -> None:
    library("th", "DEF").define("f(Tensor x) -> int")
    overload, x = ops.th.f.default, tensor()

    def fallback() -> None:
        for _ in range(30):
            lib = Library("_", "IMPL")
            try:
                lib.fallback(lambda op, x: 1, "CPU")
            except RuntimeError as error:
                assert "multiple backend fallbacks" in str(error)
            lib._destroy()

    def call() -> None:
        for _ in range(100):
            try:
                assert overload(x) == 1
            except NotImplementedError as error:
                assert "Could not run 'th::f'" in str(error)

    assert run(*[fallback] * 3, *[call] * 3) == []
    with pytest.raises(NotImplementedError):
        overload(x)
