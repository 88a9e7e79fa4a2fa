"""``squeeze_``, ``t_`` and their kin: a tensor shows what a view of it does; gradients follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from same_programs import Programs, assert_same, plain, tried

import dovetail

programs = Programs()


@programs("they return the tensor, count as a write, and leave other views alone")
def _(lib: Any) -> Any:
    x = lib.arange(6.0).view(2, 3)
    row = x[0]
    returned = x.t_()
    return returned is x, x._version, tuple(x.shape), x.stride(), tuple(row.shape), row._version


@programs("one after the other")
def _(lib: Any) -> Any:
    x = lib.arange(6.0).view(1, 2, 3, 1)
    shapes = []
    for change in (
        lambda: x.squeeze_(0),
        lambda: x.squeeze_((2,)),
        lambda: x.unsqueeze_(-1),
        lambda: x.transpose_(0, 1),
        lambda: x.swapaxes_(1, 2),
        lambda: x.swapdims_(0, 2),
        x.squeeze_,
        lambda: x.as_strided_((2, 2), (1, 2), 1),
        lambda: lib.as_strided_(x, (2,), (3,)),
    ):
        change()
        shapes.append((tuple(x.shape), x.tolist()))
    return shapes


@programs("a tensor without dimensions is one afterwards, in promotion too")
def _(lib: Any) -> Any:
    x = lib.tensor([3.0]).squeeze_()
    return x.dim(), (lib.ones(1, dtype=lib.int32) + x.to(lib.int64)).dtype


@programs("leaves and their views are refused in grad mode, and leaves stay leaves outside")
def _(lib: Any) -> Any:
    leaf = lib.ones(2, requires_grad=True)
    refused = [tried(lambda: leaf.unsqueeze_(0)), tried(lambda: leaf[0].unsqueeze_(0))]
    with lib.no_grad():
        leaf.unsqueeze_(0)
    return refused, tuple(leaf.shape), leaf.is_leaf, leaf._version


@programs("what does not fit changes nothing")
def _(lib: Any) -> Any:
    x = lib.ones(2)
    return tried(lambda: x.unsqueeze_(3)), tuple(x.shape), x._version


@programs("gradients go through each of them")
def _(lib: Any) -> Any:
    x = lib.arange(6.0, requires_grad=True)
    y = x * 1
    y.unsqueeze_(0).squeeze_().as_strided_((3, 2), (2, 1)).t_().transpose_(0, 1).swapaxes_(0, 1)
    (y * lib.arange(6.0).view(2, 3)).sum().backward()
    return tuple(y.shape), x.grad


@programs("gradients go through a base whose view changed its shape and was written")
def _(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    base = x * 1
    row = base[0]
    row.unsqueeze_(0)
    row.mul_(3)
    (base * lib.arange(6.0).view(2, 3)).sum().backward()
    return row._base is base, tuple(row.shape), x.grad


@programs("gradients go through a view whose base changed its shape and was written")
def _(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    base = x * 1
    flat = base.view(6)
    base.t_()
    base.mul_(lib.arange(6.0).view(3, 2))
    (flat * lib.arange(6.0)).sum().backward()
    return flat._base is base, x.grad


@programs("a saved tensor that changed its shape is a modified one")
def _(lib: Any) -> Any:
    x = lib.ones(2, 3, requires_grad=True)
    y = x * 2
    z = y * y
    y.t_()
    return tried(lambda: z.sum().backward(), words=60)


@programs("writes after them reach the memory")
def _(lib: Any) -> Any:
    x = lib.ones(2, 3)
    part = x[1:]
    part.t_()
    part.fill_(5)
    return x


@programs("writes reach every view of what changed its shape")
def _(lib: Any) -> Any:
    found = []
    for name, args in (
        ("t_", ()),
        ("unsqueeze_", (0,)),
        ("squeeze_", ()),
        ("transpose_", (0, 1)),
        ("swapaxes_", (0, 1)),
    ):
        for changed in range(3):
            for written in range(3):
                x = lib.arange(6.0).view(2, 3)
                tensors = [x, x[1:], x.view(6)]
                if tensors[changed].dim() == 2 or name in ("unsqueeze_", "squeeze_"):
                    getattr(tensors[changed], name)(*args)
                tensors[written].mul_(10)
                found += [each.tolist() for each in tensors]
    return found


@programs("inside of transforms")
def _(lib: Any) -> Any:
    def square(t: Any) -> Any:
        u = t * 2
        u.unsqueeze_(0)
        return (u**2).sum()

    def double(t: Any) -> Any:
        return t.unsqueeze(0).squeeze_(0) * 2

    captured = lib.ones(2, 3)
    return (
        lib.func.grad(square)(lib.ones(3)),
        lib.func.vmap(double)(lib.ones(2, 3)),
        tried(lambda: lib.func.grad(lambda t: (captured.t_() * t).sum())(lib.ones(())), words=0)[0],
        tuple(captured.shape),
    )


@programs("in inference mode, and as operators")
def _(lib: Any) -> Any:
    with lib.inference_mode():
        x = lib.ones(1, 2).squeeze_()
    y = lib.ones(2)
    return tuple(x.shape), tuple(lib.ops.aten.unsqueeze_(y, 0).shape), tuple(y.shape)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "swapdims_": lambda x: x.swapdims_(0, 1),
    "squeeze_": lambda x: x.squeeze_(),
    "squeeze_.dim": lambda x: x.squeeze_(1),
    "squeeze_.dims": lambda x: x.squeeze_((0, 1)),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "as_strided_": lambda x: x.as_strided_((2,), (1,)),
}


def _seen_in_modes(lib: Any, change: Callable[[Any], Any]) -> list[Any]:
    """Return what two modes, one in the other, see of a change, and what it leaves behind."""
    found: list[Any] = []

    class Noting(lib.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            result = func(*args, **(kwargs or {}))
            found.append((str(func), result is args[0]))
            return result

    for make in (lambda: lib.ones(2, 3), lambda: lib.ones(2, 3, requires_grad=True) * 2):
        for guard in (lib.enable_grad, lib.no_grad):
            x = make()
            with guard(), Noting(), Noting():
                found.append(tried(lambda x=x: change(x) is x, words=2))
            found += [tuple(x.shape), x.stride(), x._version, x.requires_grad, x.is_leaf]
            if x.requires_grad and guard is lib.enable_grad:
                found.append(lib.autograd.grad(x.sum(), x)[0].tolist())
    return found


@pytest.mark.parametrize("name", CHANGES)
def test_modes_see_the_operator_that_changes_the_shape(name: str) -> None:
    assert_same(lambda lib: _seen_in_modes(lib, CHANGES[name]))


def test_every_view_in_place_is_tried_in_modes() -> None:
    overloads = [
        getattr(getattr(dovetail.ops.aten, name), overload)
        for name in {each.split(".")[0] for each in dir(dovetail.ops.aten)}
        if name.endswith("_") and not name.startswith("_")
        for overload in getattr(dovetail.ops.aten, name).overloads()
    ]
    tagged = {each for each in overloads if dovetail.Tag.inplace_view in each.tags}
    assert {str(each)[5:].removesuffix(".default") for each in tagged} == {*CHANGES}


@pytest.mark.parametrize("name", programs)
def test_views_in_place(name: str) -> None:
    assert_same(lambda lib: plain(programs[name](lib)))
