"""Dispatch modes around and inside of transforms see the physical calls, as in PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

IGNORED = ("alias", "is_same_size", "_has_same_storage_numel", "view", "ones_like", "full_like")
"""Operators by which the libraries prepare what the others take."""


def logging_mode(lib: Any) -> tuple[Any, list[str]]:
    """Return a mode that notes operators with the shapes of their arguments, and its notes."""
    log: list[str] = []
    base = importlib.import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode

    class Log(base):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            shapes = [tuple(each.shape) for each in args if isinstance(each, lib.Tensor)]
            if func.overloadpacket.__name__ not in IGNORED:
                log.append(f"{func} {shapes}")
            return func(*args, **(kwargs or {}))

    return Log(), log


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "vmap": lambda lib, x: lib.vmap(lambda a: a.sin().sum())(x),
    "gradients of rows": lambda lib, x: lib.vmap(lib.func.grad(lambda a: a.sin().sum()))(x),
    "vmap of vmap": lambda lib, x: lib.vmap(lib.vmap(lambda a: a.exp().sin()))(x),
    "gradient": lambda lib, x: lib.func.grad(lambda a: (a.exp() * a).sum())(x),
    "jvp": lambda lib, x: lib.func.jvp(lambda a: a.sin(), (x,), (x,)),
    "functionalize": lambda lib, x: lib.func.functionalize(lambda a: a.clone().add_(1))(x),
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mode_around_a_transform_sees_the_calls_that_it_makes(name: str) -> None:
    def seen(lib: Any) -> tuple[list[str], Any]:
        mode, log = logging_mode(lib)
        with mode:
            result = PROGRAMS[name](lib, lib.ones(2, 3))
        first = result[0] if isinstance(result, tuple) else result
        return log, first.detach().flatten().tolist()

    (log, result), (expected, theirs) = seen(dovetail), seen(torch)
    assert log == expected
    assert result == pytest.approx(theirs)


def test_a_mode_inside_of_a_transform_sees_the_calls_that_it_makes() -> None:
    def seen(lib: Any) -> list[str]:
        mode, log = logging_mode(lib)

        def inside(a: Any) -> Any:
            with mode:
                return a.sin() + lib.ones(3)

        lib.vmap(inside)(lib.ones(2, 3))
        return log

    assert seen(dovetail) == seen(torch)


def test_a_mode_that_was_left_is_not_asked_by_a_derivative_later() -> None:
    def seen(lib: Any) -> list[str]:
        mode, log = logging_mode(lib)
        with mode:
            _, pull = lib.func.vjp(lambda a: a.sin(), lib.ones(2))
        count = len(log)
        pull(lib.ones(2))
        return log[count:]

    assert seen(dovetail) == seen(torch) == []
