"""Functions of `autograd.functional` call functions with inputs of the classes that they are given,
by the methods that PyTorch calls: classes of tensors know these by name.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

CALLS = {
    "jacobian": lambda f, g, x, v: f.jacobian(g, x),
    "jacobian of a graph": lambda f, g, x, v: f.jacobian(g, x, create_graph=True),
    "hessian": lambda f, g, x, v: f.hessian(g, x),
    "vjp": lambda f, g, x, v: f.vjp(g, x),
    "jvp": lambda f, g, x, v: f.jvp(g, x, v),
    "vhp": lambda f, g, x, v: f.vhp(g, x, v),
    "hvp": lambda f, g, x, v: f.hvp(g, x, v, create_graph=True),
}
KNOWN = ("mul", "sum", "view_as", "detach")


def _found(lib: Any, name: str, requires_grad: bool) -> Any:
    """Return the classes of the input that a function gets and of results, and of which methods
    the class heard.
    """
    heard: set[str] = set()

    class Known(lib.Tensor):  # type: ignore[misc, name-defined]
        """Results of the functions that it knows are of this class, others plain tensors."""

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            name = getattr(func, "__name__", "")
            heard.add(name)
            with lib._C.DisableTorchFunctionSubclass():
                made = func(*args, **(kwargs or {}))
            return made.as_subclass(cls) if name in KNOWN else made

    seen: list[str] = []

    def function(x: Any) -> Any:
        seen.append(type(x).__name__)
        return (x * x).sum()

    x = lib.ones(2).as_subclass(Known)
    made = CALLS[name](
        lib.autograd.functional, function, x.requires_grad_(requires_grad), lib.ones(2)
    )
    results = [type(each).__name__ for each in (made if isinstance(made, tuple) else (made,))]
    return seen, results, sorted(heard & {"view_as", "detach"})


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_inputs_keep_their_classes(name: str, requires_grad: bool) -> None:
    ours = _found(dovetail, name, requires_grad)
    assert ours == _found(torch, name, requires_grad)
    assert ours[0] == ["Known"]
