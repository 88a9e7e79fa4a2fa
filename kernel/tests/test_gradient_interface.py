"""What tensors answer about gradients: autograd's word, and without it that there are none."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from dovetail_kernel import AutogradInterface, TensorBase
from dovetail_kernel.signature import GRAD, VIEW
from dovetail_kernel.sockets import AUTOGRAD

Make = Callable[..., TensorBase]


class Recorder(AutogradInterface):
    """Autograd that notes every question, and answers each with its name."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name == "asked":
            return super().__getattribute__(name)

        def answer(*args: Any) -> Any:
            self.asked.append((name, *args))
            return name

        return answer


@pytest.fixture
def autograd(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Autograd that is asked."""
    recorder = Recorder()
    monkeypatch.setattr(AUTOGRAD, "plug", recorder)
    return recorder


def hook(gradient: object) -> None:
    """Do nothing with a gradient."""


SETTERS: dict[str, tuple[Callable[[Any], object], tuple[Any, ...]]] = {
    "requires_grad = True": (
        lambda x: setattr(x, "requires_grad", True),
        ("set_requires_grad", True),
    ),
    "requires_grad = False": (
        lambda x: setattr(x, "requires_grad", False),
        ("set_requires_grad", False),
    ),
    "grad = a tensor": (lambda x: setattr(x, "grad", "g"), ("set_grad", "g")),
    "del grad": (lambda x: delattr(x, "grad"), ("set_grad", None)),
    "_grad = a tensor": (lambda x: setattr(x, "_grad", "g"), ("set_grad", "g")),
    "_grad = None": (lambda x: setattr(x, "_grad", None), ("set_grad", None)),
    "del _grad": (lambda x: delattr(x, "_grad"), ("set_grad", None)),
    "grad_dtype": (lambda x: setattr(x, "grad_dtype", "d"), ("set_grad_dtype", "d")),
    "_backward_hooks": (lambda x: setattr(x, "_backward_hooks", {}), ("set_backward_hooks", {})),
}


@pytest.mark.parametrize(("change", "expected"), SETTERS.values(), ids=SETTERS)
def test_a_change_is_made_by_autograd(
    tensor: Make, autograd: Recorder, change: Any, expected: tuple[Any, ...]
) -> None:
    x = tensor([1.0])
    change(x)
    assert autograd.asked == [(expected[0], x, *expected[1:])]


GETTERS: dict[str, tuple[Callable[[Any], object], str, tuple[Any, ...]]] = {
    "grad": (lambda x: x.grad, "grad", ()),
    "grad_dtype": (lambda x: x.grad_dtype, "leaf_grad_dtype", ()),
    "retains_grad": (lambda x: x.retains_grad, "retains_grad", ()),
    "_base": (lambda x: x._base, "base", ()),
    "_backward_hooks": (lambda x: x._backward_hooks, "backward_hooks", ()),
    "post_accumulate": (lambda x: x._post_accumulate_grad_hooks, "post_accumulate_grad_hooks", ()),
    "register_hook": (lambda x: x.register_hook(hook), "register_hook", (hook,)),
    "register_post_accumulate_grad_hook": (
        lambda x: x.register_post_accumulate_grad_hook(hook),
        "register_post_accumulate_grad_hook",
        (hook,),
    ),
    "detach_": (lambda x: x.detach_(), "detach_", ()),
}


@pytest.mark.parametrize(("ask", "name", "arguments"), GETTERS.values(), ids=GETTERS)
def test_a_question_is_answered_by_autograd(
    tensor: Make, autograd: Recorder, ask: Any, name: str, arguments: tuple[Any, ...]
) -> None:
    x = tensor([1.0])
    assert ask(x) == name
    assert autograd.asked == [(name, x, *arguments)]


def test_backward_and_retain_grad_are_autograds(tensor: Make, autograd: Recorder) -> None:
    x, y = tensor([1.0]), tensor([2.0])
    x.retain_grad()
    x.backward()
    x.backward(y, retain_graph=True, create_graph=True, inputs=[y])
    assert autograd.asked == [
        ("retain_grad", x),
        ("backward", x, None, None, False, None),
        ("backward", x, y, True, True, [y]),
    ]


def test_requires_grad_in_place_is_checked_and_returns_the_tensor(
    tensor: Make, autograd: Recorder
) -> None:
    x = tensor([1.0])
    assert x.requires_grad_() is x.requires_grad_(False) is x
    assert autograd.asked == [
        ("check_requires_grad_",),
        ("set_requires_grad", x, True),
        ("check_requires_grad_",),
        ("set_requires_grad", x, False),
    ]


@pytest.mark.parametrize("wrong", [1, None, "True"])
def test_requires_grad_is_a_bool(tensor: Make, autograd: Recorder, wrong: Any) -> None:
    x = tensor([1.0])
    with pytest.raises(RuntimeError, match="requires_grad must be a bool, but got"):
        x.requires_grad = wrong
    assert autograd.asked == []


def test_whole_numbers_have_no_gradients(tensor: Make, autograd: Recorder) -> None:
    x = tensor([1])
    with pytest.raises(RuntimeError, match=r"floating point and complex dtype .* dovetail\.int64"):
        x.requires_grad = True
    x.requires_grad = False
    tensor([1j]).requires_grad = True
    assert [each[0] for each in autograd.asked] == ["set_requires_grad"] * 2


# -- what a signature says alone -------------------------------------------------------------------


def test_autograd_is_asked_about_views_only(tensor: Make, autograd: Recorder) -> None:
    x: Any = tensor([1.0])
    assert (x.requires_grad, x.is_leaf, x.grad_fn) == (False, True, None)
    x._signature |= GRAD
    assert (x.requires_grad, x.is_leaf, x.grad_fn) == (True, True, None)
    x._grad_fn = SimpleNamespace(presented=lambda: "the node")
    assert (x.requires_grad, x.is_leaf, x.grad_fn) == (True, False, "the node")
    assert autograd.asked == []
    x._grad_fn = None
    x._signature |= VIEW
    assert (x.requires_grad, x.is_leaf, x.grad_fn) == ("requires_grad", "is_leaf", "grad_fn")
    x._signature &= ~GRAD
    assert x.requires_grad is False


def test_a_gradient_that_is_there_is_read_without_asking(tensor: Make, autograd: Recorder) -> None:
    x: Any = tensor([1.0])
    assert x._grad is None
    x.grad = None
    x._meta = SimpleNamespace(grad="g")
    assert (x.grad, x._grad) == ("g", "g")
    x.grad = None
    assert (x._grad, autograd.asked) == (None, [])


# -- without autograd ------------------------------------------------------------------------------


def test_without_autograd_a_tensor_is_a_leaf_without_gradient(
    tensor: Make, no_autograd: AutogradInterface
) -> None:
    x: Any = tensor([1.0])
    x._signature |= GRAD | VIEW
    assert (x.requires_grad, x.is_leaf, x.grad_fn, x.grad) == (False, True, None, None)
    assert (x._base, x._is_view(), x.retains_grad) == (None, False, False)
    assert (x._backward_hooks, x._post_accumulate_grad_hooks) == (None, None)
    assert x.grad_dtype is x.dtype and x.detach_() is x
    assert no_autograd.text_inside(x) is None


def test_without_autograd_what_changes_nothing_is_allowed(
    tensor: Make, no_autograd: AutogradInterface
) -> None:
    x: Any = tensor([1.0])
    x.grad = None
    x._backward_hooks = None
    assert x.requires_grad_(False) is x


NEEDS: dict[str, Callable[[Any], object]] = {
    "requires_grad=True": lambda x: x.requires_grad_(),
    "setting .grad": lambda x: setattr(x, "grad", x),
    "setting .grad_dtype": lambda x: setattr(x, "grad_dtype", x.dtype),
    "retain_grad()": lambda x: x.retain_grad(),
    "_backward_hooks": lambda x: setattr(x, "_backward_hooks", {1: hook}),
    "register_hook()": lambda x: x.register_hook(hook),
    "register_post_accumulate_grad_hook()": lambda x: x.register_post_accumulate_grad_hook(hook),
    "backward()": lambda x: x.backward(),
}


@pytest.mark.parametrize(("what", "use"), NEEDS.items(), ids=NEEDS)
def test_without_autograd_what_needs_it_says_so(
    tensor: Make, no_autograd: AutogradInterface, what: str, use: Any
) -> None:
    with pytest.raises(RuntimeError) as raised:
        use(tensor([1.0]))
    assert str(raised.value).startswith(f"{what} needs automatic differentiation")
    assert "dovetail-autograd" in str(raised.value)
