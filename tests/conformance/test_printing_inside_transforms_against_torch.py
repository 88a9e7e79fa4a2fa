"""What `repr`, `numpy`, `item` and `tolist` give inside of functions that are being transformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from devices import without_device
from same_programs import assert_same

import dovetail

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad:UserWarning"),
]

NESTS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda lib, f: lib.func.grad(f)(lib.ones(2)),
    "jvp": lambda lib, f: lib.func.jvp(f, (lib.ones(2),), (lib.ones(2),)),
    "vmap": lambda lib, f: lib.func.vmap(f)(lib.ones(3, 2)),
    "vmap over columns": lambda lib, f: lib.func.vmap(f, in_dims=1)(lib.ones(2, 3)),
    "vmap over the last": lambda lib, f: lib.func.vmap(f, in_dims=-1)(lib.ones(2, 3)),
    "vmap of grad": lambda lib, f: lib.func.vmap(lib.func.grad(f))(lib.ones(3, 2)),
    "grad of vmap": lambda lib, f: lib.func.grad(lambda x: lib.func.vmap(f)(x).sum())(
        lib.ones(3, 2)
    ),
    "grad of grad": lambda lib, f: lib.func.grad(lambda x: lib.func.grad(f)(x).sum())(lib.ones(2)),
    "jvp of grad": lambda lib, f: lib.func.jvp(lib.func.grad(f), (lib.ones(2),), (lib.ones(2),)),
    "grad of jvp": lambda lib, f: lib.func.grad(
        lambda x: lib.func.jvp(f, (x,), (lib.ones(2),))[1].sum()
    )(lib.ones(2)),
}


@pytest.mark.parametrize("nest", NESTS)
def test_the_wrappers_of_transforms_are_shown(nest: str) -> None:
    def program(lib: Any) -> Any:
        captured, shown = lib.zeros(2), []

        def function(x: Any) -> Any:
            made = lib.zeros(1)
            shown.extend([repr(each) for each in (x, x * 2, captured, made, x.sum())])
            return (x * x).sum()

        NESTS[nest](lib, function)
        return [*shown, repr(captured)]

    assert_same(program)


def test_a_wrapper_shows_no_graph_of_the_outside() -> None:
    """PyTorch shows the graph that is outside of the transform: here there is but one graph."""
    shown = []
    weight = dovetail.ones(2, requires_grad=True)

    def function(x: dovetail.Tensor) -> dovetail.Tensor:
        shown.extend([repr(x * weight), repr(weight)])
        return x.sum()

    dovetail.func.grad(function)(dovetail.ones(2))
    assert [without_device(each) for each in shown] == [
        "GradTrackingTensor(lvl=1, value=\n    tensor([1., 1.])\n)",
        "tensor([1., 1.], requires_grad=True)",
    ]


@pytest.mark.parametrize("nest", ["grad", "jvp", "grad of grad", "jvp of grad"])
def test_elements_are_read_alike(nest: str) -> None:
    def program(lib: Any) -> Any:
        seen = []

        def function(x: Any) -> Any:
            seen.extend([x[0].item(), float(x[1]), bool(x[0] > 0), (x * 2).sum().item()])
            return (x * x).sum()

        NESTS[nest](lib, function)
        return seen

    assert_same(program)


def test_data_of_a_dual_tensor_has_no_tangent() -> None:
    def program(lib: Any) -> Any:
        def function(x: Any) -> Any:
            x.data.mul_(x)
            return (x.data * x).sum()

        x = lib.tensor([2.0, 3.0])
        value, tangent = lib.func.jvp(function, (x,), (lib.ones(2),))
        return value.item(), tangent.item()

    assert_same(program)


def test_detaching_in_place_drops_the_tangent() -> None:
    def program(lib: Any) -> Any:
        def function(x: Any) -> Any:
            y = x * 2
            y.detach_()
            return x * y

        results = lib.func.jvp(function, (lib.ones(2),), (lib.ones(2),))
        return [each.tolist() for each in results]

    assert_same(program)
