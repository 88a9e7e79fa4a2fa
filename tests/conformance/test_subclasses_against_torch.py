"""Subclasses of Tensor do the same on PyTorch and on Dovetail: ``super()``, copies, Jacobians, and
how their instances are made.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from same_programs import Programs, assert_same

import dovetail

programs = Programs()


def wrapper(lib: Any, log: list[str] | None = None) -> Any:
    """Return a wrapper subclass that runs every operator on what it wraps."""

    class Wrapper(lib.Tensor):  # type: ignore[misc,name-defined]
        __torch_function__ = lib._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls: Any, elem: Any) -> Any:
            return lib.Tensor._make_wrapper_subclass(
                cls, elem.size(), dtype=elem.dtype, requires_grad=elem.requires_grad
            )

        def __init__(self, elem: Any) -> None:
            self.elem = elem

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if log is not None:
                log.append(str(func))

            def inner(value: Any) -> Any:
                if isinstance(value, list | tuple):
                    return [inner(each) for each in value]
                return value.elem if isinstance(value, cls) else value

            def outer(value: Any) -> Any:
                if isinstance(value, list | tuple):
                    return type(value)([outer(each) for each in value])
                return cls(value) if isinstance(value, lib.Tensor) else value

            return outer(func(*inner(args), **{k: inner(v) for k, v in (kwargs or {}).items()}))

    return Wrapper


def shown(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return type(value).__name__, getattr(value, "elem", value).tolist()


@programs("super() of a method, a property or an operator asks __torch_function__")
def _(lib: Any) -> Any:
    log: list[str] = []

    class Own(lib.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

        def __getitem__(self, index: Any) -> Any:
            log.append("own")
            return super().__getitem__(index)

        def add(self, other: Any) -> Any:
            return super().add(other)

        def __add__(self, other: Any) -> Any:
            return super().__add__(other)

        @property
        def ndim(self) -> Any:
            return super().ndim

        def item(self) -> Any:
            return super().item()

    x = lib.ones(2, 3).as_subclass(Own)
    log.clear()
    results = [x[0], x.add(1), x + 1, x.ndim, x[0][0].item()]
    lib.Tensor.numel(x), lib.Tensor.dtype.__get__(x), lib.Tensor.__len__(x), lib.Tensor.long(x)
    return [type(each).__name__ for each in results], log


@programs("super() of __torch_dispatch__ runs the operator on the data of the tensor")
def _(lib: Any) -> Any:
    log: list[str] = []

    class Noting(lib.Tensor):  # type: ignore[misc,name-defined]
        __torch_function__ = lib._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    class Second(Noting):
        pass

    x = lib.Tensor._make_subclass(Noting, lib.ones(2))
    y = lib.Tensor._make_subclass(Second, lib.ones(2), True)
    (y * 3).sum().backward()
    return [(x + 1).tolist(), x.mul_(2) is x, type(x.clone()).__name__, y.grad.tolist(), log[:3]]


@programs("a parameter of an inference tensor is one, wherever it is made; no other is")
def _(lib: Any) -> Any:
    def made(*tensors: Any) -> list[Any]:
        leaves = [lib.nn.Parameter(each, requires_grad=False) for each in tensors]
        return [(leaf.is_inference(), leaf.is_leaf, leaf.requires_grad) for leaf in leaves]

    plain = lib.ones(2)
    plain.add_(1)
    with lib.inference_mode():
        inferred = lib.ones(2)
        inside = made(plain, inferred)
    outside = lib.nn.Parameter(inferred, requires_grad=False)
    shared = lib.nn.Parameter((plain * 1).requires_grad_() * 2)
    parameter = lib.nn.Parameter(plain)
    plain.add_(1)
    return [
        inside,
        made(plain, inferred),
        (outside._version, parameter._version, parameter.tolist()),
        (shared.is_leaf, shared._is_view(), shared.requires_grad),
    ]


@programs("a wrapper is copied deeply with what it wraps, its attributes and its gradient")
def _(lib: Any) -> Any:
    leaf = wrapper(lib)(lib.ones(2, requires_grad=True))
    leaf.tag, leaf.other = ["t"], leaf.elem
    (leaf * 3).sum().backward()
    twin = copy.deepcopy(leaf)
    twice = copy.deepcopy([leaf, leaf])
    return [
        (type(twin).__name__, twin.requires_grad, twin.elem is leaf.elem, twin.elem.tolist()),
        (twin.other is twin.elem, twin.tag, twin.tag is leaf.tag, twice[0] is twice[1]),
        shown(twin.grad),
    ]


@programs("a shallow copy of a wrapper wraps the same tensor")
def _(lib: Any) -> Any:
    whole = wrapper(lib)(lib.ones(2, requires_grad=True))
    twin = copy.copy(whole)
    return type(twin).__name__, twin.elem is whole.elem, twin.requires_grad, tuple(twin.shape)


@programs("Jacobians, Hessians and products with them of wrappers are wrappers")
def _(lib: Any) -> Any:
    own = wrapper(lib)
    x, y, v = own(lib.tensor([1.0, 2.0])), own(lib.tensor([3.0, 4.0])), own(lib.ones(2))
    functional = lib.autograd.functional
    return [
        shown(functional.jacobian(lambda x: x * x, x)),
        shown(functional.jacobian(lambda x, y: x * y, (x, y))),
        shown(functional.jacobian(lambda x: x * x, x, create_graph=True).elem.detach()),
        shown(functional.hessian(lambda x: (x**3).sum(), x)),
        shown(functional.vjp(lambda x: x * x, x, v)),
        shown(functional.jvp(lambda x: x * x, x, v)),
        shown(functional.vhp(lambda x: (x**3).sum(), x, v)),
    ]


@programs("Jacobians of a plain subclass are of that class")
def _(lib: Any) -> Any:
    class Plain(lib.Tensor):  # type: ignore[misc,name-defined]
        pass

    x = lib.tensor([1.0, 2.0]).as_subclass(Plain)
    functional = lib.autograd.functional
    return [
        shown(functional.jacobian(lambda x: x * x, x)),
        shown(functional.hessian(lambda x: (x**3).sum(), x)),
    ]


@programs("a subclass may look within a function that it overrides")
def _(lib: Any) -> Any:
    log: list[str] = []

    class Looking(lib.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append(func.__name__)
            return lib.overrides.redispatch_function(func, types, args, kwargs or {})

    def scaled(a: Any) -> Any:
        if lib.overrides.has_torch_function((a,)):
            return lib.overrides.handle_torch_function(scaled, (a,), a)
        return a * 2 + 1

    x = lib.ones(2).as_subclass(Looking)
    log.clear()
    result = scaled(x)
    return type(result).__name__, result.tolist(), log, type(lib.add(x, x)).__name__


@programs("a handler below autograd may go through autograd again")
def _(lib: Any) -> Any:
    seen: list[Any] = []

    class Again(lib.Tensor):  # type: ignore[misc,name-defined]
        __torch_function__ = lib._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            plain = lib.ones(2, requires_grad=True)
            seen.append((plain * plain).requires_grad)
            with lib.overrides.enable_reentrant_dispatch(), lib.enable_grad():
                (grad,) = lib.autograd.grad((plain * plain).sum(), plain)
            seen.append(grad.tolist())
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = lib.Tensor._make_subclass(Again, lib.ones(2), True)
    return seen, x.exp().grad_fn.name(), seen


@programs("instances that a class makes with the constructor of Tensor")
def _(lib: Any) -> Any:
    class Tagged(lib.Tensor):  # type: ignore[misc]
        def __new__(cls, data: Any, *sizes: int, tag: Any = None) -> Any:
            made = super().__new__(cls, data, *sizes)
            made.tag = tag
            return made

    class Counted(Tagged):
        def __init__(self, data: Any, *sizes: int, tag: Any = None) -> None:
            self.count = 1

    plain = type("Plain", (lib.Tensor,), {})
    x = lib.arange(3.0)
    seen = []
    for kind in (Tagged, Counted):
        made = kind(x, tag="t")
        made[0] = 5
        seen.append((shown(made), shown(made * 2), made.tag, getattr(made, "count", 0), x.tolist()))
        seen += [shown(kind([1.0, 2.0])), tuple(kind(2, 3).shape), shown(made[1:])]
    seen += [
        shown(lib.Tensor.__new__(plain, x)),
        type(lib.Tensor.__new__(lib.Tensor)) is lib.Tensor,
    ]
    leaf = lib.ones(2, requires_grad=True)
    made = Tagged(leaf * 2)
    seen.append((made.requires_grad, made.is_leaf, type(made.detach()).__name__))
    for wrong in (("text",), (1.5,), ([1.0], 2)):
        try:
            Tagged(*wrong)
        except (TypeError, ValueError) as error:
            seen.append(type(error).__name__)
    return seen


@programs("what makes no wrapper is refused")
def _(lib: Any) -> Any:
    own, outcomes = wrapper(lib), []
    for size, options in [
        ((2, 3), {"strides": (1,)}),
        ((2, 3), {"storage_offset": 3}),
        ((2, 3), {"dtype": "x"}),
        ((-2, 3), {}),
        ((2, 3), {"dispatch_sizes_strides_policy": "other"}),
        ((2, 3), {"nope": 1}),
        ((2, 3), {"memory_format": lib.contiguous_format, "strides": None}),
        ((2, 3), {"strides": (3, 1), "storage_offset": 2, "_extra_dispatch_keys": None}),
    ]:
        try:
            made = lib.Tensor._make_wrapper_subclass(own, size, **options)
        except (TypeError, ValueError, RuntimeError) as error:
            outcomes.append(type(error).__name__)
        else:
            outcomes.append((tuple(made.shape), made.stride(), made.storage_offset()))
    return outcomes


@pytest.mark.parametrize("name", programs)
def test_programs_with_subclasses_do_the_same(name: str) -> None:
    assert_same(programs[name])


@pytest.mark.parametrize("asked", ["dispatch_device", "dispatch_layout"])
@pytest.mark.parametrize("make", ["wrapper", "subclass"])
def test_what_cannot_be_asked_of_a_class_is_refused_at_once(asked: str, make: str) -> None:
    own = wrapper(dovetail)
    functions: dict[str, Callable[..., Any]] = {
        "wrapper": lambda **o: dovetail.Tensor._make_wrapper_subclass(own, (2,), **o),
        "subclass": lambda **o: dovetail.Tensor._make_subclass(own, dovetail.ones(2), **o),
    }
    with pytest.raises(NotImplementedError, match="Define properties in the class"):
        functions[make](**{asked: True})


def test_a_plain_subclass_is_copied_deeply_where_pytorch_refuses() -> None:
    for lib, works in ((dovetail, True), (torch, False)):
        plain = type("Plain", (lib.Tensor,), {})
        value = lib.ones(2).as_subclass(plain)  # type: ignore[attr-defined]
        if works:
            assert shown(copy.deepcopy(value)) == ("Plain", [1.0, 1.0])
        else:
            with pytest.raises(RuntimeError, match="new_empty"):
                copy.deepcopy(value)
