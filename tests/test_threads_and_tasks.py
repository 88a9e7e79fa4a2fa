"""Registration and dispatch from many threads with faults, and modes that belong to one thread or
asyncio task.
"""

from __future__ import annotations

import asyncio
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from threading import Barrier, Thread
from typing import Any

import pytest
from devices import cpu_only_where, own_key

import dovetail
from dovetail import _C, Tensor
from dovetail.library import Library, _scoped_library, check_pending, custom_op

THREADS = 8
ROUNDS = 40

EXPECTED = (
    "is not defined any more",
    "Could not find schema",
    "has no attribute",
    "has no overload",
    "Could not run",
    "Tried to register an operator",
    "multiple backend fallbacks",
    "Library object has been destroyed",
    "does not exist",
    "no autograd formula was registered",
)
"""What a thread may be told whose operator another one has just taken away."""


class FaultError(Exception):
    """Raised by kernels on purpose."""


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kernels are overridden all the time
        yield
    sys.setswitchinterval(before)


def run(jobs: list[Callable[[], None]]) -> list[BaseException]:
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


# -- a stress test with faults ---------------------------------------------------------------------


def annotated(x: Tensor) -> Tensor:
    return x.clone()


class Chaos:
    """One thread's share: random registrations, calls, faults and destructions in a namespace that
    all share.
    """

    def __init__(self, seed: int, x: Tensor) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.x = x
        self.libraries: list[Library] = []
        self.calls = 0

    def __call__(self) -> None:
        steps = [
            self.define,
            self.implement,
            self.call,
            self.call,
            self.fault,
            self.destroy,
            self.own,
            self.fall_back,
        ]
        for _ in range(ROUNDS):
            try:
                self.random.choice(steps)()
            except (RuntimeError, AttributeError, NotImplementedError, AssertionError) as error:
                assert any(words in str(error) for words in EXPECTED), repr(error)
        for library in self.libraries:
            library._destroy()

    @property
    def name(self) -> str:
        return self.random.choice("abc")

    def library(self, kind: str, ns: str = "chaos") -> Library:
        self.libraries.append(Library(ns, kind))
        return self.libraries[-1]

    def define(self) -> None:
        override = self.random.random() < 0.3
        self.library("FRAGMENT").define(f"{self.name}(Tensor x) -> Tensor", override=override)

    def implement(self) -> None:
        def kernel(x: Tensor) -> Tensor:
            if self.random.random() < 0.2:
                raise FaultError
            return x

        self.library("IMPL").impl(
            self.name, kernel, self.random.choice([own_key(), "CompositeExplicitAutograd"])
        )

    def call(self) -> None:
        try:
            assert getattr(dovetail.ops.chaos, self.name)(self.x) is self.x
            self.calls += 1
        except FaultError:
            pass

    def fault(self) -> None:
        def kernel(x: Tensor) -> Tensor:
            raise FaultError

        with pytest.raises(FaultError), _scoped_library(f"chaos{self.seed}", "DEF") as library:
            library.define("f(Tensor x) -> Tensor")
            library.impl("f", kernel, own_key())
            getattr(dovetail.ops, f"chaos{self.seed}").f(self.x)

    def destroy(self) -> None:
        if self.libraries:
            self.libraries.pop(self.random.randrange(len(self.libraries)))._destroy()

    def own(self) -> None:
        op = custom_op(f"chaos{self.seed}::own", annotated, mutates_args=())
        op.register_autograd(lambda ctx, grad: grad * 3)
        x = dovetail.ones(2, requires_grad=True)
        op(x).sum().backward()
        assert x.grad.tolist() == [3, 3]
        op._lib._destroy()

    def fall_back(self) -> None:
        self.library("IMPL", "_").fallback(lambda op, *args: args[0], "TESTING_ONLY_GenericMode")


def test_the_table_is_unharmed_by_eight_threads_that_register_fail_and_destroy() -> None:
    x = dovetail.ones(3)
    names, pending = _C._dispatch_get_all_op_names(), check_pending()
    with _scoped_library("chaos_still", "DEF") as still:
        still.define("f(Tensor x) -> int")
        still.impl("f", lambda x: 7, own_key())
        bystander = dovetail.ops.chaos_still.f.default
        jobs = [Chaos(seed, x) for seed in range(THREADS)]

        def stand_by() -> None:
            for _ in range(50 * ROUNDS):
                assert bystander(x) == 7
                assert (x + x).tolist() == [2, 2, 2]

        assert run([*jobs, stand_by]) == []
    assert sum(job.calls for job in jobs) > 0
    assert (_C._dispatch_get_all_op_names(), check_pending()) == (names, pending)
    assert not _C._dispatch_has_backend_fallback("TESTING_ONLY_GenericMode")
    _C._dispatch_check_all_invariants()
    with pytest.raises(AttributeError, match="has no attribute 'a'"):
        dovetail.ops.chaos.a  # noqa: B018
    with _scoped_library("chaos", "DEF") as library:
        library.define("a(Tensor x) -> int")
        library.impl("a", lambda x: 1, own_key())
        assert dovetail.ops.chaos.a(x) == 1


