"""Plugins are loaded whole or not at all, and what they register carries their name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail_dispatcher import ops
from dovetail_dispatcher._C import (
    _after_autograd_keyset,
    _AutoDispatchBelowAutograd,
    _dispatch_dump,
    _dispatch_get_all_op_names,
)
from dovetail_dispatcher.calls import missing_kernels
from dovetail_dispatcher.registration import library as library_module
from dovetail_dispatcher.table import registry
from dovetail_kernel import PluginError, PluginManager, TensorBase
from dovetail_kernel.plugins import installed_plugins
from dovetail_kernel.plugins.entries import BACKENDS, KERNELS, LIBRARIES, PluginEntry

Tensors = Callable[..., TensorBase]
Installer = Callable[..., PluginManager]

WHOLE = """
from dovetail_kernel import hookimpl
from dovetail_dispatcher import Library

@hookimpl
def dovetail_load(group, name):
    global lib, fallback
    lib = Library(name, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    lib.impl("f", lambda x: x, "CUDA")
    {more}
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installer]:
    """Writes modules, each the library of the namespace of its name, and returns a manager that
    knows them.
    """
    monkeypatch.syspath_prepend(str(tmp_path))
    before = registry.all_operators()
    modules = []

    def make(**sources: str) -> PluginManager:
        entries = []
        for name, more in sources.items():
            (tmp_path / f"{name}.py").write_text(WHOLE.format(more=more))
            entries.append(PluginEntry(LIBRARIES, name, name, f"{name}-ops", "1.2"))
            modules.append(name)
        monkeypatch.setattr(installed_plugins, "scan_entry_points", lambda: entries)
        manager = PluginManager()
        return manager

    yield make
    for name in modules:
        module = sys.modules.pop(name, None)
        if hasattr(module, "lib"):
            module.lib._destroy()
    assert registry.all_operators() == before


def test_a_plugin_that_fails_half_way_leaves_nothing_behind(install: Installer) -> None:
    manager = install(
        halfway='Library("_", "IMPL").fallback(lambda op, x: x, "CPU"); lib.impl("f", 3, "CPU")'
    )
    names, fallbacks = _dispatch_get_all_op_names(), dict(registry.fallbacks)
    with pytest.raises(PluginError, match="failed to load from 'halfway'") as error:
        manager.load_library("halfway")
    assert isinstance(error.value.__cause__, TypeError)
    assert _dispatch_get_all_op_names() == names
    assert registry.fallbacks == fallbacks


def test_a_namespace_owned_by_a_failed_plugin_is_free_again(
    install: Installer, library: Callable[..., object]
) -> None:
    with pytest.raises(PluginError):
        install(halfway="1 / 0").load_library("halfway")
    library("halfway", "DEF")


def test_a_plugin_loaded_on_behalf_of_a_failing_one_stays(
    install: Installer, tensor: Tensors
) -> None:
    manager = install(
        inner="", outer="import manager_of_test; manager_of_test.load_library('inner'); 1 / 0"
    )
    sys.modules["manager_of_test"] = manager  # type: ignore[assignment]
    try:
        with pytest.raises(PluginError, match="outer"):
            manager.load_library("outer")
    finally:
        del sys.modules["manager_of_test"]
    x = tensor()
    assert ops.inner.f(x) is x
    assert _dispatch_dump("outer::f") == ""


def test_registrations_of_a_plugin_name_its_distribution(install: Installer) -> None:
    install(vision="").load_library("vision")
    dump = _dispatch_dump("vision::f")
    assert "vision.py:9 (vision-ops 1.2)" in dump.splitlines()[2]
    assert "CPU: registered at " in dump
    assert dump.count("(vision-ops 1.2)") == 3
    operator = registry.find("vision::f")
    assert operator is not None
    assert {k.distribution for stack in operator.kernels.values() for k in stack} == {"vision-ops"}


def test_the_kernels_of_a_plugin_are_counted(install: Installer) -> None:
    manager = install(vision="", other="")
    manager.load_library("vision")
    counts = {record.name: record.kernels for record in manager.list_plugins()}
    assert (counts["vision"], counts["other"]) == (2, 0)


