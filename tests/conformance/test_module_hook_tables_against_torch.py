"""Tables of hooks of modules under PyTorch's private names, and the warning for outputs that
backward hooks do not get.
"""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
from same_programs import Programs, assert_same

import dovetail

torch = pytest.importorskip("torch")

PROGRAMS = Programs()


@pytest.fixture(autouse=True)
def without_global_hooks() -> Iterator[None]:
    yield
    for library in (dovetail, torch):
        module = library.nn.modules.module
        for name in ("forward_hooks", "forward_pre_hooks", "backward_hooks"):
            setattr(module, f"_global_{name}", OrderedDict())
        module._global_is_full_backward_hook = None  # PyTorch keeps the last one's kind


@PROGRAMS("the table of a handle")
def table_of_a_handle(lib: Any) -> Any:
    layer = lib.nn.Linear(1, 1)
    handles = [layer.register_forward_hook(lambda *a: None) for _ in range(2)]
    table = handles[0].hooks_dict_ref()
    handles[0].remove()
    return len(table), handles[1].hooks_dict_ref() is table, handles[1].id in table


@PROGRAMS("the table of the handle of a tensor")
def table_of_a_tensor(lib: Any) -> Any:
    handle = lib.ones(2, requires_grad=True).register_hook(lambda grad: grad)
    return type(handle.hooks_dict_ref).__name__, handle.extra_dict_ref


@PROGRAMS("assigning the tables of global hooks")
def assigned_tables(lib: Any) -> Any:
    module, calls = lib.nn.modules.module, []
    module.register_module_forward_pre_hook(lambda *a: calls.append("before"))
    module.register_module_forward_hook(lambda *a: calls.append("after"), always_call=True)
    module.register_module_full_backward_hook(lambda *a: calls.append("backward"))
    layer = lib.nn.Linear(1, 1)
    x = lib.ones(1, 1, requires_grad=True)
    layer(x).sum().backward()
    found = (
        len(module._global_forward_hooks),
        len(module._global_forward_hooks_always_called),
        len(module._global_forward_hooks_with_kwargs),
        len(module._global_backward_hooks),
        module._global_is_full_backward_hook,
    )
    module._global_forward_pre_hooks = OrderedDict()
    module._global_backward_hooks = OrderedDict()
    layer(x).sum().backward()
    module._global_forward_hooks = OrderedDict()
    layer(x).sum().backward()
    return calls, found


@PROGRAMS("assigning and deleting the tables of a module")
def tables_of_a_module(lib: Any) -> Any:
    layer, calls = lib.nn.Linear(1, 1), []
    layer.register_full_backward_hook(lambda *a: calls.append("backward"))
    layer.register_load_state_dict_post_hook(lambda *a: calls.append("loaded"))
    x = lib.ones(1, 1, requires_grad=True)
    layer(x).sum().backward()
    layer.load_state_dict(layer.state_dict())
    layer._backward_hooks = OrderedDict()
    layer._load_state_dict_post_hooks = OrderedDict()
    layer(x).sum().backward()
    layer.load_state_dict(layer.state_dict())
    return calls


OUTPUTS: dict[str, Any] = {
    "a dict": lambda x: {"x": x * 2},
    "a list": lambda x: [x * 2],
    "a tuple": lambda x: (x * 2,),
    "nothing": lambda x: None,
    "a number": lambda x: 3,
    "a tuple without tensors": lambda x: (3,),
}


@pytest.mark.parametrize("kind", ["register_full_backward_hook", "register_full_backward_pre_hook"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_outputs_that_backward_hooks_do_not_get_warn_as_there(kind: str, output: str) -> None:
    def program(lib: Any) -> Any:
        class Made(lib.nn.Module):  # type: ignore[misc]
            def forward(self, x: Any) -> Any:
                return OUTPUTS[output](x)

        module, calls = Made(), []
        getattr(module, kind)(lambda *a: calls.append(len(a)))
        made = module(lib.ones(2, requires_grad=True))
        while isinstance(made, (dict, list, tuple)):
            made = made["x"] if isinstance(made, dict) else made[0]
        if isinstance(made, lib.Tensor):
            made.sum().backward()
        return calls

    assert_same(program, warns=True, words=90)


@pytest.mark.parametrize("name", PROGRAMS)
def test_tables_of_hooks_are_as_there(name: str) -> None:
    assert_same(PROGRAMS[name])


def test_a_handle_does_not_hold_its_table() -> None:
    layer = dovetail.nn.Linear(1, 1)
    handle = layer.register_forward_hook(lambda *a: None)
    assert isinstance(handle.hooks_dict_ref, weakref.ref)
    del layer
    gc.collect()
    assert handle.hooks_dict_ref() is None
