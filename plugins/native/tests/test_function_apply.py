"""The compiled `Function.apply` does what its text does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail.autograd import Function  # noqa: E402 - after what may be missing
from dovetail_dispatcher import compiled_code  # noqa: E402
from dovetail_kernel import state  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="entries are the same on all devices"),
]

ENTRY: Any = Function.apply.__func__


class Base(Function):
    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        ctx.seen(ctx, grads)
        return tuple([grads[0] * 2 if needed else None for needed in ctx.needs_input_grad])


class Saving(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any, number: object = None) -> Any:
        result = x * 3
        ctx.save_for_backward(x, result, None)
        return result


class SetUp(Base):
    @staticmethod
    def forward(x: Any, other: Any) -> Any:
        return x * 3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.number = len(inputs)
        ctx.save_for_backward(output, inputs[0])


class WithDefaults(SetUp):
    @staticmethod
    def forward(x: Any, other: Any, number: int = 2) -> Any:
        return x * number


class Several(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        ctx.mark_non_differentiable(kept := x * 2)
        return x * 3, kept, "text"


class Listed(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        return [x * 3]


class Returning(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        return x


class Viewing(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        return x.view(-1)


class Writing(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(3)


class Counting(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        return (x * 3).to(dovetail.int64)


class Enabling(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        dovetail.set_grad_enabled(True)
        return x * 3


class Raising(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        raise ValueError("in forward")


class SavingText(Base):
    @staticmethod
    def forward(ctx: Any, x: Any, other: Any) -> Any:
        ctx.save_for_backward("text")
        return x * 3


FUNCTIONS = [
    *(Saving, SetUp, WithDefaults, Several, Listed, Returning, Viewing, Writing, Counting),
    *(Enabling, Raising, SavingText),
]


def plain() -> Any:
    return dovetail.arange(3.0)


def leaf() -> Any:
    return plain().requires_grad_()


INPUTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "constants": lambda: (plain(), plain()),
    "leaf and constant": lambda: (leaf(), plain()),
    "constant and leaf": lambda: (plain(), leaf()),
    "made": lambda: (leaf() * 2, None),
    "view": lambda: ((leaf() * 2)[:], 2.0),
    "view of a leaf": lambda: (leaf()[1:], [leaf()]),
    "written view": lambda: (plain()[:2].mul_(leaf()[:2]), "text"),
    "too few": lambda: (leaf(),),
    "too many": lambda: (leaf(), plain(), plain(), plain()),
}


def described(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value), [described(each) for each in value]
    if not isinstance(value, dovetail.Tensor):
        return value
    maker = type(value.grad_fn).__name__ if value.grad_fn is not None else None
    return value.tolist(), maker, value.output_nr, value.requires_grad, value._version


def outcome(call: Callable[..., Any], function: Any, make: Callable[[], Any], mode: Any) -> Any:
    """Return what a call gives, of the graph that it records, of its backward, and of errors."""
    found: list[Any] = []

    def seen(ctx: Any, grads: Any) -> None:
        edges = [edge and type(edge[0]).__name__ for edge in ctx.next_functions]
        saved = described(ctx.saved_tensors)
        needs = ctx.needs_input_grad
        own = {name: described(value) for name, value in ctx.__dict__.items()}
        found.append((described(grads), edges, needs, saved, own))

    function.seen = function._backward_cls.seen = staticmethod(seen)
    inputs = make()
    before = state()
    try:
        with mode():
            result = call(function, *inputs)
        found.append(described(result))
        first = result[0] if isinstance(result, list | tuple) else result
        if first.requires_grad:
            first.sum().backward()
    except Exception as error:
        found.append((type(error), str(error)))
    assert state() == before
    found.append([described(each) for each in inputs])
    found.append([described(i.grad) for i in inputs if getattr(i, "is_leaf", False)])
    return found


@pytest.mark.parametrize("mode", [dovetail.enable_grad, dovetail.no_grad, dovetail.inference_mode])
@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_entry_and_text_do_the_same(function: Any, inputs: str, mode: Any) -> None:
    make = INPUTS[inputs]
    assert outcome(ENTRY, function, make, mode) == outcome(ENTRY.text, function, make, mode)


def test_plain_calls_do_not_run_the_text() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ENTRY.text, "__code__", (lambda cls, *args, **kwargs: None).__code__)
        assert Saving.apply(leaf(), plain()).tolist() == [0.0, 3.0, 6.0]
        assert SetUp.apply(leaf(), plain()).tolist() == [0.0, 3.0, 6.0]
        assert WithDefaults.apply(leaf(), plain()) is None


def test_functions_see_their_new_methods() -> None:
    class Changing(Base):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

    assert Changing.apply(plain()).tolist() == [0.0, 3.0, 6.0]
    Changing.forward = staticmethod(lambda ctx, x: x * 4)  # type: ignore[method-assign]
    assert Changing.apply(plain()).tolist() == [0.0, 4.0, 8.0]