def test_an_interrupted_load_leaves_nothing_behind_and_can_be_tried_again(
    install: Installer,
) -> None:
    manager = install(stopped="raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        manager.load_library("stopped")
    assert _dispatch_dump("stopped::f") == ""
    with pytest.raises(KeyboardInterrupt):
        manager.load_library("stopped")


def test_what_a_failed_plugin_still_holds_takes_nothing_from_its_successor(
    install: Installer, library: Callable[..., object]
) -> None:
    with pytest.raises(PluginError):
        install(halfway="1 / 0").load_library("halfway")
    left_over = sys.modules["halfway"].lib
    library("halfway", "DEF").define("f(Tensor x) -> Tensor")  # type: ignore[attr-defined]
    left_over._destroy()
    assert _dispatch_dump("halfway::f") != ""


KERNELS_OF_OTHERS = """
from dovetail_kernel import hookimpl
from dovetail_dispatcher import Library

@hookimpl
def dovetail_load(group, name):
    global lib
    lib = Library("lk", "IMPL", "CPU")
    lib.impl("f", lambda x: 5)
"""


@pytest.fixture
def kernels_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginManager]:
    """A manager that knows a plugin with kernels of namespace lk on cpu, and that the dispatcher
    asks.
    """
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "lk_cpu.py").write_text(KERNELS_OF_OTHERS)
    entry = PluginEntry(KERNELS, "lk.cpu", "lk_cpu", "lk-cpu", "1.0")
    monkeypatch.setattr(installed_plugins, "scan_entry_points", lambda: [entry])
    manager = PluginManager()
    monkeypatch.setattr(missing_kernels, "plugin_manager", manager)
    monkeypatch.setattr(library_module, "plugin_manager", manager)
    monkeypatch.setattr(library_module, "_used_namespaces", set())
    yield manager
    module = sys.modules.pop("lk_cpu", None)
    if module is not None:
        module.lib._destroy()


def test_kernels_of_a_plugin_are_loaded_where_a_call_finds_none(
    kernels_of_others: PluginManager, library: Callable[..., object], tensor: Tensors
) -> None:
    lib: Any = library("lk", "DEF")
    lib.define("f(Tensor x) -> int")
    lib.define("g(Tensor x) -> int")
    assert "lk_cpu" not in sys.modules
    assert ops.lk.f(tensor()) == 5
    with pytest.raises(NotImplementedError, match="Could not run 'lk::g'"):
        ops.lk.g(tensor())


def test_a_call_runs_the_kernels_that_the_search_for_plugins_loads(
    kernels_of_others: PluginManager, library: Callable[..., object], tensor: Tensors
) -> None:
    kernels_of_others.mark_in_use(BACKENDS, "cpu")
    lib: Any = library("lk", "DEF")
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: 7, "AutogradCPU")
    with _AutoDispatchBelowAutograd():
        assert ops.lk.f(tensor()) == 5


def test_a_redispatch_loads_the_kernels_of_a_plugin(
    kernels_of_others: PluginManager, library: Callable[..., object], tensor: Tensors
) -> None:
    lib: Any = library("lk", "DEF")
    lib.define("f(Tensor x) -> int")

    def autograd(keys: Any, x: Any) -> Any:
        return ops.lk.f.default.redispatch(keys & _after_autograd_keyset, x) + 1

    lib.impl("f", autograd, "Autograd", with_keyset=True)
    assert ops.lk.f(tensor()) == 6


def test_kernels_of_a_blocked_plugin_are_missing(
    kernels_of_others: PluginManager,
    library: Callable[..., object],
    tensor: Tensors,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOVETAIL_BLOCK", "lk-cpu")
    lib: Any = library("lk", "DEF")
    lib.define("f(Tensor x) -> int")
    with pytest.raises(NotImplementedError, match="Could not run 'lk::f'"):
        ops.lk.f(tensor())


def test_a_namespace_that_a_script_defines_counts_as_in_use(
    kernels_of_others: PluginManager, library: Callable[..., object]
) -> None:
    kernels_of_others.list_plugins()
    kernels_of_others.mark_in_use(BACKENDS, "cpu")
    lib: Any = library("lk", "DEF")
    lib.define("f(Tensor x) -> int")
    assert "lk_cpu" in sys.modules
