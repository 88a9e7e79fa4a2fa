"""Inference mode and its tensors: what they are, what may save them and what may write to them, as
in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from same_programs import Program, Programs, assert_same, chain, tried


def inference(lib: Any, values: Any = (2.0, 4.0)) -> Any:
    with lib.inference_mode():
        return lib.tensor(values)


def view_in_inference_mode(lib: Any) -> Any:
    x = lib.ones(3, requires_grad=True)
    with lib.inference_mode():
        view = x[1:]
    return lib.tensor(
        [view.is_inference(), view.requires_grad, view._is_view(), x.data.is_inference()]
    )


def view_of_an_inference_tensor(lib: Any) -> Any:
    view = inference(lib)[1:]
    return lib.tensor([view.is_inference(), view._is_view()])


def same(lib: Any, *, mode: str) -> Any:
    class Same(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    x = lib.ones(2, requires_grad=True)
    with getattr(lib, mode)():
        result = Same.apply(x)
    return lib.tensor(
        [result.requires_grad, result._is_view(), result.is_inference(), result.is_leaf]
    )


def views_in_inference_mode(lib: Any) -> Any:
    n, i = lib.ones(2, 2), inference(lib)
    with lib.inference_mode():
        made = [n[0], n.t(), n.detach(), n.view(4), n.clone(), i[0]]
    return [each.is_inference() for each in (*made, i[0], i.view(2, 1), i + 1, i.data, i.detach())]


def view_written_in_inference_mode(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    with lib.inference_mode():
        y[0].add_(1)
    z.backward()


def view_written_later(lib: Any) -> Any:
    n = lib.ones(2, requires_grad=True)
    with lib.inference_mode():
        v = n[0]
    v.add_(1)


def changed_memory(lib: Any, name: str, *, inside: bool) -> Any:
    """Return an inference tensor whose memory is changed, in inference mode or after it."""
    changes: dict[str, Callable[[Any], Any]] = {
        "resize_": lambda x: x.resize_(3),
        "resize_as_": lambda x: x.resize_as_(lib.ones(1)),
        "set_": lambda x: x.set_(lib.ones(3)),
        "add_": lambda x: x.add_(1),
        "out=": lambda x: lib.add(lib.ones(2), 1, out=x),
        "copy_": lambda x: x.copy_(lib.ones(2)),
        "an element": lambda x: x.__setitem__(0, 7),
        "zero_": lambda x: x.zero_(),
    }
    x = inference(lib)
    with lib.inference_mode(inside):
        changes[name](x)
        return lib.tensor([*x.shape, *x[:1].reshape(-1).tolist()])


CHANGES = ("resize_", "resize_as_", "set_", "add_", "out=", "copy_", "an element", "zero_")

PROGRAMS = Programs(
    {
        **{
            f"memory that is changed {when} inference mode: {name}": partial(
                changed_memory, name=name, inside=when == "in"
            )
            for when in ("in", "after")
            for name in CHANGES
        },
        "a view in inference mode is as normal as its source": view_in_inference_mode,
        "a view of an inference tensor is one": view_of_an_inference_tensor,
        "an inference tensor is not saved": lambda lib: (
            lib.ones(3, requires_grad=True) * inference(lib, (1.0, 1.0, 1.0))
        ),
        "an inference tensor is no out=": lambda lib: lib.add(
            lib.ones(3), 1, out=inference(lib, (1.0, 1.0, 1.0))
        ),
        "an input returned in no_grad mode": lambda lib: same(lib, mode="no_grad"),
        "an input returned in inference mode": lambda lib: same(lib, mode="inference_mode"),
        "views in inference mode": views_in_inference_mode,
        "a view written in inference mode": view_written_in_inference_mode,
        "a view of inference mode written later": view_written_later,
    }
)

FORMULAS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul": lambda lib, x, i: x * i,
    "mul in place": lambda lib, x, i: (x * 1).mul_(i),
    "div": lambda lib, x, i: x / i,
    "div of it": lambda lib, x, i: i / x,
    "add": lambda lib, x, i: x + i,
    "mm": lambda lib, x, i: lib.mm(x[None], i[:, None]),
    "pow": lambda lib, x, i: lib.pow(i, x),
    "atan2": lambda lib, x, i: lib.atan2(x, i),
    "maximum": lambda lib, x, i: lib.maximum(x, i),
    "mse_loss": lambda lib, x, i: lib.nn.functional.mse_loss(x, i),
    "addcmul": lambda lib, x, i: lib.addcmul(x, i, i),
    "layer_norm": lambda lib, x, i: lib.nn.functional.layer_norm(x, (2,), i),
    "embedding": lambda lib, x, i: lib.nn.functional.embedding(i.long() - 1, x[:, None]),
    "cat": lambda lib, x, i: lib.cat([x, i]),
    "of its own": lambda lib, x, i: i.exp(),
}
PROGRAMS |= {
    f"an inference tensor in {each}": lambda lib, f=formula: (
        f(lib, lib.ones(2, requires_grad=True), inference(lib, (1.0, 1.0))).requires_grad
    )
    for each, formula in FORMULAS.items()
}

# Found by random programs.

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "div_": lambda lib, x: x.div_(inference(lib)),
    "mul_": lambda lib, x: x.mul_(inference(lib)),
    "pow_": lambda lib, x: x.pow_(inference(lib)),
    "addcmul_": lambda lib, x: x.addcmul_(inference(lib), lib.ones(2, requires_grad=True)),
    "lerp_": lambda lib, x: x.lerp_(lib.ones(2, requires_grad=True), inference(lib)),
    "masked_fill_": lambda lib, x: x.masked_fill_(inference(lib, [True, False]), 2.0),
    "index_put_": lambda lib, x: x.index_put_((inference(lib, [0]),), lib.ones(())),
    "assignment to a mask": lambda lib, x: x.__setitem__(inference(lib, [True, False]), 1.0),
    "add_, which saves nothing": lambda lib, x: x.add_(inference(lib)),
}


def refused_write(write: Callable[[Any, Any], Any]) -> Program:
    def run(lib: Any) -> Any:
        x = lib.ones(2, requires_grad=True) * 3
        found = tried(lambda: write(lib, x))
        return found, x.tolist(), x._version, chain(x)

    return run


PROGRAMS |= {
    f"{name} that would save an inference tensor": refused_write(write)
    for name, write in WRITES.items()
}


@PROGRAMS("writes to what was detached from an inference tensor")
def _(lib: Any) -> Any:
    i = inference(lib)
    ways = [
        i.detach(),
        i.data,
        i.view(-1).detach(),
        i.detach().detach(),
        i,
        i.view(-1),
        i[0:],
        i.unbind()[0],
    ]
    with lib.inference_mode():
        ways.append(i.detach())
    return [
        (
            each.is_inference(),
            tried(lambda each=each: each.mul_(2)),
            tried(lambda each=each: each._version),
        )
        for each in ways
    ]


@PROGRAMS("a recorded write to what was detached from an inference tensor")
def _(lib: Any) -> Any:
    x, w = inference(lib).detach(), lib.ones(2, requires_grad=True)
    x.add_(w * 2)
    x.sum().backward()
    return x.is_inference(), chain(x), w.grad.tolist(), tried(lambda: x * w)


@PROGRAMS("a Function that writes to what was detached from an inference tensor")
def _(lib: Any) -> Any:
    class Double(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

    return Double.apply(inference(lib).detach())


@PROGRAMS("an inference tensor that asks for gradients is resized")
def _(lib: Any) -> Any:
    with lib.inference_mode():
        x = lib.ones(4, requires_grad=True)
        x.resize_(2)
        x.resize_as_(lib.ones(1, 2))
    return tuple(x.shape), x.requires_grad, tried(lambda: x.resize_(3))


@PROGRAMS("detach_ of a view in the modes")
def _(lib: Any) -> Any:
    def detached(mode: Any) -> Any:
        view = lib.ones(3)[1:]
        with mode():
            return view.detach_() is view, view._is_view()

    return [
        tried(lambda mode=mode: detached(mode))
        for mode in (lib.inference_mode, lib.no_grad, lib.enable_grad)
    ]


@PROGRAMS("views in place of an inference tensor")
def _(lib: Any) -> Any:
    calls: list[Callable[[Any], Any]] = [
        lambda x: x.transpose_(0, 1),
        lambda x: x.swapaxes_(0, 1),
        lambda x: x.swapdims_(0, 1),
        lambda x: x.t_(),
        lambda x: x.squeeze_(),
        lambda x: x.squeeze_(0),
        lambda x: x.unsqueeze_(0),
        lambda x: x.as_strided_((2,), (1,)),
    ]
    found = []
    for call in calls:
        refused = tried(lambda call=call: call(inference(lib, [[1.0, 2.0]])))
        with lib.inference_mode():
            found.append((refused, tuple(call(lib.ones(1, 2)).shape)))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=35, close=True, warns=True)
