"""Views whose base is written, and writes to views: nodes, versions and gradients, as in
PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same, chain

import dovetail

VIEWS = {f"{name}Backward0" for name in ("Alias", "AsStrided", "Select", "Slice", "View")}


def chain_of_views(tensor: Any) -> list[str]:
    """Return what `chain` does. Where arrays have no strides, a view of a base that was written is
    made again by its view operators, which have no one node that shows any place in memory: there
    each run of such nodes, of either library, is called "views".
    """
    if dovetail.empty(0)._backend.arrays.mutable_arrays:
        return chain(tensor)
    names: list[str] = []
    for name in chain(tensor):
        name = "views" if name in VIEWS else name
        if names[-1:] != [name] or name != "views":
            names.append(name)
    return names


def write_to_a_view(lib: Any, name: str) -> Any:
    x = lib.ones(3, requires_grad=True)
    y = x * 4
    getattr(y[1:], name)()
    (grad,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
    (grad * grad).sum().backward()
    return x.grad


def kept_gradient_of_a_view(lib: Any) -> Any:
    base = lib.ones(4, requires_grad=True) * 1
    view = base.view(2, 2)
    view.retain_grad()
    view.mul_(3)
    (base * base).sum().backward()
    return view.grad


def gradient_of_a_transposed_write(lib: Any) -> Any:
    x = lib.arange(9, dtype=lib.float64).reshape(3, 3).t().detach().requires_grad_()
    y = x + 1
    y.t()[0].mul_(-1)
    (grad,) = lib.autograd.grad((y * y).sum(), x, create_graph=True)
    ((grad * grad).sum() + (y * y).sum()).backward()
    return x.grad.detach()


PROGRAMS = Programs(
    {
        "exp_ of a view is differentiated twice": lambda lib: write_to_a_view(lib, "exp_"),
        "sqrt_ of a view is differentiated twice": lambda lib: write_to_a_view(lib, "sqrt_"),
        "a view keeps its gradient after a write": kept_gradient_of_a_view,
        "a write to a transposed tensor is differentiated twice": gradient_of_a_transposed_write,
    }
)


# Found by random programs.


@PROGRAMS("a view of numbers as complex, its base written later")
def _(lib: Any) -> Any:
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    v = lib.view_as_complex(y)
    y.mul_(2)
    (v * v.conj()).real.sum().backward()
    return chain(v), x.grad.tolist()


@PROGRAMS("a part of a view of numbers as complex, its base written later")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    v = lib.view_as_complex(y[2:].view(1, 2))
    y.mul_(2)
    (v * v.conj()).real.sum().backward()
    return chain_of_views(v), x.grad.tolist()


@PROGRAMS("views of complex numbers as real, their base written later")
def _(lib: Any) -> Any:
    found = []
    for view in (
        lib.view_as_real,
        lambda y: y.real,
        lambda y: y.imag,
        lambda y: lib.view_as_real(y)[:, 1],
    ):
        x = lib.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        y = x * 1
        v = view(y)
        y.mul_(2)
        names = chain_of_views(v)
        (v * v).sum().backward()
        found.append((names, x.grad.tolist()))
    return found


@PROGRAMS("a view of numbers as complex, written")
def _(lib: Any) -> Any:
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    v = lib.view_as_complex(y)
    v.mul_(2j)
    names = chain(y), chain(v)
    (y * y * lib.tensor([1.0, 3.0])).sum().backward()
    return names, x.grad.tolist()


@PROGRAMS("a part of a view of numbers as complex, written")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 2
    lib.view_as_complex(y[2:].view(1, 2)).mul_(1j)
    (y * lib.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    return chain(y), x.grad.tolist()


@PROGRAMS("views of complex numbers as real, written")
def _(lib: Any) -> Any:
    found = []
    for view in (
        lib.view_as_real,
        lambda y: y.real,
        lambda y: y.imag,
        lambda y: lib.view_as_real(y[1:])[:, 1],
    ):
        x = lib.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        y = x * 1
        view(y).mul_(3)
        (y * y.conj()).real.sum().backward()
        found.append((chain(y), x.grad.tolist()))
    return found


@PROGRAMS("a view whose base was detached in place and then written is a constant")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    v, untouched = y[0], (x * 2)[0]
    y.detach_()
    y.mul_(3)
    (v * 5 + untouched).backward()
    return chain_of_views(v), v.requires_grad, v.is_leaf, x.grad.tolist()


@PROGRAMS("a view whose base requires grad no more and was written is a constant")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    v = x.view(2)
    x.requires_grad_(False)
    before = chain_of_views(v)
    x.mul_(3)
    (v * 2).sum().backward()
    return before, chain_of_views(v), v.requires_grad, x.grad


@PROGRAMS("one of several views whose base was detached in place and then written")
def _(lib: Any) -> Any:
    y = lib.ones(2, requires_grad=True) * 2
    v = y.unbind()[1]
    y.detach_()
    y.mul_(2)
    return v.grad_fn


@PROGRAMS("the node of a view asked for in inference mode after a write to its base")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    v = y[0]
    y.mul_(3)
    with lib.inference_mode():
        names = chain_of_views(v)
    v.backward()
    return names, chain_of_views(v), x.grad.tolist()


@PROGRAMS("slices that take all of a dimension")
def _(lib: Any) -> Any:
    x, index = lib.ones(2, 2, requires_grad=True), lib.tensor([0, 1])
    whole = slice(0, 2)
    indices = [
        (whole, slice(1, None)),
        (slice(None), index),
        (whole, index),
        (slice(1, None), index),
        (index, slice(None)),
        (index, whole),
        (slice(None), None),
        (whole, None),
        (..., whole),
        (0, whole),
        whole,
        slice(None),
    ]
    return [chain(x[each]) for each in indices]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)
