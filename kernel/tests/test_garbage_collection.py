"""The collector waits while plugins are loaded, and goes on afterwards whatever happens."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import pytest

from dovetail_kernel.gc_pause import collection_paused

THRESHOLD = 700


def waits() -> bool:
    return gc.get_threshold()[0] == 0


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(THRESHOLD)
    gc.enable()
    yield
    gc.set_threshold(*before)
    gc.enable()


def test_the_collector_waits_inside_the_outermost_block() -> None:
    with collection_paused():
        with collection_paused():
            assert waits()
        assert waits()
    assert gc.get_threshold()[0] == THRESHOLD


def test_what_is_loaded_finds_the_collector_enabled() -> None:
    """Dask notes whether it is when it is imported, and stopped it for good at its first slice."""
    with collection_paused():
        assert gc.isenabled()


def test_the_collector_goes_on_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), collection_paused():
        raise ZeroDivisionError
    assert gc.get_threshold()[0] == THRESHOLD


def test_a_collector_that_was_stopped_stays_so() -> None:
    gc.disable()
    with collection_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()
    assert gc.get_threshold()[0] == THRESHOLD
    gc.enable()
    gc.set_threshold(0)
    with collection_paused():
        pass
    assert waits()


def test_thresholds_that_are_set_by_what_is_loaded_stay() -> None:
    with collection_paused():
        gc.set_threshold(5000, 20)
    assert gc.get_threshold()[:2] == (5000, 20)
    with collection_paused():
        gc.set_threshold(0, 30)
    assert gc.get_threshold()[:2] == (5000, 30)


def test_the_collector_goes_on_when_threads_have_loaded_side_by_side() -> None:
    barrier = threading.Barrier(8)

    def load() -> None:
        barrier.wait()
        for _ in range(500):
            with collection_paused():
                pass

    threads = [threading.Thread(target=load) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert gc.get_threshold()[0] == THRESHOLD


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_the_collector_goes_on_in_a_child() -> None:
    with collection_paused():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.get_threshold()[0] == THRESHOLD else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert waits()
