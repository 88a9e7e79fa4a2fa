"""Large results begin with a line of the cache, and their memory is like any other."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest

from dovetail_cpu import CpuArrays
from dovetail_cpu.memory import aligned_memory
from dovetail_cpu.memory.aligned_memory import LARGE, aligned, aligned_empty

IS_OFF = aligned_memory._FOUND is None

chosen = pytest.mark.skipif(IS_OFF, reason="NumPy's allocator cannot be chosen here")


def address(array):
    return array.__array_interface__["data"][0]


def handler(array):
    return np._core.multiarray.get_handler_name(array)


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc" or sys.flags.dev_mode,
    reason="memory is aligned by glibc",
)
def test_it_is_in_force_where_glibc_is():
    assert not IS_OFF


@chosen
@pytest.mark.parametrize("size", [0, 1, 3, 100, LARGE, LARGE + 1, 1 << 20])
def test_memory_begins_with_a_line_of_the_cache(size):
    made = aligned_empty(size, np.float32)
    assert not address(made) % 64
    assert made.flags.owndata
    made[...] = 7
    assert made.copy().tolist() == made.tolist()
    made.resize(2 * size + 5, refcheck=False)
    assert made[:size].tolist() == [7.0] * size
    assert not made[size:].any()


@chosen
def test_all_that_a_function_makes_is_aligned_and_nothing_after():
    before = np.empty(LARGE)
    inside = aligned(lambda: (np.zeros(LARGE), np.ones(3), np.arange(LARGE) * 2))()
    assert [handler(each) for each in inside] == ["dovetail_aligned"] * 3
    assert not inside[0].any()
    after = np.empty(LARGE)
    assert handler(after) == handler(before) != "dovetail_aligned"


@chosen
def test_an_error_takes_the_allocator_back():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        aligned(fail)()
    assert handler(np.empty(LARGE)) != "dovetail_aligned"


@chosen
def test_other_threads_have_the_allocator_that_they_had():
    entered, leave, seen = threading.Event(), threading.Event(), []

    def wait():
        entered.set()
        assert leave.wait(30)

    other = threading.Thread(target=aligned(wait))
    other.start()
    assert entered.wait(30)
    seen.append(handler(np.empty(LARGE)))
    leave.set()
    other.join()
    assert seen == [handler(np.empty(LARGE))]
    assert seen != ["dovetail_aligned"]


def test_a_function_keeps_its_name_and_its_warnings_to_itself():
    assert aligned(np.sqrt).__name__ == "sqrt"
    assert np.isnan(aligned(np.sqrt)(np.full(3, -1.0))).all()


def test_a_route_calls_what_is_aligned_for_many_elements():
    found = CpuArrays().by_size(len, None)
    if IS_OFF:
        assert found is None
    else:
        assert (found.few, found.least, found.writes) == (len, LARGE, False)
        assert found.many("four") == 4


ENDING = """
import numpy as np
from dovetail_cpu.memory.aligned_memory import aligned, aligned_empty
kept = [aligned_empty(size, "f4") for size in (0, 5, 100, 10_000, 1_000_000)]
for each in kept:
    each[...] = 1
made = aligned(np.add)(kept[-1], kept[-1])
print(int(made.sum()))
"""


@pytest.mark.parametrize("options", [(), ("-X", "dev"), ("-X", "tracemalloc")])
@pytest.mark.parametrize("malloc", ["", "debug", "malloc_debug", "pymalloc"])
def test_arrays_that_live_until_the_end_are_freed_then(options, malloc):
    environment = {**os.environ, "PYTHONMALLOC": malloc}
    done = subprocess.run(
        [sys.executable, *options, "-c", ENDING],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "2000000\n"), done.stderr