def test_a_cover_taken_back_while_it_is_called_leaves_what_was_beneath() -> None:
    x = dovetail.ones(3)
    with _scoped_library("chaos", "DEF") as beneath:
        beneath.define("f(Tensor x) -> int")
        beneath.impl("f", lambda x: 1, own_key())

        def cover() -> None:
            for _ in range(ROUNDS):
                library = Library("chaos", "FRAGMENT")
                library.define("f(Tensor x) -> int", override=True)
                library.impl("f", lambda x: 2, own_key())
                library._destroy()

        def call() -> None:
            for _ in range(5 * ROUNDS):
                try:
                    assert dovetail.ops.chaos.f(x) in (1, 2)
                except (NotImplementedError, RuntimeError) as error:
                    assert "Could not run" in str(error) or "is not defined any more" in str(
                        error
                    ), error

        assert run([cover] * 3 + [call] * 5) == []
        assert dovetail.ops.chaos.f(x) == 1
        assert len(dovetail.ops.chaos.f.default._operator.covered) == 0


# -- modes -----------------------------------------------------------------------------------------

MODES: dict[
    str, tuple[Callable[[], AbstractContextManager[Any]], Callable[[Tensor], Any], Any, Any]
] = {
    "no_grad": (dovetail.no_grad, lambda x: (x * 2).requires_grad, True, False),
    "inference_mode": (dovetail.inference_mode, lambda x: (x * 2).is_inference(), False, True),
    "autocast": (
        lambda: dovetail.autocast("cpu"),
        lambda x: (x @ x).dtype,
        dovetail.float32,
        dovetail.bfloat16,
    ),
    "an excluded key": (
        lambda: _C._ExcludeDispatchKeyGuard(dovetail.DispatchKey.AutogradCPU),
        lambda x: (x * 2).requires_grad,
        True,
        False,
    ),
    "a default device": (
        lambda: dovetail.device("meta"),
        lambda x: dovetail.ones(1).device.type,
        "cpu",
        "meta",
    ),
}

ON_ANY_DEVICE = cpu_only_where(
    MODES,
    lambda mode: mode not in ("no_grad", "inference_mode"),
    "the mode is asked for on the cpu",
)


@pytest.mark.parametrize("mode", ON_ANY_DEVICE)
def test_a_mode_entered_in_one_thread_is_not_in_force_in_others(mode: str) -> None:
    enter, look, outside, inside = MODES[mode]
    seen: dict[str, set[Any]] = {"in": set(), "out": set()}
    x = dovetail.ones(2, 2, requires_grad=True)

    def within() -> None:
        for _ in range(ROUNDS):
            with enter():
                seen["in"].add(look(x))

    def without() -> None:
        for _ in range(ROUNDS):
            seen["out"].add(look(x))

    assert run([within, without] * (THREADS // 2)) == []
    assert seen == {"in": {inside}, "out": {outside}}


@pytest.mark.parametrize("mode", ON_ANY_DEVICE)
def test_a_mode_entered_in_one_task_is_not_in_force_in_others(mode: str) -> None:
    enter, look, outside, inside = MODES[mode]
    x = dovetail.ones(2, 2, requires_grad=True)

    async def within() -> list[Any]:
        seen = []
        with enter():
            for _ in range(5):
                await asyncio.sleep(0)
                seen.append(look(x))
        return seen

    async def without() -> list[Any]:
        seen = []
        for _ in range(5):
            await asyncio.sleep(0)
            seen.append(look(x))
        return seen

    async def both() -> list[list[Any]]:
        return await asyncio.gather(within(), without(), within(), without())

    assert asyncio.run(both()) == [[inside] * 5, [outside] * 5] * 2


def test_a_task_starts_with_the_modes_of_the_task_that_made_it() -> None:
    x = dovetail.ones(2, requires_grad=True)

    async def inherited() -> bool:
        return bool((x * 2).requires_grad)

    async def make() -> bool:
        with dovetail.no_grad():
            task = asyncio.create_task(inherited())
        return await task

    assert asyncio.run(make()) is False


def test_a_generator_that_is_left_early_restores_the_mode_of_its_user() -> None:
    def numbers() -> Iterator[int]:
        with dovetail.no_grad():
            yield 1
            yield 2

    generator = numbers()
    next(generator)
    generator.close()
    assert dovetail.is_grad_enabled()
