"""Tensors that share memory on arrays that cannot be written: what one writes all others show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from frozen_arrays import unwritten_and_written

import dovetail as lib

pytestmark = pytest.mark.cpu_only(reason="the tests make backends of their own")

PROGRAMS: dict[str, Callable[[str], Any]] = {}


def program(name: str) -> Callable[[Callable[[str], Any]], Callable[[str], Any]]:
    def keep(function: Callable[[str], Any]) -> Callable[[str], Any]:
        PROGRAMS[name] = function
        return function

    return keep


def zeros(device: str, *shape: int) -> Any:
    return lib.zeros(*shape, device=device)


@program("data of another tensor, which is written")
def _(device: str) -> Any:
    x = zeros(device, 2)
    y = zeros(device, 2)
    x.data = y
    y.add_(1)
    return x.tolist()


@program("data of another tensor, written")
def _(device: str) -> Any:
    x = zeros(device, 2)
    y = zeros(device, 2)
    x.data = y
    x.add_(1)
    return y.tolist()


@program("the data of a matrix that is transposed in place")
def _(device: str) -> Any:
    x = zeros(device, 2, 3)
    y = x.data
    x.t_()
    x.add_(1)
    return y.tolist(), x.tolist()


@program("a row of a matrix transposed in place")
def _(device: str) -> Any:
    x = zeros(device, 2, 3)
    x.t_()
    x[0].add_(1)
    x.t_()
    return x.tolist()


@program("a row taken before its base is transposed")
def _(device: str) -> Any:
    x = zeros(device, 2, 3)
    v = x[0]
    x.t_()
    v.add_(1)
    return x.tolist()


@program("a column with a dimension put in")
def _(device: str) -> Any:
    x = zeros(device, 2, 3)
    v = x[:, 0]
    v.unsqueeze_(0)
    x.add_(1)
    v.mul_(3)
    return x.tolist(), v.tolist()


@program("dimensions taken away, put in and swapped")
def _(device: str) -> Any:
    x = zeros(device, 2, 3).squeeze_()
    x.unsqueeze_(0)
    w = x[0]
    x.transpose_(1, 2)
    w.add_(lib.arange(3.0, device=device))
    return x.tolist(), w.tolist()


@program("a detached tensor transposed in place")
def _(device: str) -> Any:
    x = zeros(device, 2, 3)
    v = x.detach()
    v.t_()
    v.add_(1)
    return x.tolist()


@program("the tensor of a parameter")
def _(device: str) -> Any:
    x = zeros(device, 4)
    p = lib.nn.Parameter(x)
    x.add_(1)
    return p.tolist()


@program("the data of a parameter")
def _(device: str) -> Any:
    x = zeros(device, 4)
    p = lib.nn.Parameter(x)
    p.data.add_(1)
    return x.tolist(), p.tolist()


@program("a parameter with other data")
def _(device: str) -> Any:
    x = zeros(device, 4)
    p = lib.nn.Parameter(x)
    p.data = zeros(device, 2)
    x.add_(1)
    return x.tolist(), p.tolist()


@program("a detached transpose")
def _(device: str) -> Any:
    x = zeros(device, 2, 3)
    v = x.T
    w = v.detach()
    x[0].add_(1)
    return w.tolist()


@program("the data of a view")
def _(device: str) -> Any:
    x = zeros(device, 2, 3)
    v = x.view(6)
    w = v.data
    w[0] = 9
    return x.tolist(), v.tolist()


@program("a state_dict")
def _(device: str) -> Any:
    m = lib.nn.Linear(2, 2, device=device)
    kept = m.state_dict()
    with lib.no_grad():
        m.weight.fill_(2)
    return kept["weight"].tolist()


@program("two names")
def _(device: str) -> Any:
    x = zeros(device, 3)
    y = x
    x += 1
    y -= 3
    return x.tolist()


@program("gradients of a transposed result")
def _(device: str) -> Any:
    a = zeros(device, 2, 2)
    b = a.clone().requires_grad_()
    c = b * 1
    c.t_()
    c[0] = a[0] + 5
    c.sum().backward()
    return c.tolist(), b.grad.tolist()


@program("gradients of a row and its transposed base")
def _(device: str) -> Any:
    x = lib.ones(2, 3, device=device).requires_grad_()
    y = x * 1
    r = y[0]
    y.t_()
    y.mul_(2)
    r.add_(1)
    (y * y).sum().backward()
    return x.grad.tolist(), r.tolist()


@program("gradients of a view whose base is transposed and written")
def _(device: str) -> Any:
    x = lib.ones(2, 3, device=device).requires_grad_()
    base = x * 1
    flat = base.view(6)
    base.t_()
    base.mul_(lib.arange(6.0, device=device).view(3, 2))
    (flat * lib.arange(6.0, device=device)).sum().backward()
    return x.grad.tolist(), flat.tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_write_is_seen_as_in_memory(name: str) -> None:
    found, wanted = (PROGRAMS[name](device) for device in unwritten_and_written())
    assert found == wanted
