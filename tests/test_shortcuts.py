"""Shortcuts of composites, and of the choice of a backend: they do what the kernels do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

import dovetail
from dovetail.library import Library
from dovetail.utils._python_dispatch import TorchDispatchMode
from dovetail_aten.composites.reshaping import reshape
from dovetail_aten.families.matmul.composites.matmul import matmul
from dovetail_aten.families.views.composites.views import contiguous, flatten, mT, numpy_T
from dovetail_dispatcher.table import Constant, Shortcut, registry

STATES: list[Callable[[], AbstractContextManager[Any]]] = [
    nullcontext,
    dovetail.no_grad,
    dovetail.inference_mode,
    lambda: dovetail.autocast("cpu"),
]


class Log(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def tensors() -> list[Any]:
    x = dovetail.arange(24.0).reshape(2, 3, 4)
    leaf = dovetail.ones(2, 3, requires_grad=True)
    return [
        x,
        x[0, 0],
        x[:, :, 0],
        x.permute(2, 0, 1),
        x[:, ::2],
        x[..., :0],
        dovetail.tensor(2.0),
        dovetail.ones(3, 0, 2),
        leaf,
        leaf * 2,
        leaf[1:],
        (leaf * 2).t(),
        dovetail.ones(2, 3, dtype=dovetail.bfloat16),
        x.expand(2, 2, 3, 4),
        x.to("meta"),
    ]


def seen_of(call: Callable[[], Any], x: Any) -> Any:
    try:
        made = call()
    except (RuntimeError, IndexError) as error:
        return type(error), str(error)
    return (
        made is x,
        made.shape,
        made.stride(),
        made.dtype,
        made.is_inference(),
        made.requires_grad,
        type(made.grad_fn),
        made._base is None,
        made.is_meta or made.data_ptr() == x.data_ptr(),
        None if made.is_meta else made.tolist(),
        None if made.is_inference() else made._version,
    )


CALLS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda x: x.reshape(-1), lambda x: reshape(x, (-1,))),
    (lambda x: x.reshape(3, -1), lambda x: reshape(x, (3, -1))),
    (lambda x: x.reshape([7]), lambda x: reshape(x, (7,))),
    (lambda x: x.flatten(), flatten),
    (lambda x: x.flatten(1), lambda x: flatten(x, 1)),
    (lambda x: x.flatten(0, 0), lambda x: flatten(x, 0, 0)),
    (lambda x: x.contiguous(), contiguous),
    (
        lambda x: x.contiguous(memory_format=dovetail.preserve_format),
        lambda x: contiguous(x, memory_format=dovetail.preserve_format),
    ),
    (lambda x: x.T, numpy_T),
    (lambda x: x.mT, mT),
]
OF_OTHER_DIMENSIONS = pytest.mark.filterwarnings("ignore:.*deprecated:UserWarning")


@pytest.mark.parametrize("state", STATES[:3])  # autocast casts operands of `matmul` itself
def test_products_are_those_of_the_composite(state: Callable[[], Any]) -> None:
    x, w = dovetail.ones(3, 3), dovetail.ones(3, 3, requires_grad=True)
    shapes = (x, w, w * 2, x[0], w.t(), dovetail.ones(2, 3, 3), dovetail.ones(2, 3), x.double())
    for left in shapes:
        for right in shapes:
            with state():
                for _ in range(2):
                    found = seen_of(lambda a=left, b=right: a @ b, left)  # type: ignore[misc]
                    expected = seen_of(
                        lambda a=left, b=right: matmul(a, b),
                        left,  # type: ignore[misc]
                    )
                    assert found == expected, (left.shape, right.shape)


@OF_OTHER_DIMENSIONS
@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("state", STATES)
def test_calls_do_what_the_composites_do(number: int, state: Callable[[], Any]) -> None:
    call, composite = CALLS[number]
    for x in tensors():
        with state():
            for _ in range(2):  # with a new route, and with a stored one
                found = seen_of(lambda x=x: call(x), x)  # type: ignore[misc]
                assert found == seen_of(lambda x=x: composite(x), x)  # type: ignore[misc]


@OF_OTHER_DIMENSIONS
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_dispatch_modes_see_the_calls_of_the_composite(number: int) -> None:
    call, composite = CALLS[number]
    for x in tensors():
        logs = []
        for each in (call, composite):
            with Log() as log:
                seen_of(lambda x=x, each=each: each(x), x)  # type: ignore[misc]
            logs.append(log.seen)
        assert logs[0] == logs[1]


@pytest.mark.cpu_only(reason="the kernel is registered for the cpu")
@pytest.mark.parametrize("call", [lambda x: x.reshape(-1), lambda x: x.flatten()])
def test_kernel_of_the_operator_may_change(call: Callable[[Any], Any]) -> None:
    x, called = dovetail.ones(2, 3), []
    call(x)

    def view(array: Any, size: Any) -> Any:
        called.append(size)
        return array.reshape(size)

    library = Library("aten", "IMPL")
    library.array_impl("view", view, "CPU")
    try:
        assert call(x).shape == (6,)
        assert len(called) == 1
    finally:
        library._destroy()
    call(x)
    assert len(called) == 1


def test_operator_without_a_kernel_is_no_shortcut() -> None:
    library = Library("shortcuts", "DEF")
    library.define("inner(Tensor x, int n) -> Tensor")
    library.define("outer(Tensor x, bool flag=False) -> Tensor")
    to_inner = Shortcut("shortcuts::inner", ("x", Constant(3)), defaults=("flag",))
    library.impl("outer", to_inner(lambda x, flag: x.clone()), "CompositeImplicitAutograd")
    x, outer = dovetail.ones(2, requires_grad=True), dovetail.ops.shortcuts.outer
    try:
        for _ in range(2):
            assert outer(x).tolist() == outer(x, True).tolist() == [1, 1]
        library.impl("inner", lambda x, n: x * n, "CompositeImplicitAutograd")
        for _ in range(2):
            assert outer(x).tolist() == [3, 3]
            assert outer(x).grad_fn.name() == "MulBackward0"
            assert outer(x, True).tolist() == [1, 1]
    finally:
        library._destroy()


def test_kernel_over_the_composite_has_no_shortcut() -> None:
    x = dovetail.ones(2, 3)
    x.reshape(6)
    library = Library("aten", "IMPL")
    library.impl("reshape", lambda self, shape: self + 1, "CompositeImplicitAutograd")
    try:
        assert x.reshape(6).tolist() == (x + 1).tolist()
    finally:
        library._destroy()
    assert x.reshape(6).shape == (6,)


@pytest.mark.parametrize("options", [{}, {"dtype": dovetail.float64}, {"device": "cpu"}])
def test_calls_that_stay_on_the_device_of_their_tensor(options: dict[str, Any]) -> None:
    op = registry.find_or_throw("aten::new_zeros", "")
    for x in tensors():
        for _ in range(2):
            made = x.new_zeros((2,), **options)
            expected = x.device if "device" not in options else dovetail.device("cpu")
            assert (made.shape, made.device, made.requires_grad) == ((2,), expected, False)
            assert made.dtype is options.get("dtype", x.dtype)
    assert op.routes


def test_traces_show_the_operator_that_a_composite_calls() -> None:
    x = dovetail.ones(2, 3)
    x.reshape(6)
    with dovetail.tracing() as trace:
        x.reshape(6)
    assert "view" in str(trace)
