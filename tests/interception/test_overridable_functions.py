"""Functions made of operators: overridable where somebody wants to, and as they are written
elsewhere.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any

import pytest

import dovetail
from dovetail.nn import functional as F
from dovetail.nn.functional_arguments import legacy_reduction
from dovetail.overrides import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    get_overridable_functions,
    redispatch_function,
)
from dovetail_dispatcher import is_overridable, overridable


class Seeing(TorchFunctionMode):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append((func, args, kwargs or {}))
        return func(*args, **(kwargs or {}))


@overridable
def scaled(x: Any, factor: float = 2.0, *, shift: float = 0.0) -> Any:
    """Return ``x * factor + shift``."""
    return x * factor + shift


def test_a_handler_gets_the_function_that_was_called_and_its_arguments() -> None:
    x = dovetail.ones(2)
    with Seeing() as mode:
        assert scaled(x, 3.0).tolist() == [3.0, 3.0]
        assert F.mse_loss(x, x).item() == 0.0
    functions = [func for func, _, _ in mode.seen]
    assert scaled in functions
    assert F.mse_loss in functions
    func, args, kwargs = mode.seen[0]
    assert (func, args, kwargs) == (scaled, (x,), {"factor": 3.0, "shift": 0.0})


def test_a_handler_gets_the_whole_number_that_was_given_for_a_float() -> None:
    x = dovetail.ones(2, 3)
    with Seeing() as mode:
        dovetail.pairwise_distance(x, x, 3)
    _, args, _ = mode.seen[0]
    assert args[2] == 3
    assert type(args[2]) is int


def test_modes_within_modes_are_asked_one_after_the_other() -> None:
    x = dovetail.ones(2)
    with Seeing() as outer, Seeing() as inner:
        scaled(x)
    assert [each.seen[0][0] for each in (outer, inner)] == [scaled, scaled]


def test_a_function_keeps_its_signature_and_its_name_while_it_asks() -> None:
    before = inspect.signature(scaled), scaled.__doc__, scaled.__defaults__, scaled.__kwdefaults__
    with Seeing():
        assert (
            inspect.signature(scaled),
            scaled.__doc__,
            scaled.__defaults__,
            scaled.__kwdefaults__,
        ) == before
        with pytest.raises(
            TypeError, match=r"scaled\(\) missing 1 required positional argument: 'x'"
        ):
            scaled()
        with pytest.raises(
            TypeError, match=r"scaled\(\) got an unexpected keyword argument 'other'"
        ):
            scaled(1.0, other=2)


def test_a_mode_of_one_thread_is_not_asked_by_another() -> None:
    found: list[Any] = []
    with Seeing() as mode:
        thread = threading.Thread(target=lambda: found.append(F.relu(dovetail.ones(1)).item()))
        thread.start()
        thread.join()
    assert found == [1.0]
    assert mode.seen == []


def test_a_class_that_declines_decides_for_the_whole_function() -> None:
    class Declining(dovetail.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return (
                NotImplemented
                if func is F.silu
                else super().__torch_function__(func, types, args, kwargs)
            )

    x = dovetail.ones(2).as_subclass(Declining)
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for '.*silu'"):
        F.silu(x)
    assert type(F.relu(x)) is Declining


def test_the_functions_of_neural_networks_are_listed_as_overridable() -> None:
    assert {F.relu, F.mse_loss, F.cross_entropy} <= set(get_overridable_functions()[F])
    assert is_overridable(F.mse_loss)
    assert not is_overridable(legacy_reduction)


def test_nobody_pays_for_it_who_overrides_nothing() -> None:
    """In a process of its own, since one class that overrides functions is enough to make them
    ask.
    """
    import subprocess
    import sys

    program = """
import dovetail
from dovetail.nn import functional as F
from dovetail.overrides import TorchFunctionMode
class Seeing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        seen.append(func)
        return func(*args, **(kwargs or {}))
code = F.mse_loss.__code__
assert "functional" in code.co_filename
with TorchFunctionMode():
    assert F.mse_loss.__code__ is not code
x = dovetail.ones(2)
for _ in range(2):
    assert F.mse_loss(x, target=x).item() == 0.0
    assert F.mse_loss.__code__ is code
    seen = []
    with Seeing():
        F.mse_loss(x, x)
    assert seen[0] is F.mse_loss
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_function_left_by_modes_asks_classes_and_skips_as_before() -> None:
    """Its code gives way to the one that asks classes, which is asked once."""
    seen: list[Any] = []

    class Seen(dovetail.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func)
            return redispatch_function(func, types, args, kwargs)

    x = dovetail.ones(2).as_subclass(Seen)
    with BaseTorchFunctionMode():
        pass
    F.mse_loss(x, x)
    first, seen[:] = list(seen), []
    F.mse_loss(x, x)
    assert first == seen
    assert first[0] is F.mse_loss


def test_functions_are_asked_by_one_thread_while_another_leaves_and_enters_modes() -> None:
    class Refusing(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return "seen"

    x = dovetail.ones(2)
    wrong: list[str] = []
    done: list[bool] = []

    def plain() -> None:
        while not done:
            if x.shape != (2,) or F.mse_loss(x, x) == "seen":
                wrong.append("a thread without modes was asked")

    thread = threading.Thread(target=plain)
    thread.start()
    try:
        for _ in range(300):
            with Refusing():
                if x.shape != "seen" or F.mse_loss(x, x) != "seen":
                    wrong.append("a mode was not asked")
            if x.shape != (2,):
                wrong.append("a mode was asked after it was left")
    finally:
        done.append(True)
        thread.join()
    assert not wrong, wrong[0]
