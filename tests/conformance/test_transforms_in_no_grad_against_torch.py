"""Transforms of functions where grad mode is off, or inference mode on: nothing that they return
requires grad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from same_programs import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

Transformed = Callable[[Any, Any, Any], Any]


def pulled_back(lib: Any, weight: Any, x: Any) -> Any:
    output, pull_back = lib.func.vjp(lambda u: u * u * weight, x)
    return output, *pull_back(output)


def pulled_back_later(lib: Any, weight: Any, x: Any) -> Any:
    with lib.enable_grad():
        output, pull_back = lib.func.vjp(lambda u: u * u * weight, x)
    return pull_back(output)


def pulled_back_to_captured(lib: Any, weight: Any, x: Any) -> Any:
    return lib.func.vjp(lambda w: w * x, weight)[1](x)


def pushed(lib: Any, weight: Any, x: Any) -> Any:
    return lib.func.jvp(lambda u: u * u * weight, (x,), (x,))


TRANSFORMED: dict[str, Transformed] = {
    "grad": lambda lib, w, x: lib.func.grad(lambda u: (u * u * w).sum())(x),
    "grad of grad": lambda lib, w, x: lib.func.grad(
        lambda u: lib.func.grad(lambda v: (v * v * w).sum())(u).sum()
    )(x),
    "value": lambda lib, w, x: lib.func.grad_and_value(lambda u: (u * u * w).sum())(x),
    "hessian": lambda lib, w, x: lib.func.hessian(lambda u: (u**3 * w).sum())(x),
    "jacrev": lambda lib, w, x: lib.func.jacrev(lambda u: u * u * w)(x),
    "jacfwd": lambda lib, w, x: lib.func.jacfwd(lambda u: u * u * w)(x),
    "jvp": pushed,
    "vjp": pulled_back,
    "vjp called later": pulled_back_later,
    "vjp of what is captured": pulled_back_to_captured,
}


def states(results: Any) -> list[Any]:
    """Return whether results require grad, and their values."""
    each = results if isinstance(results, tuple) else (results,)
    return [(one.requires_grad, one.tolist()) for one in each]


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("mapped", [True, False], ids=["in vmap", "alone"])
@pytest.mark.parametrize("where", ["inside", "outside", "nowhere"])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_results_require_grad_where_grad_mode_is_on(
    name: str, where: str, mapped: bool, requires_grad: bool
) -> None:
    def program(lib: Any) -> Any:
        weight = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        x = lib.arange(1.0, 7.0).reshape(2, 3).requires_grad_(requires_grad)

        def call(row: Any) -> Any:
            return TRANSFORMED[name](lib, weight, row)

        if where == "inside":
            call = lib.no_grad()(call)
        whole = lib.func.vmap(call) if mapped else call
        with lib.set_grad_enabled(where != "outside"):
            return states(whole(x if mapped else x[0]))

    assert_same(program)


@pytest.mark.parametrize("captured", ["inside", "outside"])
@pytest.mark.parametrize("where", ["inside", "outside"])
@pytest.mark.parametrize("mapped", [True, False], ids=["in vmap", "alone"])
@pytest.mark.parametrize("name", sorted({*TRANSFORMED} - {"vjp called later"}))
def test_functions_are_differentiated_in_inference_mode(
    name: str, mapped: bool, where: str, captured: str
) -> None:
    def program(lib: Any) -> Any:
        weight = lib.tensor([1.0, 2.0, 3.0])
        x = lib.arange(1.0, 7.0).reshape(2, 3)
        with lib.inference_mode():
            if where == "inside":
                x = x * 1
            if captured == "inside":
                weight = weight * 1

            def call(row: Any) -> Any:
                results = TRANSFORMED[name](lib, weight, row)
                each = results if isinstance(results, tuple) else (results,)
                kinds.append([one.is_inference() for one in each])
                return results

            kinds: list[Any] = []
            results = (lib.func.vmap(call) if mapped else call)(x if mapped else x[0])
            return states(results), kinds

    assert_same(program)


def test_the_function_sees_no_inference_mode() -> None:
    def program(lib: Any) -> Any:
        seen = []

        def look(u: Any) -> Any:
            made = u * 2
            seen.append([lib.is_inference_mode_enabled(), u.is_inference(), made.is_inference()])
            return made.clone().mul_(2).sum()

        with lib.inference_mode():
            x = lib.arange(1.0, 4.0)
            lib.func.grad(look)(x)
            lib.func.jvp(look, (x,), (x,))
            lib.func.vmap(look)(lib.ones(2, 3))
            seen.append(lib.is_inference_mode_enabled())
        return seen

    assert_same(program)


def test_captured_tensors_of_inference_mode_are_saved() -> None:
    def program(lib: Any) -> Any:
        with lib.inference_mode():
            weight = lib.tensor([1.0, 2.0, 3.0])
        return states(lib.func.grad(lambda u: (u * weight).sum())(lib.ones(3)))

    assert_same(program)
