"""Views made below Autograd, classes with ``__torch_dispatch__`` and what they are shown of
indexing are those of PyTorch.
"""

from __future__ import annotations

import importlib
from itertools import count
from typing import Any

import pytest
import torch

import dovetail
import dovetail.library

NUMBERS = count()
INDICES = ("[:1]", "[1:]", "[:]", "[::2]", "[:-1]", "[1]", "[:, 1:]", "[..., 1]", "[None]")


def views(lib: Any) -> list[Any]:
    x = lib.ones(4, requires_grad=True)
    found: list[Any] = []
    guard = lib._C._ExcludeDispatchKeyGuard
    keys = lib._C.DispatchKeySet(lib._C._parse_dispatch_key("AutogradCPU"))
    for context in (
        lib._C._AutoDispatchBelowAutograd(),
        lib._C._AutoDispatchBelowADInplaceOrView(),
        guard(keys),
    ):
        with context:
            made = [x[:1], x.view(2, 2), x.detach(), *x.split(2)]
        found += [(v._is_view(), v.requires_grad, v.grad_fn, v._base is x) for v in made]
    return found


def test_views_made_below_autograd_are_views() -> None:
    assert views(dovetail) == views(torch)


def custom(lib: Any, name: str) -> list[Any]:
    op = lib.library.custom_op(
        f"viewsbelow::{name}", lambda x: x[:1], mutates_args=(), schema="(Tensor(a) x) -> Tensor(a)"
    )
    try:
        found: list[Any] = []
        for requires_grad in (True, False):
            base = lib.ones(2, requires_grad=requires_grad) * 1
            view = op(base)
            found += [view._is_view(), view._base is base, view.requires_grad]
            try:
                view.add_(1)
            except RuntimeError as error:
                found.append(str(error).partition(" is a view ")[2][:80])
        return found
    finally:
        op._lib._destroy()


def test_a_view_of_a_custom_operator_is_one_and_is_not_written_in_place() -> None:
    assert custom(dovetail, "f") == custom(torch, "f")


def shown(lib: Any, index: str) -> list[Any]:
    calls: list[Any] = []

    class Wrapper(lib.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            calls.append((func.name(), args[1:]))
            return lib.ones(1)

    x = lib.Tensor._make_subclass(Wrapper, lib.ones(4, 4))
    result = eval(f"x{index}", {"x": x})
    return [*calls, type(result) is lib.Tensor]


@pytest.mark.parametrize("index", INDICES)
def test_a_class_is_shown_an_index_as_pytorch_shows_it_and_results_stay_as_it_made_them(
    index: str,
) -> None:
    assert shown(dovetail, index) == shown(torch, index)


def disabled(lib: Any) -> list[bool]:
    off = lib._C._disabled_torch_function_impl

    def dispatch(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return 5

    def function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return 6

    own = {"__torch_dispatch__": classmethod(dispatch)}
    functions = {"__torch_function__": classmethod(function)}
    plain = type("Plain", (lib.Tensor,), {})
    overriding = type("Overriding", (lib.Tensor,), functions)
    off_dispatch = {"__torch_dispatch__": lib._C._disabled_torch_dispatch_impl}
    classes = [
        plain,
        type("Dispatching", (lib.Tensor,), own),
        type("Below", (plain,), own),
        type("Both", (lib.Tensor,), {**own, **functions}),
        type("Inheriting", (overriding,), own),
        type("Off", (lib.Tensor,), off_dispatch),
    ]
    return [cls.__torch_function__ is off for cls in classes]


def test_a_class_that_brings_torch_dispatch_has_no_inherited_torch_function() -> None:
    assert disabled(dovetail) == disabled(torch) == [False, True, True, False, False, False]


def _seen_of_writes_to_views(lib: Any) -> list[list[str]]:
    """Return the operators of forward that a mode sees in programs that write to views."""
    mode = importlib.import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode

    class Names(mode):  # type: ignore[misc,valid-type]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen[-1].append(str(func))
            return func(*args, **(kwargs or {}))

    def part(base: Any) -> Any:
        view = base[0]
        view.mul_(3)
        return view.grad_fn is not None and view + 1

    def another_part(base: Any) -> Any:
        first, second = base[0], base[1]
        first.add_(second)
        second.add_(first)
        return first + second

    def base_of_a_view(base: Any) -> Any:
        view = base[0]
        base.mul_(3)
        return view + 1

    def constants(base: Any) -> Any:
        made = lib.zeros(3, 2)
        made.t()[1:].add_(base[1:])
        made[0] = base[:, 0]
        return made

    seen: list[list[str]] = []
    for program in (part, another_part, base_of_a_view, constants):
        base = lib.ones(2, 3, requires_grad=True) * 2
        seen.append([])
        with Names():
            program(base)
    return seen


def test_a_mode_sees_no_operator_that_only_makes_the_node_of_a_view_anew() -> None:
    assert _seen_of_writes_to_views(dovetail) == _seen_of_writes_to_views(torch)


def below_a_fallthrough(lib: Any, key: str, requires_grad: bool) -> list[Any]:
    modes = importlib.import_module(f"{lib.__name__}.utils._python_dispatch")

    class Mode(modes.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*args, **(kwargs or {}))

    library = lib.library.Library(f"fallsthrough{next(NUMBERS)}", "DEF")
    try:
        library.define("f(Tensor(a) x) -> Tensor(a)")
        library.impl("f", lib.library.fallthrough_kernel, key)
        library.impl("f", lambda x: x[:1], "BackendSelect")
        base = lib.ones(2, requires_grad=requires_grad)
        with Mode():
            view = getattr(lib.ops, library.ns).f(base)
        return [view._is_view(), view.requires_grad, view.grad_fn]
    finally:
        library._destroy()


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("key", ["Autograd", "AutogradCPU", "CompositeImplicitAutograd"])
def test_a_mode_below_a_fallthrough_notes_no_view(key: str, requires_grad: bool) -> None:
    found = [below_a_fallthrough(lib, key, requires_grad) for lib in (dovetail, torch)]
    assert found[0] == found[1] == [False, False, None]
