"""Sockets, which rooms above fill, and the accessors of tensors that compiled code takes over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np
import pytest

from dovetail_kernel import Size, TensorBase, dispatch_state
from dovetail_kernel.keys import StateGuard, tracing_on
from dovetail_kernel.sockets import COMPILED_ACCESSOR, NoKernelTable, SharedSocket, Socket
from dovetail_kernel.tensor import compile_accessors


def test_a_socket_is_filled_once_its_room_is_there() -> None:
    socket = Socket[str]("acme.part", "when it is imported")
    assert socket.is_filled is False
    with pytest.raises(RuntimeError, match=r"needs acme.part, which is not in use: .* when it is"):
        _ = socket.plug
    with pytest.raises(AttributeError, match="no attribute 'plugs'"):
        _ = socket.plugs  # type: ignore[attr-defined]  # of another class
    socket.fill("one")
    socket.fill("two")
    assert (socket.plug, socket.is_filled) == ("two", True)


def test_a_socket_with_a_default_is_not_filled() -> None:
    socket = Socket("acme.part", "later", "default")
    assert (socket.plug, socket.is_filled, socket.filled_by) == ("default", False, "acme.part")


def test_all_plugs_of_a_shared_socket_are_kept_in_order() -> None:
    socket = SharedSocket[str](("acme.one", "acme.two"), "when they are imported")
    assert socket.plugs == ()
    socket.add("one")
    socket.add("two")
    assert socket.plugs == ("one", "two")


def test_without_a_table_of_operators_there_is_nothing_to_take_back_or_to_count() -> None:
    table = NoKernelTable()
    with table.transaction() as undo:
        assert undo is None
    assert table.count_kernels(None) == 0  # type: ignore[arg-type]  # of any plugin


# -- accessors -------------------------------------------------------------------------------------

OWNERS = TensorBase, Size, StateGuard


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of the accessors that are called, which are as if just compiled."""
    before = {cls: dict(vars(cls)) for cls in OWNERS}
    monkeypatch.setattr(COMPILED_ACCESSOR, "is_filled", False)
    monkeypatch.setattr(COMPILED_ACCESSOR, "plug", None)
    names: list[str] = []

    def compiled(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            names.append(name)
            return function(*args, **kwargs)

        return call

    compile_accessors(compiled)
    compile_accessors(lambda *_: pytest.fail("compiled again"))
    assert COMPILED_ACCESSOR.plug is compiled
    yield names
    for cls, attributes in before.items():
        for name, value in attributes.items():
            if vars(cls)[name] is not value:
                setattr(cls, name, value)


def test_compiled_code_takes_accessors_over(
    called: list[str], tensor: Callable[..., TensorBase], no_autograd: Any
) -> None:
    x = tensor(np.zeros((2, 3), "float32"))
    assert (x.shape, x.size(1), x.stride(), x.dim(), x.ndim) == ((2, 3), 3, (3, 1), 2, 2)
    assert (x.numel(), x.dtype.name, x.device.type) == (6, "float32", "npt")
    assert x.data_ptr() == x.array.__array_interface__["data"][0]
    assert x.requires_grad is False and x.grad is None
    assert called == [
        *("shape", "size", "stride", "dim", "ndim", "numel", "dtype", "device", "data_ptr"),
        *("requires_grad", "grad"),
    ]


def test_setters_and_docstrings_stay(
    called: list[str], tensor: Callable[..., TensorBase], no_autograd: Any
) -> None:
    x = tensor(np.zeros(2))
    x.requires_grad = False
    x.requires_grad_(False)
    assert called == ["set_requires_grad", "requires_grad_", "set_requires_grad"]
    x.grad = None
    with pytest.raises(RuntimeError, match="needs automatic differentiation"):
        del x.grad
    assert "sizes of the dimensions" in (TensorBase.shape.__doc__ or "")
    with pytest.raises(AttributeError):
        x.shape = Size()  # type: ignore[misc]  # read-only


def test_sizes_and_guards_are_taken_over(called: list[str]) -> None:
    assert Size((2, 3))[1] == 3
    with StateGuard(tracing_on):
        assert dispatch_state().traced
    assert not dispatch_state().traced
    assert called == ["__getitem__", "__enter__", "__exit__"]
