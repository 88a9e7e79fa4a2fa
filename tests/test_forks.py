"""Locks: what forks, imports and waits for a plugin's threads does not hang."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

TIMEOUT = 120.0
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

CHILDREN = """
def run_child(work, seconds=30):
    # Return how a forked child that does some work ended: 0, or 1, or -9 if it hung.
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return -9
"""


def run(program: str, **environment: str) -> str:
    """Run a program in a process of its own, and return what it prints."""
    text = "import os, sys, threading, time\n" + CHILDREN + dedent(program)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_fork
def test_a_child_forked_while_another_thread_registers_can_register_call_and_differentiate() -> (
    None
):
    printed = run("""
        import dovetail
        from dovetail.library import Library

        stop = False

        def register():
            number = 0
            while not stop:
                number += 1
                library = Library(f"forked{number % 5}", "FRAGMENT")
                library.define("f(Tensor x) -> Tensor")
                library.impl("f", lambda x: x * 2, "CompositeImplicitAutograd")
                getattr(dovetail.ops, f"forked{number % 5}").f(dovetail.ones(2))
                library._destroy()

        def work():
            library = Library("in_child", "DEF")
            library.define("f(Tensor x) -> Tensor")
            library.impl("f", lambda x: x * 3, "CompositeImplicitAutograd")
            x = dovetail.ones(2, requires_grad=True)
            dovetail.ops.in_child.f(x).sum().backward()
            assert x.grad.tolist() == [3.0, 3.0]

        thread = threading.Thread(target=register)
        thread.start()
        ended = [run_child(work) for _ in range(25)]
        stop = True
        thread.join()
        print(set(ended))
    """)
    assert printed.split() == ["{0}"]


@needs_fork
def test_a_child_finds_every_lock_free_that_another_thread_held() -> None:
    printed = run("""
        import dovetail
        from dovetail_autograd.graph import autograd_meta
        from dovetail_dispatcher.interception import intercepted_functions
        from dovetail_kernel.keys import state
        from dovetail_kernel.types import bits

        x = dovetail.ones(2, requires_grad=True)
        (x * 1).sum().backward()
        locks = [autograd_meta._lock, intercepted_functions._lock, state._lock, bits._lock]
        locks.append(x._meta.lock)
        ready, stop = threading.Event(), threading.Event()

        def hold():
            for lock in locks:
                lock.acquire()
            ready.set()
            stop.wait()
            for lock in locks:
                lock.release()

        thread = threading.Thread(target=hold)
        thread.start()
        ready.wait()

        def work():
            from dovetail.overrides import TorchFunctionMode

            class Mode(TorchFunctionMode):
                def __torch_function__(self, func, types, args=(), kwargs=None):
                    return func(*args, **(kwargs or {}))

            with Mode(), dovetail.autocast("cpu"):
                (x * 2).sum().backward()
            assert x.grad.tolist() == [3.0, 3.0]

        print(run_child(work))
        stop.set()
        thread.join()
    """)
    assert printed.split() == ["0"]


@needs_fork
def test_a_child_forked_while_another_thread_makes_storages_can_make_and_resize_them() -> None:
    printed = run("""
        import dovetail

        stop = False

        def resize():
            storage = dovetail.ones(8).untyped_storage()
            while not stop:
                for nbytes in (64, 32):
                    storage.resize_(nbytes)

        def work():
            x = dovetail.ones(2)
            x.untyped_storage().resize_(16)
            assert x.tolist() == [1.0, 1.0]

        thread = threading.Thread(target=resize)
        thread.start()
        ended = [run_child(work) for _ in range(25)]
        stop = True
        thread.join()
        print(set(ended))
    """)
    assert printed.split() == ["{0}"]


@needs_fork
def test_a_fork_takes_locks_in_the_order_in_which_threads_take_them() -> None:
    # In another order it waits, until its patience ends, for a thread that waits for it: one that
    # resizes and is about to allocate, or one that tells of a new backend.
    printed = run("""
        import dovetail
        from dovetail_dispatcher.table import registry
        from dovetail_kernel.devices import allocator, backends
        from dovetail_kernel.tensor import resized_storage

        ready, passed = threading.Event(), threading.Event()

        def nest(outer, inner):
            with outer:
                ready.set()
                passed.wait(0.2)  # by now the fork waits
                with inner:
                    pass

        pairs = [
            (resized_storage._lock, allocator._lock),
            (registry.lock, resized_storage._lock),
            (registry.lock, allocator._lock),
            (backends._lock, registry.lock),
        ]
        for pair in pairs:
            ready.clear()
            thread = threading.Thread(target=nest, args=pair)
            thread.start()
            ready.wait()
            began = time.monotonic()
            ended = run_child(lambda: None)
            print(ended, time.monotonic() - began < 4)
            thread.join()
    """)
    assert printed.split() == ["0", "True"] * 4


def install(folder: Path, name: str, source: str, group: str, point: str) -> None:
    """Install a distribution with one module and one entry point in a folder."""
    (folder / f"{name}.py").write_text(dedent(source))
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[dovetail.{group}]\n{point} = {name}\n")


def test_a_module_that_lists_plugins_while_another_thread_loads_it_as_a_plugin_does_not_hang(
    tmp_path: Path,
) -> None:
    install(
        tmp_path,
        "listing_plugin",
        """
        import time
        from dovetail_kernel import plugin_manager
        from dovetail_kernel.plugins.hookspecs import hookimpl

        time.sleep(0.3)
        names = [each.name for each in plugin_manager.list_plugins()]
        plugin_manager.load_library("listing")

        @hookimpl
        def dovetail_load(group, name):
            pass
        """,
        "libraries",
        "listing",
    )
    printed = run(
        """
        from dovetail_kernel import plugin_manager

        def imported():
            import listing_plugin

        threads = [
            threading.Thread(target=imported, daemon=True),
            threading.Thread(target=plugin_manager.load_library, args=("listing",), daemon=True),
            threading.Thread(target=imported, daemon=True),
            threading.Thread(target=plugin_manager.load_library, args=("listing",), daemon=True),
        ]
        for thread in threads:
            thread.start()
            time.sleep(0.05)
        for thread in threads:
            thread.join(30)
        states = [each.state for each in plugin_manager.list_plugins() if each.name == "listing"]
        print(any(thread.is_alive() for thread in threads), states)
        """,
        PYTHONPATH=str(tmp_path),
    )
    assert printed.strip() == "False ['available']"


def test_a_thread_that_a_plugin_starts_and_joins_while_it_loads_may_use_dovetail(
    tmp_path: Path,
) -> None:
    install(
        tmp_path,
        "joining_plugin",
        """
        import threading
        import dovetail
        from dovetail.library import Library
        from dovetail_kernel import plugin_manager
        from dovetail_kernel.plugins.hookspecs import hookimpl

        @hookimpl
        def dovetail_load(group, name):
            library = Library("joining", "DEF")
            library.define("f(Tensor x) -> Tensor")
            library.impl("f", lambda x: x * 2, "CompositeImplicitAutograd")
            found = []

            def work():
                plugin_manager.list_plugins()
                Library("joining_thread", "FRAGMENT").define("g(Tensor x) -> Tensor")
                found.append(dovetail.ops.joining.f(dovetail.ones(1)).item())

            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            thread.join(30)
            assert found == [2.0], found
        """,
        "libraries",
        "joining",
    )
    printed = run(
        "import dovetail\nprint(dovetail.ops.joining.f(dovetail.ones(1)).item())",
        PYTHONPATH=str(tmp_path),
    )
    assert printed.split() == ["2.0"]


def test_two_plugins_that_ask_for_each_other_load_in_two_threads(tmp_path: Path) -> None:
    for mine, other in (("left", "right"), ("right", "left")):
        install(
            tmp_path,
            f"{mine}_plugin",
            f"""
            import time
            from dovetail_kernel import plugin_manager
            from dovetail_kernel.plugins.hookspecs import hookimpl

            @hookimpl
            def dovetail_load(group, name):
                time.sleep(0.3)
                plugin_manager.load_library("{other}")
            """,
            "libraries",
            mine,
        )
    printed = run(
        """
        from dovetail_kernel import plugin_manager

        threads = [
            threading.Thread(target=plugin_manager.load_library, args=(name,), daemon=True)
            for name in ("left", "right")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        wanted = ("left", "right")
        print([each.state for each in plugin_manager.list_plugins() if each.name in wanted])
        """,
        PYTHONPATH=str(tmp_path),
    )
    assert printed.strip() == "['available', 'available']"


def test_a_kernel_that_waited_for_a_backend_is_there_when_its_plugin_loads_after_a_failure(
    tmp_path: Path,
) -> None:
    install(
        tmp_path,
        "failing_backend",
        """
        from dovetail_kernel import backend
        from dovetail_kernel.plugins.hookspecs import BackendSpec, hookimpl

        attempts = []

        def load():
            backend("frail", create=True)
            attempts.append(1)
            if len(attempts) == 1:
                raise OSError("no driver")

        @hookimpl
        def dovetail_backend():
            return BackendSpec("frail", load=load)
        """,
        "elsewhere",
        "frail",
    )
    printed = run(
        """
        import sys, dovetail
        from dovetail.library import Library, check_pending
        from dovetail_kernel import plugin_manager
        from dovetail_kernel.errors import PluginError

        library = Library("waits", "DEF")
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x, backend="frail")
        print(len(check_pending()))
        path = sys.argv[1] if len(sys.argv) > 1 else os.environ["FRAIL"]
        points = os.path.join(path, "failing_backend-1.0.dist-info", "entry_points.txt")
        open(points, "w").write("[dovetail.backends]\\nfrail = failing_backend\\n")
        plugin_manager.refresh()
        for _ in range(2):
            try:
                plugin_manager.load_backend("frail")
                print("loaded")
            except PluginError as error:
                print("failed")
                plugin_manager.refresh()
        print(dovetail.ops.waits.f.default.has_kernel_for_dispatch_key("FRAIL"))
        library._destroy()
        print(len(check_pending()))
        """,
        PYTHONPATH=str(tmp_path),
        FRAIL=str(tmp_path),
    )
    assert printed.split() == ["1", "failed", "loaded", "True", "0"]
