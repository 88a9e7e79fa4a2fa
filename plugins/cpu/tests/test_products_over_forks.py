"""A process forks while its threads compute products: neither it nor the child waits for ever."""

import os
import subprocess
import sys
import textwrap
import threading
from time import monotonic

import pytest

from dovetail_kernel.fork_locks import outside_forks, threads_but_main

PROGRAM = """
import os, threading, time
import dovetail

dovetail.set_num_threads(1)
{setup}
def work():
    while True:
        compute()

compute()  # which imports: a child has no thread that would end an import
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
for _ in range(3):
    child = os.fork()
    if not child:
        compute()
        os._exit(0)
    latest = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert time.monotonic() < latest, "the child hangs"
        time.sleep(0.002)
print("all ended", flush=True)
os._exit(0)
"""
COMPUTATIONS = {
    "mm": "x = dovetail.rand(300, 300)\ncompute = lambda: x @ x",
    "linear": "f, x, w, b = dovetail.nn.functional.linear, *map(dovetail.rand, ((300, 300),) * 2), "
    "dovetail.rand(300)\ncompute = lambda: f(x, w, b)",
    "solve": "x = dovetail.rand(300, 300)\ncompute = lambda: dovetail.linalg.solve(x, x)",
    "inv": "x = dovetail.rand(300, 300)\ncompute = lambda: dovetail.linalg.inv(x)",
    "sum": "x = dovetail.rand(1000, 1000)\ncompute = lambda: x.sum(0)",
    "conv2d": "x, k = dovetail.rand(2, 16, 32, 32), dovetail.rand(16, 16, 3, 3)\n"
    "compute = lambda: dovetail.nn.functional.conv2d(x, k)",
}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_neither_a_child_nor_its_parent_hangs(name):
    code = textwrap.dedent(PROGRAM).format(setup=COMPUTATIONS[name])
    environment = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.stdout == "all ended\n", done.stderr


def test_a_fork_waits_for_a_call_and_a_call_for_a_fork():
    begun, ending = threading.Event(), threading.Event()
    calls = []

    def call():
        begun.set()
        ending.wait(10)
        calls.append(monotonic())

    thread = threading.Thread(target=outside_forks(call))
    thread.start()
    begun.wait(10)
    threading.Timer(0.3, ending.set).start()
    child = os.fork()
    if not child:
        os._exit(0 if calls and outside_forks(lambda: 5)() == 5 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()


def test_a_call_without_other_threads_is_made_as_it_is():
    assert threads_but_main() >= 0
    with pytest.raises(ZeroDivisionError):
        outside_forks(lambda: 1 // 0)()
