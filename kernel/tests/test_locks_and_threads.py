"""Locks in a process that forks, and plugins that several threads load."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from dovetail_kernel import fork_locks, renewed_after_fork
from dovetail_kernel.fork_locks import call_in_child, held_over_fork, outside_forks
from dovetail_kernel.plugins.entries import PluginEntry
from dovetail_kernel.plugins.loading_threads import LoadingThreads
from dovetail_kernel.plugins.plugin_records import LoadedPlugin

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)


def in_child(work: Callable[[], bool]) -> bool:
    """Return what `work` returns in the child of a fork; False if it hangs for ten seconds."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    until = time.monotonic() + 10
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@pytest.fixture
def own_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the locks of a test be forgotten after it."""
    monkeypatch.setattr(fork_locks, "_held_over", list(fork_locks._held_over))


class Held:
    """A thread that holds a lock while a test runs, or for some seconds."""

    def __init__(self, lock: Any, seconds: float = 30) -> None:
        self.lock, self.seconds = lock, seconds
        self.has_it, self.enough = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.hold)

    def hold(self) -> None:
        with self.lock:
            self.has_it.set()
            self.enough.wait(self.seconds)

    def __enter__(self) -> Held:
        self.thread.start()
        self.has_it.wait()
        return self

    def __exit__(self, *error: object) -> None:
        self.enough.set()
        self.thread.join()


@needs_fork
def test_a_child_finds_a_renewed_lock_free() -> None:
    lock = renewed_after_fork(threading.Lock())
    with Held(lock):
        assert in_child(lambda: lock.acquire(blocking=False))
    assert lock.acquire(blocking=False)
    lock.release()


@needs_fork
def test_a_fork_waits_for_what_a_lock_guards(own_locks: None) -> None:
    lock = held_over_fork(threading.RLock(), level=0)
    done: list[int] = []

    class Work(Held):
        def hold(self) -> None:
            with self.lock:
                self.has_it.set()
                time.sleep(0.2)
                done.append(1)

    with Work(lock):
        assert in_child(lambda: done == [1] and lock.acquire(blocking=False))
    assert lock.acquire(blocking=False)
    lock.release()


@needs_fork
def test_a_fork_waits_no_longer_than_its_patience(
    own_locks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_locks, "_PATIENCE", 0.05)
    lock = held_over_fork(threading.RLock(), level=0)
    with Held(lock):
        assert in_child(lambda: lock.acquire(blocking=False))
        assert not lock.acquire(blocking=False)  # another thread's here


@needs_fork
def test_a_fork_takes_locks_from_the_highest_level_down(own_locks: None) -> None:
    order: list[str] = []

    class Noted:
        def __init__(self, name: str) -> None:
            self.name = name

        def acquire(self, timeout: float) -> bool:
            order.append(self.name)
            return True

        def release(self) -> None:
            order.append(f"{self.name} free")

        def _at_fork_reinit(self) -> None:
            order.append(f"{self.name} new")

    for name, level in (("low", -1), ("high", 100), ("middle", -0)):
        held_over_fork(Noted(name), level)
    assert in_child(lambda: not any("new" in each for each in order))
    taken = [each for each in order if "free" not in each]
    assert taken.index("high") < taken.index("middle") < taken.index("low")
    assert sorted(order) == sorted([*taken, *(f"{each} free" for each in taken)])


@needs_fork
def test_a_function_is_called_in_every_child() -> None:
    called: list[int] = []
    call_in_child(lambda: called.append(1))
    assert in_child(lambda: called == [1])
    assert called == []


@needs_fork
def test_a_fork_waits_for_calls_of_native_libraries() -> None:
    begun, done = threading.Event(), []

    @outside_forks
    def compute(number: int, *, seconds: float) -> int:
        """Compute."""
        begun.set()
        time.sleep(seconds)
        done.append(number)
        return number

    assert (compute(1, seconds=0), compute.__doc__) == (1, "Compute.")
    begun.clear()
    thread = threading.Thread(target=compute, args=(2,), kwargs={"seconds": 0.2})
    thread.start()
    begun.wait()
    assert in_child(lambda: done == [1, 2] and compute(3, seconds=0) == 3)
    thread.join()
    assert not fork_locks._computing


@needs_fork
def test_no_call_of_a_native_library_begins_during_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, results = fork_locks._fork, []
    compute = outside_forks(lambda: results.append(1))
    fork.begin()
    compute()  # the forking thread itself may
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive() and results == [1]
    fork.end()
    thread.join()
    assert results == [1, 1] and not fork_locks._computing


def test_a_call_that_fails_no_longer_counts() -> None:
    @outside_forks
    def fail() -> None:
        raise ValueError

    with Held(threading.Lock()), pytest.raises(ValueError):
        fail()
    assert not fork_locks._computing


def test_a_fork_gives_up_waiting_for_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_locks, "_LONG_PATIENCE", 0.05)
    monkeypatch.setitem(fork_locks._computing, -1, None)
    begin = time.monotonic()
    fork_locks._fork.begin()
    assert 0.05 <= time.monotonic() - begin < 5
    fork_locks._fork.end()


# -- threads that load plugins ---------------------------------------------------------------------


def plugin(name: str, module: str = "acme_zz") -> LoadedPlugin:
    """Return the record of a plugin that is not loaded."""
    return LoadedPlugin(PluginEntry("libraries", name, f"{module}:plugin", "acme", "1"))


class Threads:
    """Runs functions in threads of their own, one after the other."""

    def __init__(self) -> None:
        self.loaders = LoadingThreads()

    def begin(self, each: LoadedPlugin) -> None:
        """Note that another thread loads a plugin."""

        def work() -> None:
            with self.loaders.lock:
                self.loaders.begin(each)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        each.loader = -1  # of a thread that is still there

    def wait(self, each: LoadedPlugin) -> threading.Thread:
        """Return a thread that waits for a plugin."""

        def work() -> None:
            with self.loaders.lock:
                self.loaders.wait_for(each)

        thread = threading.Thread(target=work)
        thread.start()
        return thread


@pytest.fixture
def threads() -> Threads:
    """Threads that load plugins."""
    return Threads()


def test_a_thread_waits_while_another_loads_a_plugin(threads: Threads) -> None:
    each = plugin("one")
    threads.begin(each)
    waiting = threads.wait(each)
    waiting.join(0.1)
    assert waiting.is_alive()
    each.state = "available"
    threads.loaders.end(each)
    waiting.join(10)
    assert not waiting.is_alive() and not threads.loaders._waiting


def test_a_thread_does_not_wait_for_what_it_loads_itself(threads: Threads) -> None:
    each = plugin("one")
    with threads.loaders.lock:
        threads.loaders.begin(each)
        threads.loaders.wait_for(each)
    threads.loaders.end(each)


def test_threads_do_not_wait_for_each_other_in_a_circle(threads: Threads) -> None:
    mine, theirs = plugin("mine"), plugin("theirs")
    with threads.loaders.lock:
        threads.loaders.begin(mine)
    threads.begin(theirs)
    threads.loaders._waiting[-1] = mine  # who loads theirs waits for mine
    with threads.loaders.lock:
        threads.loaders.wait_for(theirs)
    assert theirs.state == "loading"


def test_a_module_whose_body_runs_here_is_not_waited_for(threads: Threads) -> None:
    module: Any = ModuleType("acme_zz")
    each, inner, other = plugin("one"), plugin("two", "acme_zz.inner"), plugin("3", "acme_zzz")
    for one in (each, inner, other):
        threads.begin(one)

    def ask() -> None:
        with threads.loaders.lock:
            threads.loaders.wait_for(each)
            threads.loaders.wait_for(inner)
            assert not threads.loaders._waits_for(other, threading.get_ident())

    module.ask = ask
    exec(compile("ask()", "<acme_zz>", "exec"), vars(module))
    assert threads.loaders._waits_for(each, -1) and not threads.loaders._waits_for(each, 0)


def test_a_fork_waits_for_what_other_threads_load(threads: Threads) -> None:
    loaders, each = threads.loaders, plugin("one")
    assert loaders.acquire(1) is True
    loaders.release()
    with Held(loaders.lock):
        assert loaders.acquire(0.05) is False
    threads.begin(each)
    begin = time.monotonic()
    assert loaders.acquire(0.1) is True
    assert time.monotonic() - begin >= 0.1
    loaders.release()


def test_a_child_loads_anew_what_other_threads_were_loading(threads: Threads) -> None:
    mine, theirs = plugin("mine"), plugin("theirs")
    with threads.loaders.lock:
        threads.loaders.begin(mine)
    threads.begin(theirs)
    theirs.result = "half"
    threads.loaders._waiting[-1] = mine
    threads.loaders._at_fork_reinit()
    threads.loaders.start_child()
    assert (mine.state, theirs.state, theirs.result) == ("loading", "not loaded", None)
    assert threads.loaders._loading == [mine] and not threads.loaders._waiting
