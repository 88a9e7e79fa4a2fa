"""Futures, beside PyTorch's."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest
import torch

import dovetail

BOTH = pytest.mark.parametrize("t", [torch, dovetail], ids=["torch", "dovetail"])


@BOTH
def test_a_value_is_set_once_and_waited_for_by_any_thread(t: Any) -> None:
    future = t.futures.Future()
    following = future.then(lambda done: done.value() + 1)
    assert not future.done()
    seen: list[int] = []
    waiting = Thread(target=lambda: seen.append(following.wait()))
    waiting.start()
    future.set_result(3)
    waiting.join(30)
    assert (future.done(), future.wait(), future.value(), seen) == (True, 3, 3, [4])
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(4)
    assert future.wait() == 3


@BOTH
def test_an_error_is_raised_by_what_waits(t: Any) -> None:
    future = t.futures.Future()
    with pytest.raises(AssertionError, match="not an Exception"):
        future.set_exception(3)
    future.set_exception(ValueError("lost"))
    for ask in (future.wait, future.value, lambda: t.futures.wait_all([future])):
        with pytest.raises(ValueError, match="lost"):
            ask()
    with pytest.raises(RuntimeError, match=r"when running the callback.*ValueError"):
        future.then(lambda done: done.value()).wait()


@BOTH
def test_callbacks_run_when_the_value_is_there(t: Any) -> None:
    seen: list[Any] = []
    future = t.futures.Future()
    future.add_done_callback(lambda done: seen.append(done.value()))
    assert seen == []
    future.set_result("now")
    future.add_done_callback(lambda done: seen.append(done.done()))
    assert seen == ["now", True]


@BOTH
def test_several_are_waited_for_together(t: Any) -> None:
    futures = [t.futures.Future() for _ in range(3)]
    together = t.futures.collect_all(futures)
    for place, each in enumerate(futures):
        assert not together.done()
        each.set_result(place)
    assert [each.value() for each in together.wait()] == [0, 1, 2]
    assert t.futures.wait_all(futures) == [0, 1, 2]
    assert t.futures.collect_all([]).wait() == []


@BOTH
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_a_fork_gives_a_future(t: Any) -> None:
    future = t.jit.fork(lambda x: x * 2, t.ones(2))
    assert isinstance(future, t.Future)
    assert t.jit.wait(future).tolist() == future.wait().tolist() == [2.0, 2.0]


def test_a_value_that_is_not_there_is_asked_for_in_vain() -> None:
    with pytest.raises(RuntimeError, match="is not there yet"):
        dovetail.futures.Future().value()


def test_an_error_of_a_callback_is_printed(capsys: Any) -> None:
    future: Any = dovetail.futures.Future()
    future.add_done_callback(lambda done: 1 // 0)
    future.set_result(1)
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert future.wait() == 1
