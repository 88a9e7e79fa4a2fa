"""The methods of ``nn.Module`` beside PyTorch."""

# ruff: noqa: PLC3002, PLW0108 - lambdas say what a case is about

import copy
import pickle
from typing import Any

import pytest
import torch
from same_programs import Programs, assert_same, plain

import dovetail


def cases(lib):
    nn = lib.nn
    found = {}

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 3)
            self.b = nn.Sequential(nn.Linear(3, 1), nn.ReLU())
            self.register_buffer("c", lib.ones(2))
            self.d = None
            self.e = nn.Parameter(lib.ones(1))

        def forward(self, x):
            return self.b(self.a(x))

    def net():
        return Net()

    def setsub(target, m, **k):
        n = net()
        n.set_submodule(target, m, **k)
        return n

    found["set sub"] = lambda: setsub("b.0", nn.Identity())
    found["set sub new"] = lambda: setsub("b.x", nn.Identity())
    found["set sub top"] = lambda: setsub("a", nn.Identity())
    found["set sub empty"] = lambda: setsub("", nn.Identity())
    found["set sub notmod"] = lambda: setsub("a", 3)
    found["set sub none"] = lambda: setsub("a", None)
    found["set sub through param"] = lambda: setsub("e.x", nn.Identity())
    found["set sub param"] = lambda: setsub("e", nn.Identity())
    found["get sub"] = lambda: net().get_submodule("b.0")
    found["get sub e"] = lambda: net().get_submodule("e")
    found["get sub z"] = lambda: net().get_submodule("b.z")
    found["get par"] = lambda: net().get_parameter("a.bias").shape
    found["get par c"] = lambda: net().get_parameter("c")
    found["get buf"] = lambda: net().get_buffer("c")
    found["get buf a"] = lambda: net().get_buffer("a")
    found["get buf e"] = lambda: net().get_buffer("e")
    found["get none"] = lambda: net().get_parameter("zz")
    found["sd pos"] = lambda: list(net().state_dict({}, "x."))
    found["sd pos3"] = lambda: list(net().state_dict({}, "x.", True))
    found["sd pos4"] = lambda: list(net().state_dict({}, "x.", True, 1))
    found["share"] = lambda: (lambda n: (n.share_memory() is n, n.e.is_shared()))(net())

    class S(nn.Module):
        call_super_init = True

    found["csi"] = lambda: nn.Module.call_super_init
    found["dump"] = lambda: nn.Module.dump_patches
    found["compile"] = lambda: callable(net().compile)
    found["call_impl"] = lambda: net()._call_impl(lib.ones(1, 2)).shape
    found["hooks"] = lambda: (
        lambda n: (
            n.register_forward_hook(lambda *a: None),
            n.register_forward_pre_hook(lambda *a: None, with_kwargs=True),
            len(n._forward_hooks),
            len(n._forward_pre_hooks),
            len(n._backward_hooks),
            n._is_full_backward_hook,
            len(n._forward_pre_hooks_with_kwargs),
            len(n._forward_hooks_always_called),
            len(n._state_dict_hooks),
        )[2:]
    )(net())

    def clear():
        n = net()
        k = []
        n.register_forward_hook(lambda *a: k.append(1))
        n(lib.ones(1, 2))
        n._forward_hooks.clear()
        n(lib.ones(1, 2))
        return k

    found["clear"] = clear

    def clear2():
        from collections import OrderedDict

        n = net()
        k = []
        n.register_forward_hook(lambda *a: k.append(1))
        n(lib.ones(1, 2))
        n._forward_hooks = OrderedDict()
        n(lib.ones(1, 2))
        return k

    found["clear2"] = clear2

    def manual():
        n = net()
        k = []
        n._forward_hooks[5] = lambda *a: k.append(1)
        n(lib.ones(1, 2))
        return k, list(n._forward_hooks)

    found["manual"] = manual

    def full():
        n = net()
        n.register_full_backward_hook(lambda *a: None)
        return n._is_full_backward_hook, len(n._backward_hooks), len(n._backward_pre_hooks)

    found["full"] = full

    def full2():
        n = net()
        n.register_full_backward_hook(lambda *a: None)
        n.register_backward_hook(lambda *a: None)

    found["full2"] = full2

    def sdh():
        n = net()
        n._register_state_dict_hook(lambda m, sd, p, md: {"x": 1})
        return n.state_dict()

    found["sdh"] = sdh

    def sdh2():
        n = net()
        n.register_state_dict_post_hook(lambda m, sd, p, md: {"x": 1})
        return n.state_dict()

    found["sdh2"] = sdh2

    def sdh3():
        n = net()
        n.register_state_dict_pre_hook(lambda m, p, k: None)
        n.register_state_dict_post_hook(lambda m, sd, p, md: sd.pop(p + "e") and None)
        return list(n.state_dict()), len(n._state_dict_hooks), len(n._state_dict_pre_hooks)

    found["sdh3"] = sdh3

    def ldp():
        n = net()
        r = []
        n.register_load_state_dict_post_hook(
            lambda m, k: r.append((type(m).__name__, list(k.missing_keys)))
        )
        n.load_state_dict({}, strict=False)
        return r

    found["ldp"] = ldp

    def ldp2():
        n = net()
        n.register_load_state_dict_post_hook(lambda m, k: k.missing_keys.clear())
        return n.load_state_dict({})

    found["ldp2"] = ldp2

    def ldpre():
        n = net()
        r = []
        n._register_load_state_dict_pre_hook(lambda *a: r.append(len(a)))
        n._register_load_state_dict_pre_hook(lambda *a: r.append(len(a)), with_module=True)
        n.register_load_state_dict_pre_hook(lambda *a: r.append(len(a)))
        n.load_state_dict(n.state_dict())
        return r, len(n._load_state_dict_pre_hooks)

    found["ldpre"] = ldpre
    found["setstate"] = lambda: (
        lambda n: (
            n.__setstate__({"training": False, "_parameters": {}, "_buffers": {}, "_modules": {}}),
            n.training,
            n,
        )
    )(nn.Module())
    found["type"] = lambda: [p.dtype for p in net().type(lib.float64).parameters()]
    found["half"] = lambda: (
        net().half().e.dtype,
        net().bfloat16().c.dtype,
        net().double().float().e.dtype,
    )
    found["to_empty"] = lambda: net().to("meta").to_empty(device="cpu").e.device.type
    found["to int"] = lambda: net().to(lib.int32)
    found["to mf"] = lambda: net().to(memory_format=lib.channels_last)
    found["to mf2"] = lambda: (
        nn.Conv2d(2, 3, 3)
        .to(memory_format=lib.channels_last)
        .weight.is_contiguous(memory_format=lib.channels_last)
    )
    found["to mf3"] = lambda: (
        nn.Conv3d(2, 3, 3).to(memory_format=lib.channels_last_3d).weight.stride()
    )
    found["ipu"] = lambda: callable(net().ipu) and callable(net().xpu) and callable(net().mtia)
    found["apply"] = lambda: (lambda r: (net().apply(lambda m: r.append(type(m).__name__)), r)[1])(
        []
    )
    found["rg"] = lambda: [p.requires_grad for p in net().requires_grad_(False).parameters()]
    found["dir"] = lambda: [x for x in dir(net()) if x in ("a", "b", "c", "d", "e", "0", "weight")]
    found["dirseq"] = lambda: "0" in dir(nn.Sequential(nn.ReLU()))
    found["nm"] = lambda: [n for n, _ in net().named_modules(prefix="p")]
    found["np"] = lambda: [n for n, _ in net().named_parameters("p", recurse=False)]

    def shared():
        n = net()
        n.f = n.a
        return (
            [[k for k, _ in n.named_parameters(remove_duplicate=x)] for x in (True, False)],
            [k for k, _ in n.named_modules(remove_duplicate=False)],
            [k for k, _ in n.named_children()],
            [k for k, _ in n.named_buffers("q")],
        )

    found["shared"] = shared
    found["modules"] = lambda: [type(m).__name__ for m in net().modules()]
    found["deepcopy"] = lambda: (
        lambda n: copy.deepcopy(n)(lib.ones(1, 2)).equal(n(lib.ones(1, 2)))
    )(net())
    found["deepcopy hooks"] = lambda: (
        lambda n: (n.register_forward_hook(lambda *a: None), len(copy.deepcopy(n)._forward_hooks))[
            1
        ]
    )(net())
    found["copy"] = lambda: (
        lambda n: (lambda c: (c.e is n.e, c._parameters is n._parameters))(copy.copy(n))
    )(net())
    found["pickle"] = lambda: (
        lambda n: pickle.loads(pickle.dumps(n))(lib.ones(1, 2)).equal(n(lib.ones(1, 2)))
    )(nn.Sequential(nn.Linear(2, 2)))
    found["T_dest"] = lambda: hasattr(nn.Module, "T_destination")
    found["setattr before"] = lambda: type(
        "X", (nn.Module,), {"__init__": lambda s: setattr(s, "a", nn.Linear(1, 1))}
    )()
    found["setattr before p"] = lambda: type(
        "X", (nn.Module,), {"__init__": lambda s: setattr(s, "a", nn.Parameter(lib.ones(1)))}
    )()
    found["setattr before b"] = lambda: type(
        "X", (nn.Module,), {"__init__": lambda s: setattr(s, "a", nn.Buffer(lib.ones(1)))}
    )()
    found["getattr before"] = lambda: type("X", (nn.Module,), {"__init__": lambda s: s.foo})()
    found["Buffer attr"] = lambda: (
        lambda m: (
            setattr(m, "x", nn.Buffer(lib.ones(1), persistent=False)),
            list(m._buffers),
            m._non_persistent_buffers_set,
        )
    )(nn.Module())
    found["train str"] = lambda: net().train("a")
    found["add_module"] = lambda: net().add_module("a.b", nn.ReLU())
    found["reg mod"] = lambda: net().register_module("forward", nn.ReLU())
    found["assign"] = lambda: (
        lambda n, s: (
            n.load_state_dict(s, assign=True),
            n.e is s["e"],
            n.e.data_ptr() == s["e"].data_ptr(),
            type(n.e).__name__,
        )
    )(net(), net().state_dict())
    found["load list"] = lambda: net().load_state_dict([1])
    return found


