"""Classes of tensors that override functions or operators: how they are told from plain ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from dovetail_kernel import (
    DispatchKey,
    TensorBase,
    disabled_torch_dispatch_impl,
    disabled_torch_function_impl,
    dispatch_state,
    state,
)
from dovetail_kernel.keys import NOT_PLAIN, PYTHON_DISPATCH, PYTHON_KEYS, is_used
from dovetail_kernel.signature import OVERRIDES
from dovetail_kernel.sockets import OVERRIDING_CLASS


@pytest.fixture(autouse=True)
def observed(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    """The classes that observers are told of."""
    seen: list[type] = []
    monkeypatch.setattr(OVERRIDING_CLASS, "plugs", (seen.append,))
    return seen


def handler(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Override functions."""
    return func(*args, **(kwargs or {}))


def overriding(**bases: Any) -> type[TensorBase]:
    """Return a new class that overrides functions."""

    class Overriding(TensorBase):
        __torch_function__: ClassVar[Any] = classmethod(handler)

    return Overriding


def dispatching() -> type[TensorBase]:
    """Return a new class that overrides operators."""

    class Dispatching(TensorBase):
        __torch_dispatch__: ClassVar[Any] = classmethod(handler)

    return Dispatching


def test_a_class_has_the_bits_of_what_it_overrides() -> None:
    class Plain(TensorBase):
        pass

    class Both(overriding(), dispatching()):  # type: ignore[misc]
        pass

    kinds = (Plain, overriding(), dispatching(), Both)
    assert [kind._class_bits for kind in kinds] == [0, OVERRIDES, PYTHON_DISPATCH, NOT_PLAIN]
    assert is_used()


def test_a_subclass_may_disable_what_its_base_overrides() -> None:
    class Disabled(overriding()):  # type: ignore[misc]
        __torch_function__ = disabled_torch_function_impl

    class DispatchDisabled(dispatching()):  # type: ignore[misc]
        __torch_dispatch__ = disabled_torch_dispatch_impl

    assert (Disabled._class_bits, DispatchDisabled._class_bits) == (0, 0)


def test_a_base_library_may_say_that_its_class_is_plain(observed: list[type]) -> None:
    class Tensor(TensorBase):
        _is_plain = True
        __torch_function__: ClassVar[Any] = classmethod(handler)

    class Own(Tensor):
        pass

    class Wrapper(Tensor):
        __torch_dispatch__: ClassVar[Any] = classmethod(handler)

    assert (Tensor._class_bits, Own._class_bits) == (0, OVERRIDES)
    # Of a class that has a __torch_dispatch__, that one decides of which class results are.
    assert Wrapper._class_bits == PYTHON_DISPATCH
    assert Wrapper.__torch_function__ is disabled_torch_function_impl

    class Kept(Own):
        __torch_dispatch__: ClassVar[Any] = classmethod(handler)
        __torch_function__: ClassVar[Any] = classmethod(handler)

    assert Kept._class_bits == NOT_PLAIN


def test_observers_are_told_of_the_first_class_of_a_line_that_overrides(
    observed: list[type],
) -> None:
    first = overriding()

    class Second(first):  # type: ignore[misc,valid-type]
        pass

    dispatching()
    assert observed == [first]


def test_a_disabled_handler_calls_the_function_without_overrides() -> None:
    def look(number: int, *, more: int = 0) -> tuple[int, bool, bool]:
        now = dispatch_state()
        return number + more, now.torch_function, PYTHON_KEYS & now.excluded == PYTHON_KEYS

    before = state()
    assert disabled_torch_function_impl(look, (), (1,)) == (1, False, False)
    assert disabled_torch_dispatch_impl(look, (), (1,), {"more": 2}) == (3, True, True)
    assert disabled_torch_function_impl(look, (), (1,), {"more": 2})[0] == 3
    assert state() == before


@pytest.mark.parametrize("impl", [disabled_torch_function_impl, disabled_torch_dispatch_impl])
def test_a_function_that_fails_leaves_the_state_as_it_was(impl: Callable[..., Any]) -> None:
    before = state()
    with pytest.raises(ZeroDivisionError):
        impl(lambda: 1 // 0, ())
    assert state() == before


def test_the_keys_of_operators_that_are_overridden() -> None:
    assert list(PYTHON_KEYS) == [DispatchKey.Python, DispatchKey.PythonTLSSnapshot]
