"""Blocks in which context variables have other values, however such a block is left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, ClassVar

import pytest

from dovetail_kernel import DecoratingGuard, Guard, is_grad_enabled, restoring, set_grad_enabled
from dovetail_kernel.keys import SettingGuard

NUMBER: ContextVar[int] = ContextVar("number", default=0)
WORD: ContextVar[str] = ContextVar("word", default="")


class Both(Guard):
    """Sets a number and a word."""

    variables: ClassVar[tuple[ContextVar[Any], ...]] = (NUMBER, WORD)

    def __init__(self, number: int = 1) -> None:
        self.number = number

    def change(self) -> str:
        NUMBER.set(self.number)
        WORD.set(str(self.number))
        return "bound"


class Interrupted(Both):
    """Is interrupted when one variable is set."""

    def change(self) -> str:
        NUMBER.set(self.number)
        raise KeyboardInterrupt


class Decorating(DecoratingGuard, Both):
    """Decorates functions as well."""


class Setting(SettingGuard):
    """Sets a number at once."""

    variables: ClassVar[tuple[ContextVar[Any], ...]] = (NUMBER,)

    def change(self) -> None:
        NUMBER.set(NUMBER.get() + 1)


@pytest.fixture(autouse=True)
def unset() -> Iterator[None]:
    """Leave both variables as they were."""
    yield
    found = NUMBER.get(), WORD.get()
    NUMBER.set(0)
    WORD.set("")
    assert found == (0, "")


def test_a_guard_sets_its_variables_in_the_block() -> None:
    guard = Both()
    with guard as bound:
        assert (bound, NUMBER.get(), WORD.get()) == ("bound", 1, "1")
        with Both(2), guard:
            assert NUMBER.get() == 1
            NUMBER.set(9)
        assert NUMBER.get() == 1
    with pytest.raises(ValueError), guard:
        raise ValueError
    assert (NUMBER.get(), WORD.get()) == (0, "")


def test_a_guard_has_to_say_what_it_changes() -> None:
    with pytest.raises(NotImplementedError), Guard():
        pass


def test_a_guard_without_variables_of_its_own_restores_the_dispatch_state() -> None:
    class NoGrad(Guard):
        def change(self) -> None:
            set_grad_enabled(False)

    with NoGrad():
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_a_block_that_is_interrupted_while_it_is_entered_is_not_entered() -> None:
    guard = Interrupted()
    with pytest.raises(KeyboardInterrupt), guard:
        raise AssertionError("not reached")
    assert (NUMBER.get(), guard._saved) == (0, None)


@pytest.mark.parametrize("kind", [Both, Setting])
def test_restoring_is_done_again_if_it_is_interrupted(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored: list[Any] = []

    def restore(self: Any, saved: Any) -> None:
        restored.append(saved)
        if len(restored) == 1:
            raise KeyboardInterrupt
        Guard.restore(self, saved)

    monkeypatch.setattr(kind, "restore", restore, raising=False)
    with pytest.raises(KeyboardInterrupt), kind():
        pass
    assert restored[0] == restored[1] and len(restored) == 2
    assert (NUMBER.get(), WORD.get()) == (0, "")


def test_a_function_is_called_within_a_guard() -> None:
    guard = Both(3)

    def called(first: int, *, second: int) -> tuple[int, int, int]:
        return first, second, NUMBER.get()

    assert guard.around(called, 1, second=2) == (1, 2, 3)
    with pytest.raises(ZeroDivisionError):
        guard.around(lambda: 1 // 0)
    assert (NUMBER.get(), guard._saved) == (0, None)


def test_an_interrupt_between_the_block_and_its_end_is_survived() -> None:
    class Late(Both):
        late = True

        def __exit__(self, *error: object) -> None:
            if self.late:
                self.late = False
                raise KeyboardInterrupt
            super().__exit__(*error)

    guard = Late()
    with pytest.raises(KeyboardInterrupt):
        guard.around(lambda: None)
    assert (NUMBER.get(), guard._saved) == (0, None)


def test_a_decorated_function_runs_within_the_guard_each_time() -> None:
    @Decorating(4)
    def read(times: int) -> int:
        """Read the number."""
        return NUMBER.get() if times == 0 else read(times - 1)

    assert (read(0), read(3), NUMBER.get()) == (4, 4, 0)
    assert (read.__name__, read.__doc__) == ("read", "Read the number.")
    with Decorating(5):
        assert NUMBER.get() == 5


def test_a_setting_is_made_at_once_and_a_block_takes_it_back() -> None:
    setting = Setting()
    assert NUMBER.get() == 1
    for _ in range(2):
        with setting as bound:
            assert bound is None
            NUMBER.set(7)
        assert NUMBER.get() == 0


def test_an_error_that_leaves_a_function_puts_back_what_it_set() -> None:
    @restoring(NUMBER)
    def work(fail: bool) -> str:
        """Work."""
        NUMBER.set(5)
        if fail:
            raise KeyboardInterrupt
        return "done"

    with pytest.raises(KeyboardInterrupt):
        work(True)
    assert NUMBER.get() == 0
    assert (work(False), NUMBER.get(), work.__doc__) == ("done", 5, "Work.")
    NUMBER.set(0)


def test_restoring_is_about_the_dispatch_state_unless_told() -> None:
    @restoring()
    def work() -> None:
        set_grad_enabled(False)
        raise ValueError

    with pytest.raises(ValueError):
        work()
    assert is_grad_enabled()


def test_a_block_may_be_left_in_another_task_than_it_was_entered_in() -> None:
    async def steps() -> Any:
        with Both():
            yield NUMBER.get()

    async def run() -> int:
        generator = steps()
        assert await generator.__anext__() == 1
        await asyncio.create_task(generator.aclose())
        return NUMBER.get()

    assert asyncio.run(run()) == 1  # the other task restored its own