def override(lib: Any, method: Any) -> Any:
    """Return what a class registers whose `register_buffer` is `method`, for both kinds of
    buffers.
    """

    class Overriding(lib.nn.Module):  # type: ignore[misc, name-defined]
        register_buffer = method

    module = Overriding()
    for name, is_persistent in (("a", True), ("b", False)):
        try:
            setattr(module, name, lib.nn.Buffer(lib.ones(1), persistent=is_persistent))
        except RuntimeError as error:
            yield type(error)
    yield list(module._buffers), sorted(module._non_persistent_buffers_set)


@pytest.mark.parametrize(
    "method",
    [
        lambda self, name, value: super(type(self), self).register_buffer(name, value),
        lambda self, *args: super(type(self), self).register_buffer(*args),
        lambda self, name, tensor, **rest: super(type(self), self).register_buffer(name, tensor),
        lambda self, name, value, persistent: super(type(self), self).register_buffer(
            name, value, persistent
        ),
    ],
)
def test_register_buffer_is_overridden_with_and_without_persistent(method: Any) -> None:
    assert list(override(dovetail, method)) == list(override(torch, method))


programs = Programs()
for name in cases(torch):
    programs(name)(lambda lib, name=name: plain(cases(lib)[name](), 5))


@pytest.mark.parametrize("name", programs)
def test_it_does_the_same(name: str) -> None:
    assert_same(programs[name], words=18, warns=False)


def test_modules_warn_of_complex_dtypes() -> None:
    for lib in (dovetail, torch):
        with pytest.warns(UserWarning, match="Complex modules are a new feature"):
            lib.nn.Linear(1, 1).to(lib.complex64)
