"""Which overload a packet of the base library takes, compared with PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch

import dovetail
from dovetail_dispatcher.calls.overload_resolution import resolve_overload

CALLS: dict[str, tuple[str, Any]] = {
    "pow of a number": ("pow", lambda x: (x, 2)),
    "pow to a tensor": ("pow", lambda x: (2, x)),
    "pow of tensors": ("pow", lambda x: (x, x)),
    "add": ("add", lambda x: (x, 2)),
    "mul": ("mul", lambda x: (x, 2.5)),
    "div": ("div", lambda x: (x, 2)),
    "eq": ("eq", lambda x: (x, 1)),
    "remainder": ("remainder", lambda x: (x, 2)),
    "max": ("max", lambda x: (x,)),
    "max of a dim": ("max", lambda x: (x, 0)),
    "sum": ("sum", lambda x: (x,)),
    "sum of dims": ("sum", lambda x: (x, [0])),
    "mean of a dim": ("mean", lambda x: (x, 0)),
    "clamp": ("clamp", lambda x: (x, 0, 1)),
    "clamp by tensors": ("clamp", lambda x: (x, x, x)),
    "select": ("select", lambda x: (x, 0, 0)),
    "bitwise_and": ("bitwise_and", lambda x: (x.int(), 1)),
    "fill_": ("fill_", lambda x: (x, 2)),
}


def of_torch(name: str, args: tuple[Any, ...]) -> str:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Names(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func._overloadname)
            return func(*args, **(kwargs or {}))

    seen: list[str] = []
    with Names():
        getattr(torch.ops.aten, name)(*args)
    return seen[0]


@pytest.mark.parametrize("call", CALLS)
def test_the_same_overload_is_taken(call: str) -> None:
    name, arguments = CALLS[call]
    operators = getattr(dovetail.ops.aten, name)._operators
    chosen = resolve_overload(f"aten::{name}", operators, arguments(dovetail.ones(2, 2)), {})
    assert (chosen.overload or "default") == of_torch(name, arguments(torch.ones(2, 2)))


def _seen_by_handlers(lib: Any) -> list[Any]:
    """Return what ``__torch_function__`` of a class, an object and a mode gets for calls of
    packets and overloads.
    """
    seen: list[Any] = []

    class Logged(lib.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(("class", type(func).__name__, str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Stranger:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(("object", type(func).__name__, str(func)))
            return 3

    class Logging(importlib.import_module(f"{lib.__name__}.overrides").TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(("mode", type(func).__name__, str(func)))
            return func(*args, **(kwargs or {}))

    aten = lib.ops.aten
    plain = lib.ones(3)
    logged, stranger = plain.as_subclass(Logged), Stranger()
    for x in (logged, plain):
        with Logging():
            aten.add(x, x)
            aten.add(x, 1, alpha=2)
            aten.add.Tensor(x, x)
            aten.sin(x)
            aten.sum(x, dim=[0])
            aten.cat([x, x])
        aten.add_(x, x)
        aten.mul(x, x)
    aten.mul(plain, stranger)
    aten.sum(stranger, dim=[0])
    return seen


def test_handlers_of_functions_get_the_packet_that_was_called() -> None:
    found = _seen_by_handlers(dovetail)
    assert found == _seen_by_handlers(torch)
    assert {kind for kind, _, _ in found} == {"class", "object", "mode"}
