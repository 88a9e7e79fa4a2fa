"""Plugins are found by entry points and loaded on demand. Each test installs throw-away
distributions in a folder.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import dedent
from types import FrameType

import pytest

from dovetail_kernel.devices.device import Device
from dovetail_kernel.errors import PluginError, PluginNotFoundError
from dovetail_kernel.keys.dispatch_key import parse_dispatch_key
from dovetail_kernel.plugins import installed_plugins
from dovetail_kernel.plugins import manager as plugins
from dovetail_kernel.plugins.manager import PluginManager
from dovetail_kernel.plugins.plugin_records import PluginRecord
from dovetail_kernel.sockets import DEVICE_TYPES, NoKernelTable, Socket

Install = Callable[..., None]

LIBRARY = """
    from dovetail_kernel.plugins.hookspecs import hookimpl
    loads = []

    @hookimpl
    def dovetail_load(group, name):
        loads.append((group, name))
"""

BACKEND = """
    from dovetail_kernel.plugins.hookspecs import BackendSpec, hookimpl
    loads = []

    @hookimpl
    def dovetail_backend():
        return BackendSpec("{name}", load=lambda: loads.append("{name}"))
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that installs a distribution with one module and entry points ``{group:
    {name: target}}``.
    """
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("DOVETAIL_BLOCK", raising=False)

    def write(
        distribution: str, module: str, source: str, points: dict[str, dict[str, str]]
    ) -> None:
        (tmp_path / f"{module}.py").write_text(dedent(source))
        info = tmp_path / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n"
        )
        lines = [
            f"[dovetail.{group}]\n"
            + "".join(f"{name} = {target}\n" for name, target in members.items())
            for group, members in points.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))

    yield write
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def table() -> NoKernelTable:
    return NoKernelTable()


@pytest.fixture
def manager(table: NoKernelTable) -> PluginManager:
    return PluginManager(Socket("tests", "here", table))


def record(
    manager: PluginManager, group: str, name: str, distribution: str | None = None
) -> PluginRecord:
    found = [
        each
        for each in manager.list_plugins()
        if (each.group, each.name) == (f"dovetail.{group}", name)
        and distribution in (None, each.distribution)
    ]
    assert len(found) == 1
    return found[0]


def test_listing_names_distribution_version_group_and_name(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    assert record(manager, "libraries", "vision") == PluginRecord(
        "acme-vision", "1.2", "dovetail.libraries", "vision", "not loaded"
    )


def test_listing_imports_no_plugin(install: Install, manager: PluginManager) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    manager.list_plugins()
    assert "acme_vision" not in sys.modules


def test_a_library_is_loaded_when_asked_for_and_only_once(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    plugin = manager.load_library("vision")
    assert manager.load_library("vision") is plugin is sys.modules["acme_vision"]
    assert plugin.loads == [("dovetail.libraries", "vision")]
    assert record(manager, "libraries", "vision").state == "available"


def test_a_plugin_may_be_a_class(install: Install, manager: PluginManager) -> None:
    source = """
        from dovetail_kernel.plugins.hookspecs import hookimpl

        class Plugin:
            names = []

            @hookimpl
            def dovetail_load(self, name):
                self.names.append(name)
    """
    install("acme-vision", "acme_vision", source, {"libraries": {"vision": "acme_vision:Plugin"}})
    assert manager.load_library("vision").names == ["vision"]


def test_loading_one_plugin_calls_no_hook_of_another(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    install("acme-audio", "acme_audio", LIBRARY, {"libraries": {"audio": "acme_audio"}})
    vision = manager.load_library("vision")
    manager.load_library("audio")
    assert vision.loads == [("dovetail.libraries", "vision")]


def test_a_backend_gives_its_description(install: Install, manager: PluginManager) -> None:
    install("acme-tpu", "acme_tpu", BACKEND.format(name="tpu"), {"backends": {"tpu": "acme_tpu"}})
    spec = manager.load_backend("tpu")
    assert (spec.name, spec.device_count()) == ("tpu", 1)
    assert manager.describe_backend("tpu") is spec
    assert sys.modules["acme_tpu"].loads == ["tpu"]


def test_a_backend_is_described_without_being_loaded(
    install: Install, manager: PluginManager
) -> None:
    source = BACKEND.format(name="tpu").replace(
        'append("tpu"))', 'append("tpu"), is_available=lambda: "no board")'
    )
    install("acme-tpu", "acme_tpu", source, {"backends": {"tpu": "acme_tpu"}})
    assert manager.describe_backend("tpu").is_available() == "no board"
    assert sys.modules["acme_tpu"].loads == []
    assert record(manager, "backends", "tpu").state == "not loaded"


def test_a_backend_that_nothing_provides_has_no_description(manager: PluginManager) -> None:
    with pytest.raises(
        PluginNotFoundError,
        match="no installed distribution provides a backend for device type 'npu'",
    ):
        manager.describe_backend("npu")


def test_a_transform_is_loaded_by_name(install: Install, manager: PluginManager) -> None:
    install("acme-trace", "acme_trace", LIBRARY, {"transforms": {"trace": "acme_trace"}})
    assert manager.load_transform("trace").loads == [("dovetail.transforms", "trace")]


def test_a_plugin_that_fails_to_import_raises_whole_when_asked_for(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", "1 / 0", {"libraries": {"vision": "acme_vision"}})
    with pytest.raises(
        PluginError, match=r"'vision' of acme-vision 1\.2 failed to load.*ZeroDivisionError"
    ) as caught:
        manager.load_library("vision")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_failure_is_listed_with_its_traceback(install: Install, manager: PluginManager) -> None:
    install("acme-vision", "acme_vision", "1 / 0", {"libraries": {"vision": "acme_vision"}})
    with pytest.raises(PluginError):
        manager.load_library("vision")
    listed = record(manager, "libraries", "vision")
    assert listed.state == "failed: ZeroDivisionError: division by zero"
    assert listed.traceback is not None and "acme_vision.py" in listed.traceback


def test_a_failed_plugin_raises_again_when_asked_again(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", "1 / 0", {"libraries": {"vision": "acme_vision"}})
    for _ in range(2):
        with pytest.raises(PluginError, match="ZeroDivisionError"):
            manager.load_library("vision")


def test_a_plugin_that_exits_is_a_failure_like_any_other(
    install: Install, manager: PluginManager
) -> None:
    install(
        "acme-vision",
        "acme_vision",
        "import sys; sys.exit(3)",
        {"libraries": {"vision": "acme_vision"}},
    )
    with pytest.raises(PluginError, match="SystemExit"):
        manager.load_library("vision")


def test_a_failed_plugin_breaks_no_other(install: Install, manager: PluginManager) -> None:
    install("acme-vision", "acme_vision", "1 / 0", {"libraries": {"vision": "acme_vision"}})
    install("acme-audio", "acme_audio", LIBRARY, {"libraries": {"audio": "acme_audio"}})
    with pytest.raises(PluginError):
        manager.load_library("vision")
    assert manager.load_library("audio").loads


def test_an_interrupt_passes_through_and_the_plugin_can_be_loaded_later(
    install: Install, manager: PluginManager
) -> None:
    source = """
        from dovetail_kernel.plugins.hookspecs import hookimpl
        attempts = []

        @hookimpl
        def dovetail_load():
            attempts.append(1)
            if len(attempts) == 1:
                raise KeyboardInterrupt
    """
    install("acme-vision", "acme_vision", source, {"libraries": {"vision": "acme_vision"}})
    with pytest.raises(KeyboardInterrupt):
        manager.load_library("vision")
    assert manager.load_library("vision").attempts == [1, 1]


def test_a_plugin_whose_loading_is_interrupted_at_any_instant_loads_later(
    install: Install, table: NoKernelTable
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    registered: list[object] = []

    @contextmanager
    def transaction() -> Iterator[Callable[[], None]]:
        made: list[object] = []
        try:
            registered.append(made)
            made.append(1)
            yield made.clear
        except BaseException:
            made.clear()
            raise

    table.transaction = transaction  # type: ignore[assignment]
    threshold = gc.get_threshold()

    def load(at: int | None) -> int:
        sys.modules.pop("acme_vision", None)
        manager, count = PluginManager(Socket("tests", "here", table)), 0
        manager.list_plugins()
        registered.clear()

        def note(frame: FrameType, event: str, argument: object) -> None:
            nonlocal count
            # Locks of Python's own modules, such as that of imports, do not survive all of them.
            if event in ("call", "c_return") and "dovetail_kernel" in frame.f_code.co_filename:
                count += 1
                if count == at:
                    raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            sys.setprofile(note)
            try:
                manager.load_library("vision")
            finally:
                sys.setprofile(None)
        assert manager.load_library("vision").loads[-1] == ("dovetail.libraries", "vision")
        assert sum([bool(made) for made in registered]) == 1
        assert gc.get_threshold() == threshold
        assert record(manager, "libraries", "vision").state == "available"
        return count

    count = load(None)
    for at in [*random.Random(0).sample(range(count), 20), *range(count - 30, count + 1)]:
        load(at)


def test_loading_happens_inside_the_transaction(
    install: Install, manager: PluginManager, table: NoKernelTable
) -> None:
    install("acme-vision", "acme_vision", "1 / 0", {"libraries": {"vision": "acme_vision"}})
    seen: list[object] = []

    class Transaction:
        def __enter__(self) -> None:
            seen.append("begin")

        def __exit__(self, kind: object, error: object, traceback: object) -> None:
            seen.append(kind)

    table.transaction = Transaction  # type: ignore[assignment]
    with pytest.raises(PluginError):
        manager.load_library("vision")
    assert seen == ["begin", ZeroDivisionError]


def test_refresh_finds_what_was_installed_meanwhile(
    install: Install, manager: PluginManager
) -> None:
    with pytest.raises(PluginNotFoundError):
        manager.load_library("vision")
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    manager.refresh()
    assert manager.load_library("vision").loads


def test_refresh_forgets_failures_and_keeps_what_is_loaded(
    install: Install, manager: PluginManager, tmp_path: Path
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    install("acme-sound", "acme_sound", "1 / 0", {"libraries": {"sound": "acme_sound"}})
    plugin = manager.load_library("vision")
    with pytest.raises(PluginError):
        manager.load_library("sound")
    (tmp_path / "acme_sound.py").write_text(dedent(LIBRARY) + "repaired = True\n")
    manager.refresh()
    assert manager.load_library("vision") is plugin and len(plugin.loads) == 1
    assert manager.load_library("sound").repaired


@pytest.mark.parametrize(
    "ask",
    [
        lambda manager: "tpu" in manager.device_types(),
        lambda manager: "vision" in manager.namespaces(),
        lambda manager: record(manager, "libraries", "vision").state == "not loaded",
        lambda manager: manager.provides("dovetail.libraries", "vision"),
    ],
    ids=["device types", "namespaces", "list", "provides"],
)
def test_a_question_that_finds_kernels_for_what_is_in_use_loads_them(
    install: Install, manager: PluginManager, ask: Callable[[PluginManager], bool]
) -> None:
    manager.mark_in_use("dovetail.libraries", "mine")
    manager.mark_in_use("dovetail.backends", "tpu")
    manager.mark_in_use("dovetail.libraries", "gone")
    manager.mark_unused("dovetail.libraries", "gone")
    install("acme-tpu", "acme_tpu", BACKEND.format(name="tpu"), {"backends": {"tpu": "acme_tpu"}})
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    install(
        "acme-both", "acme_both", LIBRARY, {"kernels": {"mine.tpu": "acme_both", "gone.tpu": "no"}}
    )
    assert ask(manager)
    assert sys.modules["acme_both"].loads == [("dovetail.kernels", "mine.tpu")]


def test_a_module_is_provided_under_a_name(install: Install, manager: PluginManager) -> None:
    install("acme-more", "acme_more", "answer = 42", {"modules": {"more": "acme_more"}})
    assert manager.load_module("more").answer == 42
    assert manager.provides("dovetail.modules", "more")
    assert not manager.provides("dovetail.modules", "less")


def test_an_unknown_name_suggests_an_installed_one(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    with pytest.raises(PluginNotFoundError, match="Did you mean 'vision'"):
        manager.load_library("vison")


@pytest.mark.parametrize("word", ["vision", "acme-vision", "acme_vision", "cuda,vision"])
def test_block_keeps_a_plugin_out_by_name_or_distribution(
    install: Install, manager: PluginManager, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    monkeypatch.setenv("DOVETAIL_BLOCK", word)
    with pytest.raises(PluginError, match="blocked by DOVETAIL_BLOCK"):
        manager.load_library("vision")
    assert record(manager, "libraries", "vision").state == "blocked"
    assert not manager.provides("dovetail.libraries", "vision")


def test_two_claims_to_one_name_are_an_error_that_names_both(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    install("best-vision", "best_vision", LIBRARY, {"libraries": {"vision": "best_vision"}})
    with pytest.raises(PluginError, match=r"acme-vision.*best-vision|best-vision.*acme-vision"):
        manager.load_library("vision")
    assert "claimed by" in record(manager, "libraries", "vision", "acme-vision").state


def test_blocking_one_of_two_claimants_settles_it(
    install: Install, manager: PluginManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    install("best-vision", "best_vision", LIBRARY, {"libraries": {"vision": "best_vision"}})
    monkeypatch.setenv("DOVETAIL_BLOCK", "acme-vision")
    assert manager.load_library("vision") is sys.modules["best_vision"]


def test_an_unavailable_backend_says_why(install: Install, manager: PluginManager) -> None:
    source = """
        from dovetail_kernel.plugins.hookspecs import BackendSpec, hookimpl
        present = []

        @hookimpl
        def dovetail_backend():
            return BackendSpec(
                "tpu", load=lambda: None,
                is_available=lambda: None if present else "no TPU found; plug one in",
            )
    """
    install("acme-tpu", "acme_tpu", source, {"backends": {"tpu": "acme_tpu"}})
    with pytest.raises(PluginError, match="unavailable: no TPU found; plug one in"):
        manager.load_backend("tpu")
    assert record(manager, "backends", "tpu").state == "unavailable: no TPU found; plug one in"
    sys.modules["acme_tpu"].present.append(1)
    assert manager.load_backend("tpu").name == "tpu"


def test_a_backend_that_describes_another_name_is_refused(
    install: Install, manager: PluginManager
) -> None:
    install("acme-tpu", "acme_tpu", BACKEND.format(name="gpu"), {"backends": {"tpu": "acme_tpu"}})
    with pytest.raises(PluginError, match="give it the name of the entry point, 'tpu'"):
        manager.load_backend("tpu")


def test_a_plugin_without_the_hook_is_told_which(install: Install, manager: PluginManager) -> None:
    install("acme-tpu", "acme_tpu", LIBRARY, {"backends": {"tpu": "acme_tpu"}})
    with pytest.raises(PluginError, match="no hook 'dovetail_backend'"):
        manager.load_backend("tpu")


def test_a_misspelt_hook_is_an_error_with_a_suggestion(
    install: Install, manager: PluginManager
) -> None:
    source = LIBRARY.replace("dovetail_load", "dovetail_laod")
    install("acme-vision", "acme_vision", source, {"libraries": {"vision": "acme_vision"}})
    with pytest.raises(PluginError, match="Did you mean 'dovetail_load'"):
        manager.load_library("vision")


def test_a_hook_with_an_unknown_parameter_is_an_error(
    install: Install, manager: PluginManager
) -> None:
    source = LIBRARY.replace("(group, name)", "(group, name, colour)", 1)
    install("acme-vision", "acme_vision", source, {"libraries": {"vision": "acme_vision"}})
    with pytest.raises(PluginError, match="colour"):
        manager.load_library("vision")


@pytest.mark.parametrize("backend_first", [True, False])
def test_kernels_are_loaded_once_library_and_backend_are_both_in_use(
    install: Install, manager: PluginManager, backend_first: bool
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    install("acme-tpu", "acme_tpu", BACKEND.format(name="tpu"), {"backends": {"tpu": "acme_tpu"}})
    install("acme-both", "acme_both", LIBRARY, {"kernels": {"vision.tpu": "acme_both"}})
    steps: list[Callable[[], object]] = [
        lambda: manager.load_library("vision"),
        lambda: manager.load_backend("tpu"),
    ]
    first, second = reversed(steps) if backend_first else steps
    first()
    assert "acme_both" not in sys.modules
    second()
    assert sys.modules["acme_both"].loads == [("dovetail.kernels", "vision.tpu")]


def test_kernels_for_a_namespace_without_plugin_load_once_it_is_in_use(
    install: Install, manager: PluginManager
) -> None:
    install("acme-tpu", "acme_tpu", BACKEND.format(name="tpu"), {"backends": {"tpu": "acme_tpu"}})
    install("acme-both", "acme_both", LIBRARY, {"kernels": {"mine.tpu": "acme_both"}})
    manager.load_backend("tpu")
    manager.mark_in_use("dovetail.libraries", "mine")
    assert record(manager, "kernels", "mine.tpu").state == "available"


def test_kernels_that_fail_raise_only_when_they_are_asked_for(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    install("acme-tpu", "acme_tpu", BACKEND.format(name="tpu"), {"backends": {"tpu": "acme_tpu"}})
    install("acme-both", "acme_both", "1 / 0", {"kernels": {"vision.tpu": "acme_both"}})
    manager.load_library("vision")
    manager.load_backend("tpu")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        manager.load_kernels("vision", "tpu")


def test_load_kernels_tells_whether_anything_new_came(
    install: Install, manager: PluginManager
) -> None:
    install("acme-both", "acme_both", LIBRARY, {"kernels": {"vision.tpu": "acme_both"}})
    answers = [manager.load_kernels("vision", device) for device in ("tpu", "tpu", "dsp")]
    assert answers == [True, False, False]


@pytest.mark.parametrize(
    ("name", "message"), [("vision", "namespace.device_type"), ("aten.cpu", "with conditions")]
)
def test_kernels_under_a_name_that_cannot_be_are_listed_as_failed(
    install: Install, manager: PluginManager, name: str, message: str
) -> None:
    install("acme-both", "acme_both", LIBRARY, {"kernels": {name: "acme_both"}})
    assert message in record(manager, "kernels", name).state


def test_a_plugin_may_load_another(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = PluginManager()
    monkeypatch.setattr(plugins, "plugin_manager", manager)
    source = """
        from dovetail_kernel.plugins import manager as plugins
        from dovetail_kernel.plugins.hookspecs import hookimpl

        @hookimpl
        def dovetail_load(name):
            plugins.plugin_manager.load_library("{other}")
    """
    install(
        "acme-vision",
        "acme_vision",
        source.format(other="audio"),
        {"libraries": {"vision": "acme_vision"}},
    )
    install(
        "acme-audio",
        "acme_audio",
        source.format(other="vision"),
        {"libraries": {"audio": "acme_audio"}},
    )
    manager.load_library("vision")
    assert record(manager, "libraries", "audio").state == "available"


def test_threads_that_ask_together_load_once(install: Install, manager: PluginManager) -> None:
    source = LIBRARY.replace("loads.append", "__import__('time').sleep(0.05); loads.append")
    install("acme-vision", "acme_vision", source, {"libraries": {"vision": "acme_vision"}})
    threads = [threading.Thread(target=manager.load_library, args=("vision",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sys.modules["acme_vision"].loads) == 1


def test_a_backend_is_attached_when_its_plugin_is_loaded_whole(
    install: Install, manager: PluginManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = BACKEND.replace(
        "lambda: loads.append", "lambda: loads.append('arrays') or go_on.wait(9) and loads.append"
    ).replace("loads = []", "import threading; loads, go_on = [], threading.Event()")
    install("acme-tpu", "acme_tpu", source.format(name="tpu"), {"backends": {"tpu": "acme_tpu"}})
    manager.describe_backend("tpu")
    module, seen = sys.modules["acme_tpu"], []

    class Attached:
        is_attached = property(lambda self: "arrays" in module.loads)

    monkeypatch.setattr(plugins, "has_backend", lambda name: True)
    monkeypatch.setattr(plugins, "backend", lambda name: Attached())

    def ask() -> None:
        manager.attached_backend("tpu")
        seen.append("tpu" in module.loads)

    first = threading.Thread(target=ask)
    first.start()
    while not module.loads:
        pass
    second = threading.Thread(target=ask)
    second.start()
    second.join(0.05)
    assert seen == []  # it has its arrays, but nothing else yet
    module.go_on.set()
    first.join()
    second.join()
    assert seen == [True, True]


def test_the_plugin_being_loaded_is_known_while_it_is(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = PluginManager()
    monkeypatch.setattr(plugins, "plugin_manager", manager)
    source = LIBRARY.replace(
        "(group, name))",
        "str(__import__('dovetail_kernel.plugins.manager').plugins.manager.plugin_manager.loading()))",
    )
    install("acme-vision", "acme_vision", source, {"libraries": {"vision": "acme_vision"}})
    assert manager.load_library("vision").loads == [
        "library for namespace 'vision' of acme-vision 1.2"
    ]
    assert manager.loading() is None


def test_the_number_of_kernels_is_asked_of_what_keeps_them(
    install: Install, manager: PluginManager, table: NoKernelTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-vision", "acme_vision", LIBRARY, {"libraries": {"vision": "acme_vision"}})
    monkeypatch.setattr(table, "count_kernels", lambda entry: 7 * (entry.name == "vision"))
    assert record(manager, "libraries", "vision").kernels == 0
    manager.load_library("vision")
    assert record(manager, "libraries", "vision").kernels == 7


@pytest.fixture
def no_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("installed metadata was read")

    monkeypatch.setattr(installed_plugins, "scan_entry_points", refuse)


@pytest.fixture
def stand_in(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a stand-in in the place of dovetail-cpu."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "dovetail_cpu"]:
        monkeypatch.delitem(sys.modules, name)
    install(
        "dovetail-cpu",
        "dovetail_cpu",
        BACKEND.format(name="cpu"),
        {"backends": {"cpu": "dovetail_cpu"}},
    )


def test_dovetails_own_plugins_load_without_reading_metadata(
    stand_in: None, no_scan: None, manager: PluginManager
) -> None:
    assert manager.load_backend("cpu").name == "cpu"


def test_dovetails_own_plugins_can_be_blocked(
    stand_in: None, no_scan: None, manager: PluginManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOVETAIL_BLOCK", "cpu")
    monkeypatch.setattr(installed_plugins, "scan_entry_points", lambda: [])
    with pytest.raises(PluginError, match="DOVETAIL_BLOCK=cpu"):
        manager.load_backend("cpu")


def test_a_name_of_dovetails_own_is_not_taken_over_by_another_distribution(
    stand_in: None, install: Install, manager: PluginManager
) -> None:
    install("acme-cpu", "acme_cpu", BACKEND.format(name="cpu"), {"backends": {"cpu": "acme_cpu"}})
    manager.list_plugins()
    manager.load_backend("cpu")
    assert sys.modules["dovetail_cpu"].loads == ["cpu"]
    rival = record(manager, "backends", "cpu", "acme-cpu").state
    assert "dovetail-cpu" in rival and "acme-cpu" in rival


def test_a_known_plugin_that_is_not_installed_says_what_to_install(
    manager: PluginManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed_plugins, "find_spec", lambda name: None)
    monkeypatch.setattr(installed_plugins, "scan_entry_points", lambda: [])
    with pytest.raises(PluginNotFoundError, match="Install dovetail-cuda, from the clone"):
        manager.load_backend("cuda")


def test_an_installed_device_type_is_valid_before_its_backend_is_loaded(
    install: Install, manager: PluginManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        "acme-npux", "acme_npux", BACKEND.format(name="npux"), {"backends": {"npux": "acme_npux"}}
    )
    monkeypatch.setattr(DEVICE_TYPES, "plugs", (manager.device_types,))
    assert Device("npux:1").type == "npux"
    assert parse_dispatch_key("AutogradNPUX").name == "AutogradNPUX"
    assert "acme_npux" not in sys.modules


def test_an_unused_failing_plugin_warns_of_nothing(
    install: Install, manager: PluginManager
) -> None:
    install("acme-vision", "acme_vision", "1 / 0", {"libraries": {"vision": "acme_vision"}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        manager.list_plugins()
    assert record(manager, "libraries", "vision").state == "not loaded"
