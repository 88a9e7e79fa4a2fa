"""Work that signals interrupt: training, registration, loading of plugins.

Each is an object: a call does the work and returns numbers, `resume` uses the interrupted object
again, and `close` takes back what it registered.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from interrupt_programs import PROGRAMS

import dovetail as dt
from dovetail import nn
from dovetail.library import Library
from dovetail.utils._python_dispatch import TorchDispatchMode
from dovetail.utils.data import DataLoader, TensorDataset
from dovetail_kernel import PluginManager
from dovetail_kernel.plugins import installed_plugins
from dovetail_kernel.plugins.entries import BACKENDS, LIBRARIES, PluginEntry


class Work:
    """What is done, interrupted and done again."""

    def __call__(self) -> Any:
        raise NotImplementedError

    def resume(self) -> None:
        """Do the work again after an interrupt: it must give what it gives otherwise."""
        wanted = type(self)
        assert self() == RESULTS[wanted]

    def close(self) -> None:
        """Take back what an interrupt left of the program itself."""


class Training(Work):
    """Two steps of a small network: loader, autocast, hooks, clipping, Adam and a schedule."""

    def __init__(self) -> None:
        dt.manual_seed(1)
        self.net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
        self.optimizer = dt.optim.Adam(self.net.parameters(), lr=0.1)
        self.schedule = dt.optim.lr_scheduler.StepLR(self.optimizer, 1)
        self.data = TensorDataset(dt.rand(6, 3), dt.tensor([0, 1, 1, 0, 1, 0]))

    def __call__(self) -> Any:
        found = []
        for x, y in DataLoader(self.data, batch_size=3, shuffle=True):
            with dt.autocast("cpu", dtype=dt.bfloat16):
                hidden = self.net(x)
                hidden.register_hook(lambda grad: grad * 2)
                loss = nn.functional.cross_entropy(hidden.float(), y)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.optimizer.step()
            found.append(loss.item())
        self.schedule.step()
        return [*found, *[each.sum().item() for each in self.net.parameters()]]

    def resume(self) -> None:
        """Train on: the interrupted step may be lost, but the next ones learn."""
        assert all([abs(each) < 100 for each in self()])
        assert type(self)()() == RESULTS[Training]


class Rule(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Registration(Work):
    """An operator with everything that can be registered for it, called in each way."""

    def __init__(self) -> None:
        self.libraries: list[Library] = []

    def __call__(self) -> Any:
        library = Library("signalled", "DEF")
        self.libraries.append(library)
        library.define("twice(Tensor x) -> Tensor")
        library.define("gone(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x.clone() * 2, "CPU")
        name = "signalled::twice"
        dt.library.register_fake(name, dt.empty_like, lib=library)
        dt.library.register_autograd(name, lambda ctx, grad: grad * 2, lib=library)
        dt.library.register_vmap(
            name, lambda info, dims, x: (dt.ops.signalled.twice(x), dims[0]), lib=library
        )
        dt.library.register_torch_dispatch(
            name, Rule, lambda mode, func, types, args, kwargs: func(*args), lib=library
        )
        dt.library.register_autocast(name, "cpu", dt.bfloat16, lib=library)
        fallbacks = Library("_", "IMPL")
        self.libraries.append(fallbacks)
        fallbacks.fallback(lambda op, *args: op(*args), "PrivateUse2")
        x = dt.ones(2, requires_grad=True)
        twice = dt.ops.signalled.twice
        twice(x).sum().backward()
        with Rule():
            found = [twice(x).tolist(), dt.vmap(twice)(dt.ones(2, 2)).tolist(), x.grad.tolist()]
        with dt.autocast("cpu"):
            found.append(str(twice(dt.ones(1)).dtype))
        found.append(list(twice(dt.ones(3, device="meta")).shape))
        self.close()
        return [*found, hasattr(dt.ops.signalled, "twice")]

    def resume(self) -> None:
        self.close()
        super().resume()

    def close(self) -> None:
        while self.libraries:
            self.libraries[-1]._destroy()
            self.libraries.pop()


SOURCE = """
from dovetail_dispatcher import Library
from dovetail_kernel import hookimpl
from dovetail_kernel.plugins.hookspecs import BackendSpec

def load():
    global lib
    lib = Library("signalled_plugin", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CompositeImplicitAutograd")

@hookimpl
def dovetail_load(group, name):
    load()

@hookimpl
def dovetail_backend():
    return BackendSpec("signalled_device", load=load)
"""
FOLDER = Path(tempfile.mkdtemp())
sys.path.append(str(FOLDER))


class PluginLoading(Work):
    """A library that a plugin provides: found, imported, registered, called."""

    group, name = LIBRARIES, "signalled_plugin"

    def __init__(self) -> None:
        (FOLDER / "signalled_plugin_module.py").write_text(SOURCE)
        entry = PluginEntry(self.group, self.name, "signalled_plugin_module", "signalled", "1")
        self.manager = PluginManager()
        with mock.patch.object(installed_plugins, "scan_entry_points", lambda: [entry]):
            self.manager.list_plugins()

    def load(self) -> Any:
        return self.manager.load_library(self.name)

    def __call__(self) -> Any:
        self.load()
        return dt.ops.signalled_plugin.f(dt.ones(2)).tolist(), [
            each.state for each in self.manager.list_plugins()
        ]

    def close(self) -> None:
        module = sys.modules.pop("signalled_plugin_module", None)
        if hasattr(module, "lib"):
            module.lib._destroy()


class BackendLoading(PluginLoading):
    """The same by the plugin of a device."""

    group, name = BACKENDS, "signalled_device"

    def load(self) -> Any:
        return self.manager.load_backend(self.name)


def _of_program(program: Any) -> type[Work]:
    return type(program.__name__, (Work,), {"__call__": lambda self: program()})


WORK: list[type[Work]] = [Training, Registration, PluginLoading, BackendLoading]
for _name in (  # a scoped library would stay where a signal comes just before it is left
    *("nested_modes", "backward_of_a_function", "transformed_vmap_grad"),
    *("custom_operator", "checkpointed", "view_and_write", "saving"),
):
    WORK.append(_of_program(PROGRAMS[_name]))

RESULTS: dict[type[Work], Any] = {}
"""What each kind of work returns when nothing interrupts it."""
