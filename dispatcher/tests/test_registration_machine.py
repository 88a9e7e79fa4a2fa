"""Registrations that come and go in any order, and kernels of plugins: after each step, calls do
what a small model of the table says.

`DOVETAIL_HUNT=20000` runs more programs, of up to 50 steps each, others each time.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run

from dovetail_dispatcher import Library, TorchDispatchMode, _scoped_library, fallthrough_kernel, ops
from dovetail_dispatcher._C import (
    _after_autograd_keyset,
    _AutoDispatchBelowAutograd,
    _dispatch_dump,
)
from dovetail_dispatcher.calls import missing_kernels
from dovetail_dispatcher.registration import library as library_module
from dovetail_dispatcher.table import registry
from dovetail_kernel import PluginError, PluginManager, hookimpl
from dovetail_kernel.plugins import BACKENDS, KERNELS, installed_plugins
from dovetail_kernel.plugins.entries import PluginEntry

PROGRAMS = int(os.environ.get("DOVETAIL_HUNT") or 15)
STEPS = 50
IMPLICIT, EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
KEYS = ("CPU", "CPU", "Meta", "Autograd", "AutogradCPU", "AutogradMeta", "ADInplaceOrView")
KEYS += (IMPLICIT, EXPLICIT, "CompositeExplicitAutogradNonFunctional", "BackendSelect")
STATES = ("plain", "below autograd", "mode")
OPS = ("f", "g")
PLUGIN = "machine_plugin"
NAMES = st.sampled_from(OPS)
ANY = st.integers(0, 99)


@dataclass(eq=False)
class Registered:
    """A kernel: its operator, its key, the number that it returns, and what else it does."""

    op: str
    key: str
    number: int
    owner: Any
    body: str
    large: bool
    """Whether a condition keeps small tensors from it."""
    covers: list[Any] = field(default_factory=list)
    """The definitions that cover it."""


@dataclass(eq=False)
class Defined:
    """A definition by a library."""

    owner: Any


class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> int:
        return -1


def state(name: str) -> Any:
    return {"plain": ExitStack, "below autograd": _AutoDispatchBelowAutograd, "mode": Mode}[name]()


@contextmanager
def quiet() -> Any:
    """Ignore warnings of kernels that override others, given once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Registrations(RuleBasedStateMachine):
    """A namespace with two operators."""

    tensor: Callable[..., Any]
    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.patch = self.stack.enter_context(pytest.MonkeyPatch.context())
        self.libraries: list[Any] = []
        self.scopes: list[tuple[Any, Any]] = []
        self.definitions: dict[str, list[Any]] = {op: [] for op in OPS}
        self.all_kernels: list[Registered] = []
        self.fallbacks: dict[str, tuple[int, Any]] = {}
        self.numbers = 0
        self.turn = 0
        self.held: dict[str, Any] = {}
        self.before = dict(registry.fallbacks)
        self.small, self.large = self.tensor([1.0]), self.tensor([1.0, 2.0])
        self.meta = self.tensor([1.0, 2.0], device="meta")
        # The plugin: what is installed, what the manager knows of it, and how far it is loaded.
        self.installed: PluginEntry | None = None
        self.known: PluginEntry | None = None
        self.scanned = self.blocked = self.fails = self.backend_in_use = False
        self.loaded = "not loaded"
        self.of_plugin: Any = None
        entries = lambda: [self.installed] if self.installed else []  # noqa: E731
        self.patch.setattr(installed_plugins, "scan_entry_points", entries)
        self.patch.delenv("DOVETAIL_BLOCK", raising=False)
        self.manager = PluginManager()
        for module in (missing_kernels, library_module):
            self.patch.setattr(module, "plugin_manager", self.manager)
        self.patch.setattr(library_module, "_used_namespaces", set())
        self.patch.setitem(sys.modules, PLUGIN, self.plugin())

    def plugin(self) -> ModuleType:
        module = ModuleType(PLUGIN)

        @hookimpl
        def dovetail_load(group: str, name: str) -> None:
            made = Library("machine", "IMPL")
            self.libraries.append(made)
            self.of_plugin = made
            for op in OPS:
                self.register(made, op, "CPU", "number", large=False)
            if self.fails:
                self.forget(made)
                raise ValueError("by the plugin")

        module.dovetail_load = dovetail_load  # type: ignore[attr-defined]
        return module

    @property
    def kernels(self) -> list[Registered]:
        """The kernels that no definition covers."""
        return [each for each in self.all_kernels if not each.covers]

    @property
    def defined(self) -> set[str]:
        return {op for op, each in self.definitions.items() if each}

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    # -- libraries ---------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.make("FRAGMENT")
        self.define("f", 0)

    @rule(kind=st.sampled_from(["DEF", "FRAGMENT", "FRAGMENT", "IMPL"]))
    def make(self, kind: str) -> None:
        is_owned = any(each.kind == "DEF" for each in self.libraries)
        if kind == "DEF" and is_owned:
            with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used"):
                Library("machine", "DEF")
        elif len(self.libraries) < 6:
            self.libraries.append(Library("machine", kind))

    @rule()
    def enter(self) -> None:
        if len(self.scopes) < 2:
            scope = _scoped_library("machine", "FRAGMENT")
            self.libraries.append(scope.__enter__())
            self.scopes.append((scope, self.libraries[-1]))

    @rule(which=ANY, fails=st.booleans())
    def leave(self, which: int, fails: bool) -> None:
        if self.scopes:
            scope, library = self.scopes.pop(which % len(self.scopes))
            if fails:
                error = ValueError("in the block")
                assert not scope.__exit__(ValueError, error, None)
            else:
                scope.__exit__(None, None, None)
            self.forget(library)

    @rule(which=ANY)
    def destroy(self, which: int) -> None:
        if self.libraries:
            library = self.libraries[which % len(self.libraries)]
            library._destroy()
            library._destroy()
            self.forget(library)
            with pytest.raises(AssertionError, match="destroyed"):
                library.impl("f", lambda x: 0, "CPU")

    def forget(self, library: Any) -> None:
        """Take out of the model what a library registered."""
        self.libraries = [each for each in self.libraries if each is not library]
        self.all_kernels = [each for each in self.all_kernels if each.owner is not library]
        for definitions in self.definitions.values():
            definitions[:] = [each for each in definitions if each.owner is not library]
        for kernel in self.all_kernels:
            kernel.covers = [each for each in kernel.covers if each.owner is not library]
        self.fallbacks = {k: each for k, each in self.fallbacks.items() if each[1] is not library}

    def any_library(self, which: int) -> Any:
        found = [each for each in self.libraries if each.ns == "machine"]
        if not found:
            found = [Library("machine", "FRAGMENT")]
            self.libraries += found
        return found[which % len(found)]

    # -- registrations -----------------------------------------------------------------------------

    @rule(op=NAMES, which=ANY, override=st.sampled_from([False, False, True]))
    def define(self, op: str, which: int, override: bool = False) -> None:
        library = self.any_library(which)
        if library.kind == "IMPL" or (op in self.defined and not override):
            with pytest.raises(RuntimeError, match=r"Cannot define|multiple times"):
                library.define(f"{op}(Tensor x) -> int", override=override)
            return
        made = Defined(library)
        for kernel in self.all_kernels:
            if kernel.op == op and op in self.defined:
                kernel.covers.append(made)
        library.define(f"{op}(Tensor x) -> int", override=override)
        is_first = not self.defined
        self.definitions[op].append(made)
        if is_first:  # the manager is told of a namespace, not of each of its operators
            self.load_ready()

    @rule(
        op=NAMES,
        which=ANY,
        key=st.sampled_from(KEYS),
        body=st.sampled_from(["number", "number", "below", "below", "other", "raises", "passes"]),
        large=st.booleans(),
        first=st.sampled_from([False, False, False, True]),
    )
    def impl(self, op: str, which: int, key: str, body: str, large: bool, first: bool) -> None:
        library = self.any_library(which)
        below = key.startswith("Autograd") and body in ("below", "passes")
        other = op == "g" and body == "other"
        body = body if below or other or body == "raises" else "number"
        is_known = op in self.defined or any(k.op == op for k in self.kernels)
        in_use = self.defined or any(each.kind == "DEF" for each in self.libraries)
        if key == "Meta" and (self.has(op, IMPLICIT) or (in_use and not is_known)):
            with pytest.raises(RuntimeError, match=r"should not register a meta|does not exist"):
                library.impl(op, lambda x: 0, key)
            return
        large = large and key == "CPU"
        if first and not large and self.has(op, key):
            with pytest.raises(RuntimeError, match="already a kernel registered from python"):
                library.impl(op, lambda x: 0, key, allow_override=False)
            return
        self.register(library, op, key, body, large=large)

    def register(self, library: Any, op: str, key: str, body: str, *, large: bool) -> None:
        number = self.number()

        def kernel(x: Any, keys: Any = None) -> int:
            if body == "raises":
                raise ZeroDivisionError(number)
            if body == "below":
                if keys is not None:
                    overload = getattr(ops.machine, op).default
                    return number + 1000 * overload.redispatch(keys & _after_autograd_keyset, x)
                with _AutoDispatchBelowAutograd():
                    return number + 1000 * getattr(ops.machine, op)(x)
            if body == "other":
                return number + 1000 * ops.machine.f(x)
            return number

        options = {"when": lambda x: x.numel() > 1, "why": "large"} if large else {}
        if body == "passes":
            function: Any = fallthrough_kernel
        elif number % 3 == 0 and not large:
            function, options = lambda keys, x: kernel(x, keys), {"with_keyset": True}
        else:
            function = kernel
        with quiet():
            library.impl(op, function, key, **options)
        place = len(self.all_kernels)
        if library is self.of_plugin:  # its kernels lie where they would, whenever it is loaded:
            stack = [k for k in self.kernels if (k.op, k.key) == (op, key)]
            # one with a condition beneath the program's, another beneath those with conditions
            while stack and (stack[-1].owner is not library if large else stack[-1].large):
                place = self.all_kernels.index(stack.pop())
        self.all_kernels.insert(place, Registered(op, key, number, library, body, large))

    @rule(op=NAMES, which=ANY)
    def wrong(self, op: str, which: int) -> None:
        library, before = self.any_library(which), _dispatch_dump(f"machine::{op}")
        for fn, key in ((3, "CPU"), (lambda x: 0, "NoSuchKey")):
            with pytest.raises((TypeError, RuntimeError)):
                library.impl(op, fn, key)
        if op in self.defined:
            with pytest.raises(TypeError):
                library.impl(op, lambda: 0, "CPU")
        assert _dispatch_dump(f"machine::{op}") == before

    @rule(key=st.sampled_from(["CPU", "Meta"]))
    def fallback(self, key: str) -> None:
        library, number = Library("_", "IMPL"), self.number()
        if key in self.fallbacks:
            with pytest.raises(RuntimeError, match="multiple backend fallbacks"):
                library.fallback(lambda op, x: number, key)
            return
        library.fallback(lambda op, x: number, key)
        self.libraries.append(library)
        self.fallbacks[key] = number, library

    # -- the plugin --------------------------------------------------------------------------------

    @rule(present=st.booleans(), fails=st.booleans())
    def install(self, present: bool, fails: bool) -> None:
        entry = PluginEntry(KERNELS, "machine.cpu", PLUGIN, "machine-cpu", str(self.number()))
        self.installed, self.fails = entry if present else None, fails

    @rule(word=st.sampled_from(["", "machine-cpu", "machine.cpu", "another"]))
    def block(self, word: str) -> None:
        self.patch.setenv("DOVETAIL_BLOCK", word)
        self.blocked = word.startswith("machine")

    @rule()
    def refresh(self) -> None:
        self.manager.refresh()
        self.scanned = False
        if self.loaded == "failed":
            self.loaded = "not loaded"

    @rule()
    def list_plugins(self) -> None:
        records = self.manager.list_plugins()
        expected = "blocked" if self.blocked else "not loaded"
        if not self.scanned:
            self.scan()
        else:
            expected = self.loaded if self.loaded != "not loaded" else expected
            assert [each.state.partition(":")[0] for each in records] == [expected][: len(records)]
        assert len(records) == (self.known is not None)

    @rule()
    def use_backend(self) -> None:
        self.manager.mark_in_use(BACKENDS, "cpu")
        self.backend_in_use = True
        self.load_ready()

    def scan(self) -> None:
        """Scan in the model, if that was not done."""
        if not self.scanned:
            self.scanned, self.known = True, self.installed
            self.load_ready()

    def load_ready(self) -> None:
        """Note what the manager has loaded since library and backend are in use."""
        in_use = self.backend_in_use and self.defined and self.scanned and self.known
        if in_use and not self.blocked and self.loaded == "not loaded":
            self.loaded = self.outcome_of_load()

    def outcome_of_load(self) -> str:
        return "failed" if self.fails else "available"

    # -- what a call must do -----------------------------------------------------------------------

    def kernel_at(self, op: str, key: str, size: int) -> Registered | None:
        """Return the newest kernel at a key whose condition holds."""
        found = [k for k in self.kernels if k.op == op and k.key == key]
        return next((k for k in reversed(found) if size > 1 or not k.large), None)

    def has(self, op: str, *keys: str) -> bool:
        return any(k.op == op and k.key in keys and not k.large for k in self.kernels)

    def computed(self, op: str, key: str, device: str, size: int, how: str) -> Any:
        """Return what the table has at a runtime key of a device. A kernel with a condition stands
        in for a composite where nothing is between autograd and the backend.
        """
        found = self.kernel_at(op, key, size)
        if found is None and key == device:
            for alias in ("CompositeExplicitAutogradNonFunctional", EXPLICIT, IMPLICIT):
                found = found or self.kernel_at(op, alias, size)
            if found is None and key in self.fallbacks:
                return self.fallbacks[key][0]
        if found is None and key.startswith("Autograd"):
            if not self.has(op, device, EXPLICIT):
                found = self.kernel_at(op, IMPLICIT, size)
                if (
                    found
                    and how == "plain"
                    and not self.has(op, "ADInplaceOrView", "BackendSelect")
                ):
                    found = self.kernel_at(op, device, size) or found
            found = found or self.kernel_at(op, "Autograd", size)
        return found

    def expected(self, op: str, device: str, size: int, how: str, inside: str = "") -> Any:
        """Return the number that a call returns, or the type of its error.

        `inside` is the state of the thread, in which kernels make their calls, where it is not
        `how`.
        """
        if op not in self.defined:
            return AttributeError
        keys = [f"Autograd{device}", "ADInplaceOrView", "mode", "BackendSelect", device]
        for key in keys[1:] if how.startswith("below autograd") else keys:
            if key == "mode":
                if how.endswith("mode"):
                    return -1
                continue
            found = self.computed(op, key, device, size, how)
            if isinstance(found, int):
                return found
            if found is not None and found.body != "passes":
                return self.outcome(found, device, size, how, inside or how)
        return self.expected_of_plugin(op, device, size, how)

    def outcome(self, kernel: Registered, device: str, size: int, how: str, inside: str) -> Any:
        if kernel.body == "raises":
            return ZeroDivisionError
        if kernel.body == "number":
            return kernel.number
        if kernel.body == "below":
            lower = "below autograd in mode" if how.endswith("mode") else "below autograd"
            # Redispatching passes keys, and leaves the state of the thread as it is.
            inner = self.expected(
                kernel.op, device, size, lower, inside if kernel.number % 3 == 0 else lower
            )
        else:
            inner = self.expected("f", device, size, inside)
        return kernel.number + 1000 * inner if isinstance(inner, int) else inner

    def expected_of_plugin(self, op: str, device: str, size: int, how: str) -> Any:
        """Return what a call without kernel does: a plugin may have one."""
        if device != "CPU":
            return NotImplementedError
        was = self.loaded
        self.scan()
        if self.known is None or self.blocked:
            return NotImplementedError
        if self.loaded == "not loaded":
            self.loaded = self.outcome_of_load()
        if self.loaded == "failed":
            return PluginError
        # Its kernels are in the model once the call has been made.
        return NotImplementedError if was == "available" else "of the plugin"

    @invariant()
    def calls_do_what_the_model_says(self) -> None:
        self.turn += 1
        Registrations.steps += 1
        calls = (
            ("f", "CPU", self.large),
            ("g", "CPU", self.large),
            (OPS[self.turn % 2], "CPU", self.small),
            (OPS[self.turn // 2 % 2], "Meta", self.meta),
        )
        # One call shows that there is no such operator.
        for op, device, x in [each for each in calls[2:] if each[0] in self.defined] + [*calls[:2]]:
            how = STATES[self.turn % 3]
            expected = self.expected(op, device, x.numel(), how)
            try:
                with state(how):
                    found = getattr(ops.machine, op)(x)
            except (AttributeError, NotImplementedError, ZeroDivisionError) as error:
                found = type(error)
            except PluginError:
                found = PluginError
            if expected == "of the plugin":
                expected = self.expected(op, device, x.numel(), how)
            assert found == expected, (op, device, x.numel(), how, found, expected)
        for op in OPS:
            if op in self.defined:
                self.held.setdefault(op, getattr(ops.machine, op))
            elif op in self.held:
                with pytest.raises(RuntimeError, match="any more: its library was destroyed"):
                    self.held[op](self.large)

    def teardown(self) -> None:
        for scope, _ in self.scopes:
            scope.__exit__(None, None, None)
        for library in self.libraries:
            library._destroy()
        self.stack.close()
        assert [_dispatch_dump(f"machine::{op}") for op in OPS] == ["", ""]
        assert registry.fallbacks == self.before


def test_calls_do_what_a_model_of_the_table_says(tensor: Callable[..., Any]) -> None:
    Registrations.tensor = staticmethod(tensor)
    options = settings(
        max_examples=PROGRAMS,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize="DOVETAIL_HUNT" not in os.environ,
        phases=[Phase.generate],  # to shrink takes minutes
        suppress_health_check=list(HealthCheck),
        database=None,
        print_blob=False,
    )
    try:
        run(Registrations, settings=options)
    finally:
        print(f"DOVETAIL_HUNT={PROGRAMS}: {Registrations.steps} steps")
