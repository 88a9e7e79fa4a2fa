"""Functional variants of operators that write or share memory, under PyTorch's names.

For every view operator ``select.int`` there is ``select_copy.int``, whose result has memory of its
own; for the views of a part there is ``select_scatter``, which returns the base with that part
replaced; for every writing operator there is a functional form: ``fill``, ``copy``, ``zero``. Those
that the base library has are taken from it; others are defined when `functionalize` wants them.

The kernels of these are written with the operators that they stand for, on memory of their own,
and their derivative is that of this kernel, run anew in backward.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, Final

import dovetail_autograd
from dovetail_aten import Tensor
from dovetail_autograd import enable_grad, is_grad_enabled
from dovetail_dispatcher import Library, OpOverload, ops, register_autograd, transaction
from dovetail_kernel import contiguous_format, renewed_after_fork, restoring

_library: Library | None = None
_lock = renewed_after_fork(RLock())
_known: dict[tuple[str, str], OpOverload] = {}

COPY_NAMES: Final = {"reshape": "view_copy"}
"""Copying forms whose names are not that of the view operator with ``_copy``."""
FUNCTIONAL_NAMES: Final = {"normal_": "normal_functional"}
"""Functional forms whose names are not that of the writing operator without its underscore."""


def copy_variant(view: OpOverload) -> OpOverload:
    """Return the operator that does what `view` does and copies the result."""

    def copying(*args: Any, **kwargs: Any) -> Any:
        result = view(*args, **kwargs)
        return (
            [each.clone() for each in result]
            if isinstance(result, list | tuple)
            else result.clone()
        )

    base = view._opname
    return _variant(view, COPY_NAMES.get(base, f"{base}_copy"), "", copying)


def scatter_variant(view: OpOverload) -> OpOverload:
    """Return the operator that replaces the part of a tensor that the view operator `view` shows.

    It takes the tensor, what replaces the part, and the other arguments of `view`.
    """

    def scattering(self: Tensor, src: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = self.clone()
        view(result, *args, **kwargs).copy_(src)
        return result

    return _variant(view, f"{view._opname}_scatter", "Tensor src", scattering, overload="")


def functional_variant(writing: OpOverload) -> OpOverload:
    """Return the operator that gives, as a new tensor, what `writing` writes into its first
    argument.
    """
    functional = writing._operator.variant_of
    if functional is not None:
        found: OpOverload = functional.handle
        return found

    def functional_form(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = self.clone()
        writing(result, *args, **kwargs)
        return result

    base = writing._opname
    body = copied if base == "copy_" else functional_form
    return _variant(writing, FUNCTIONAL_NAMES.get(base, base.removesuffix("_")), "", body)


def copied(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Return `src` with the shape, dtype, device and order of dimensions in memory of `self`.

    It writes to nothing, since `src` may vary in a `vmap` where `self` does not.
    """
    spread = src.to(self.device, self.dtype, non_blocking).expand(tuple(self.shape))
    order = self.dim_order()
    inverse = sorted(range(self.ndim), key=order.__getitem__)
    copy: Tensor = spread.permute(order).clone(memory_format=contiguous_format)
    return copy.permute(inverse)


def _variant(
    op: OpOverload,
    name: str,
    second: str,
    body: Callable[..., object],
    *,
    overload: str | None = None,
) -> OpOverload:
    own = op._operator.overload if overload is None else overload
    with _lock:
        found = _known.get((name, own))
        if found is None:
            found = _defined(name, own)
            if found is None:
                with transaction():
                    found = _define(op, name, own, second, body)
            _known[name, own] = found
        return found


def _defined(name: str, overload: str) -> OpOverload | None:
    """Return the operator ``aten::<name>.<overload>`` if there is one."""
    return getattr(getattr(ops.aten, name, None), overload or "default", None)


def _define(
    op: OpOverload, name: str, overload: str, second: str, body: Callable[..., object]
) -> OpOverload:
    """Define ``aten::<name>`` with the schema of `op`, less what it says of memory, and `second`
    behind ``self``.
    """
    global _library
    if _library is None:
        _library = Library("aten", "FRAGMENT")
    _, _, signature = str(op._schema).partition("(")
    signature = re.sub(r"\((?:[a-z](?:!)?(?: -> \*)?)\)", "", signature)
    if second:
        first, comma, rest = signature.partition(", ")
        signature = (
            f"{first}, {second}, {rest}"
            if comma
            else signature.replace(") ->", f", {second}) ->", 1)
        )
    suffix = f".{overload}" if overload else ""
    _library.define(f"{name}{suffix}({signature}")
    _library.impl(f"{name}{suffix}", body, "CompositeExplicitAutograd")
    qualified = f"aten::{name}{suffix}"
    register_autograd(qualified, _backward_of(body), setup_context=_save, lib=_library)
    found = _defined(name, overload)
    assert found is not None
    return found


def _save(ctx: Any, inputs: Sequence[Any], output: object, keyword_only_inputs: Any = None) -> None:
    ctx.tensors = [index for index, value in enumerate(inputs) if isinstance(value, Tensor)]
    ctx.save_for_backward(*[inputs[index] for index in ctx.tensors])
    ctx.others = [None if isinstance(value, Tensor) else value for value in inputs]
    ctx.options = dict(keyword_only_inputs or {})


def _backward_of(body: Callable[..., Any]) -> Callable[..., Any]:
    @restoring()
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        again = is_grad_enabled()
        inputs = list(ctx.others)
        wanted = []
        with enable_grad():
            for index, saved in zip(ctx.tensors, ctx.saved_tensors, strict=True):
                inputs[index] = saved.view_as(saved) if saved.requires_grad else saved
                if saved.requires_grad:
                    wanted.append(index)
            result = body(*inputs, **ctx.options)
            outputs = list(result) if isinstance(result, list | tuple) else [result]
            given = list(grads[0]) if isinstance(result, list | tuple) else list(grads)
            pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if o.requires_grad]
            found: Any = [None] * len(wanted)  # `copy` depends on nothing of what it overwrites
            if pairs:
                found = dovetail_autograd.grad(
                    [each for each, _ in pairs],
                    [inputs[index] for index in wanted],
                    [each for _, each in pairs],
                    create_graph=again,
                    allow_unused=True,
                )
        gradients: list[Any] = [None] * len(inputs)
        differentiated = any([each is not None and each.requires_grad for each in given])
        for index, gradient in zip(wanted, found, strict=True):
            # A backward is linear: what does not depend on the gradients that it got is zero.
            if not differentiated or gradient is None or gradient.requires_grad:
                gradients[index] = gradient
        return tuple(gradients)

    return backward
