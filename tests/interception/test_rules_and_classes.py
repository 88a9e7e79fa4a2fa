"""Rules for one operator in a mode or class, wrapper subclasses of one's own, and what happens
without an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dovetail
from dovetail import Tensor
from dovetail.library import Library, register_autograd
from dovetail.overrides import handle_torch_function, has_torch_function_unary, wrap_torch_function
from dovetail.utils._python_dispatch import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from dovetail_dispatcher.table.updates.rule_registration import set_torch_dispatch_rule
from dovetail_kernel import TensorBase


class Box(Tensor):
    """A wrapper subclass that says what it wraps."""

    __torch_function__ = dovetail._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls: Any, inner: Tensor, note: str = "") -> Any:
        return Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype
        )

    def __init__(self, inner: Tensor, note: str = "") -> None:
        self.inner, self.note = inner, note

    def __tensor_flatten__(self) -> tuple[list[str], str]:
        return ["inner"], self.note

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], note: str, size: Any, stride: Any) -> Box:
        return Box(inner["inner"], note)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [each.inner if isinstance(each, Box) else each for each in args]
        out = func(*plain, **(kwargs or {}))
        return return_and_correct_aliasing(
            func, args, kwargs or {}, Box(out) if isinstance(out, Tensor) else out
        )


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("intercepted", "DEF")
    made.define("twice(Tensor x) -> Tensor")
    made.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    yield made
    made._destroy()


def test_a_rule_for_a_mode_takes_the_place_of_its_handler_for_one_operator(
    library: Library,
) -> None:
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    seen: list[Any] = []

    def rule(mode: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        seen.append((mode, str(func), types, kwargs))
        return args[0] + 40

    set_torch_dispatch_rule("intercepted::twice", "", Mode, rule, library._changes)
    x = dovetail.ones(1)
    with Mode() as mode:
        assert dovetail.ops.intercepted.twice(x).tolist() == [41.0]
        assert (x + x).tolist() == [2.0]
    assert seen == [(mode, "intercepted.twice.default", (), {})]
    assert dovetail.ops.intercepted.twice(x).tolist() == [2.0]


def test_a_rule_for_a_class_gets_the_class_and_goes_with_its_library(library: Library) -> None:
    rules = Library("intercepted", "FRAGMENT")
    set_torch_dispatch_rule(
        "intercepted::twice",
        "",
        Box,
        lambda cls, func, types, args, kwargs: cls(args[0].inner + 40),
        rules._changes,
    )
    x = Box(dovetail.ones(1))
    assert dovetail.ops.intercepted.twice(x).inner.tolist() == [41.0]
    with pytest.raises(
        RuntimeError,
        match=r"Box already has a `__torch_dispatch__` rule registered for intercepted::twice",
    ):
        set_torch_dispatch_rule("intercepted::twice", "", Box, print, rules._changes)
    rules._destroy()
    assert dovetail.ops.intercepted.twice(x).inner.tolist() == [2.0]


def test_a_third_partys_operator_with_a_derivative_is_seen_below_autograd(library: Library) -> None:
    register_autograd("intercepted::twice", lambda ctx, grad: grad * 2, lib=library)
    x = Box(dovetail.ones(2)).requires_grad_()
    y = dovetail.ops.intercepted.twice(x)
    assert type(y) is Box
    y.sum().backward()
    assert type(x.grad) is Box
    assert x.grad.inner.tolist() == [2.0, 2.0]


def test_a_function_of_ones_own_records_through_wrappers() -> None:
    class Square(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            assert type(y) is Box
            assert y.inner.tolist() == [9.0]
            return grad * x * 2

    x = Box(dovetail.tensor([3.0])).requires_grad_()
    Square.apply(x).sum().backward()
    assert x.grad.inner.tolist() == [6.0]


def test_wrappers_say_what_they_wrap_and_can_be_rebuilt() -> None:
    box = Box(dovetail.ones(2), "note")
    assert is_traceable_wrapper_subclass(box)
    assert not is_traceable_wrapper_subclass(dovetail.ones(2))
    rebuilt = transform_subclass(box, lambda name, inner: inner * (2 if name == "inner" else 0))
    assert (rebuilt.inner.tolist(), rebuilt.note) == ([2.0, 2.0], "note")


def test_aliasing_is_corrected_as_the_schema_says() -> None:
    box = Box(dovetail.ones(2, 2))
    assert box.add_(1) is box
    view = box[0]
    assert view.untyped_storage() is box.untyped_storage()
    box.mul_(2)
    assert view._version == box._version == 2
    assert view.inner.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda box: box.numpy(), r"\.numpy\(\) is not supported for tensor subclasses"),
        (lambda box: box.tolist(), r"\.tolist\(\) is not supported for tensor subclasses, got Box"),
        (lambda box: box.array.sum(), r"A wrapper subclass of shape \[2\] has no data"),
    ],
)
def test_a_wrapper_has_no_data_to_be_had_past_its_class(use: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        use(Box(dovetail.ones(2)))


def test_a_wrapper_without_the_key_python_finds_no_data() -> None:
    with dovetail._C._DisableTorchDispatch(), pytest.raises(RuntimeError, match="has no data"):
        Box(dovetail.ones(2)) + 1


def test_a_wrapper_prints_its_geometry() -> None:
    assert repr(Box(dovetail.ones(2, 3))) == "Box(..., size=(2, 3))"


def test_the_keys_of_wrappers_and_modes() -> None:
    keys = dovetail._C._dispatch_keys(Box(dovetail.ones(1)))
    assert [key.name for key in keys if "Python" in key.name] == ["Python", "PythonTLSSnapshot"]
    assert dovetail._C._dispatch_isTensorSubclassLike(Box(dovetail.ones(1)))
    assert not dovetail._C._dispatch_isTensorSubclassLike(dovetail.ones(1))
    with BaseTorchDispatchMode():
        assert dovetail._C._dispatch_isTensorSubclassLike(dovetail.ones(1))


def test_an_object_that_is_no_tensor_may_stand_for_one_anywhere() -> None:
    class Length:
        def __init__(self, metres: float) -> None:
            self.metres = metres

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            assert types == (cls,)
            return func.__name__, len(args), sorted(kwargs or {})

    length = Length(2.0)
    assert dovetail.add(length, 1) == ("add", 2, [])
    assert dovetail.add(dovetail.ones(1), length, alpha=2) == ("add", 2, ["alpha"])
    assert dovetail.sum(length, 0) == ("sum", 2, [])
    assert dovetail.stack([dovetail.ones(1), length]) == ("stack", 1, [])
    assert dovetail.ops.aten.mul.Tensor(length, length) == ("mul.Tensor", 2, [])


def test_the_error_of_a_declined_function_names_it_and_the_classes() -> None:
    class Declines(Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    x = dovetail.ones(1).as_subclass(Declines)
    for use, name in (
        (lambda: dovetail.add(x, 1), "dovetail.add"),
        (lambda: x.shape, "dovetail.Tensor.shape.__get__"),
        (lambda: x[0], "dovetail.Tensor.__getitem__"),
        (lambda: dovetail.ops.aten.add.Tensor(x, x), "dovetail.ops.aten.add.Tensor"),
    ):
        with pytest.raises(
            TypeError,
            match=rf"Multiple dispatch failed for '{name}'; all __torch_function__ handlers",
        ):
            use()


def test_a_function_in_python_is_made_overridable() -> None:
    @wrap_torch_function(lambda x, y=None: (x, y))
    def first(x: Any, y: Any = None) -> Any:
        return x

    def second(x: Any) -> Any:
        if has_torch_function_unary(x):
            return handle_torch_function(second, (x,), x)
        return x

    class Answers:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func

    assert first(1, Answers()) is first
    assert first(1, 2) == 1
    assert second(Answers()) is second
    assert second(5) == 5


def test_a_subclass_of_parameter_gives_plain_tensors_and_costs_no_detour() -> None:
    class Weight(dovetail.nn.Parameter):
        pass

    weight = Weight(dovetail.ones(2))
    assert type(weight * 2) is Tensor
    assert weight._signature == dovetail.nn.Parameter(dovetail.ones(2))._signature


def test_the_error_of_a_declined_attribute_names_it_in_a_function_mode_too() -> None:
    class Declines(dovetail.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    x = dovetail.ones(1)
    message = ""
    with Declines():
        try:
            x.item()
        except TypeError as error:
            message = str(error)
    assert "Multiple dispatch failed for 'dovetail.Tensor.item'" in message
    assert "mode object <" in message


def test_an_instance_of_a_subclass_has_all_slots_of_the_tensor_it_is_made_of() -> None:
    class Plain(dovetail.Tensor):
        pass

    class Lower(Plain):
        pass

    x = dovetail.ones(2, requires_grad=True) * 2
    for tensor in (x, x.detach(), x[1:]):
        made = tensor.as_subclass(Plain)
        for slot in TensorBase.__slots__:
            if slot != "__weakref__":
                assert hasattr(made, slot), slot
        assert made.tolist() == tensor.tolist()
        assert made.requires_grad == tensor.requires_grad
        assert type(made.as_subclass(Lower) + made) is Lower
    (made,) = dovetail.autograd.grad(x.as_subclass(Plain).sum(), x)
    assert made.tolist() == [1.0, 1.0]
