"""An operator that writes and has no derivative: what it wrote is never differentiated silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dovetail
from dovetail.library import Library

VOID = "(Tensor(a!) x, Tensor y) -> ()"
SAME = "(Tensor(a!) x, Tensor y) -> Tensor(a!)"
MORE = "(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)"
RETURNED: dict[str, Callable[[Any, Any], Any]] = {
    VOID: lambda x, y: None,
    SAME: lambda x, y: x,
    MORE: lambda x, y: (x, y.detach() * 2),
}


def define(library: Library, schema: str, write: Callable[[Any, Any], object]) -> Any:
    def kernel(x: Any, y: Any) -> Any:
        write(x, y)
        return RETURNED[schema](x, y)

    library.define("write" + schema)
    library.impl("write", kernel, "CompositeExplicitAutograd")
    return getattr(dovetail.ops, library.ns).write


@pytest.fixture
def library() -> Any:
    with dovetail.library._scoped_library("writes_unknown", "DEF") as library:
        yield library


def unseen(x: Any, y: Any) -> None:
    x.data.mul_(y.data)


@pytest.mark.parametrize("schema", RETURNED)
@pytest.mark.parametrize("of", ["written", "other", "both"])
def test_backward_through_an_unrecorded_write_raises(
    library: Library, schema: str, of: str
) -> None:
    write = define(library, schema, unseen)
    x = dovetail.ones(2, requires_grad=of != "other") * 1
    write(x, dovetail.full((2,), 3.0, requires_grad=of != "written"))
    assert x.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match=r"backward through writes_unknown\.write\.default"):
        x.sum().backward()


@pytest.mark.parametrize("schema", RETURNED)
def test_a_view_that_was_written_unrecorded_raises_with_its_base(
    library: Library, schema: str
) -> None:
    write = define(library, schema, unseen)
    x = dovetail.ones(4, requires_grad=True) * 1
    write(x[1:3], dovetail.full((2,), 3.0))
    with pytest.raises(RuntimeError, match=r"backward through writes_unknown\.write\.default"):
        x.sum().backward()


@pytest.mark.parametrize("schema", RETURNED)
def test_a_kernel_of_differentiable_operators_records_its_own_write(
    library: Library, schema: str
) -> None:
    write = define(library, schema, lambda x, y: x.mul_(y))
    leaf = dovetail.ones(2, requires_grad=True)
    x, y = leaf * 2, dovetail.full((2,), 3.0, requires_grad=True)
    write(x, y)
    x.sum().backward()
    assert (leaf.grad.tolist(), y.grad.tolist()) == ([6.0, 6.0], [2.0, 2.0])


def test_nothing_is_marked_where_nothing_requires_grad(library: Library) -> None:
    write = define(library, VOID, unseen)
    x = dovetail.ones(2)
    write(x, dovetail.ones(2))
    assert not x.requires_grad


def test_a_leaf_that_requires_grad_is_refused_and_both_ways_out_are_named(library: Library) -> None:
    write = define(library, VOID, unseen)
    x = dovetail.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being") as caught:
        write(x, x)
    assert x.tolist() == [1.0, 1.0]
    assert "Do it in a no_grad() block" in str(caught.value)
    assert "impl('writes_unknown::write', fallthrough_kernel, 'Autograd')" in str(caught.value)
    with dovetail.no_grad():
        write(x, dovetail.full((2,), 3.0))
    assert x.tolist() == [3.0, 3.0]
    library.impl("write", dovetail.library.fallthrough_kernel, "Autograd")
    write(x, dovetail.full((2,), 2.0))
    assert x.tolist() == [6.0, 6.0]
