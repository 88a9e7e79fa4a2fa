"""What a program defines for itself: custom operators, `Function`s and wrapper subclasses.

All of them take tensors of any shape and return tensors of the same shape.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

__all__ = ["Piece", "pieces"]

Piece = Callable[[Any, Any], list[Any]]
"""``piece(a, b)`` returns tensors; `b` has the shape of `a`."""
NUMBERS = itertools.count()
_made: dict[str, tuple[Any, dict[str, Piece]]] = {}


def pieces(lib: Any) -> dict[str, Piece]:
    """Return the pieces of a library by name; define them anew where a test took them back."""
    name = lib.__name__
    if name in _made and not hasattr(*_made[name][0]):
        del _made[name]
    if name not in _made:
        namespace = f"hunted{next(NUMBERS)}_{name}"
        made = {**_functions(lib), **_operators(lib, namespace), **_subclasses(lib)}
        _made[name] = (getattr(lib.ops, namespace), "sine"), made
    return _made[name][1]


def _saves_inputs(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


# -- custom operators ------------------------------------------------------------------------------


def _operators(lib: Any, namespace: str) -> dict[str, Piece]:
    custom_op = lib.library.custom_op

    def sine_backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0].cos()

    sine = custom_op(
        f"{namespace}::sine", lambda x: x.sin(), mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    sine.register_autograd(sine_backward, setup_context=_saves_inputs)

    def product_backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    product = custom_op(
        f"{namespace}::product",
        lambda x, y: x * y,
        mutates_args=(),
        schema="(Tensor x, Tensor y) -> Tensor",
    )
    product.register_autograd(product_backward, setup_context=_saves_inputs)

    def rule(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
        dims = [dim for dim in in_dims if dim is not None]
        moved = [
            each if dim is None else each.movedim(dim, 0)
            for each, dim in zip((x, y), in_dims, strict=True)
        ]
        return moved[0] * moved[1], 0 if dims else None

    ruled = custom_op(
        f"{namespace}::ruled",
        lambda x, y: x * y,
        mutates_args=(),
        schema="(Tensor x, Tensor y) -> Tensor",
    )
    ruled.register_autograd(product_backward, setup_context=_saves_inputs)
    ruled.register_vmap(rule)

    def pair_backward(ctx: Any, first: Any, second: Any) -> Any:
        x, y = ctx.saved_tensors
        return first * y - second * x.sin(), first * x + second

    pair = custom_op(
        f"{namespace}::pair",
        lambda x, y: (x * y, x.cos() + y),
        mutates_args=(),
        schema="(Tensor x, Tensor y) -> (Tensor, Tensor)",
    )
    pair.register_autograd(pair_backward, setup_context=_saves_inputs)

    library = lib.library.Library(namespace, "FRAGMENT")
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x * x * x, "CompositeExplicitAutograd")
    lib.library.register_autograd(
        f"{namespace}::cube",
        lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=_saves_inputs,
        lib=library,
    )
    library.define("composed(Tensor x, Tensor y) -> Tensor")
    library.impl("composed", lambda x, y: x.tanh() * y, "CompositeImplicitAutograd")
    own = getattr(lib.ops, namespace)
    _kept.append(library)
    return {
        "custom sine": lambda a, b: [sine(a)],
        "custom product": lambda a, b: [product(a, b)],
        "custom product with a rule": lambda a, b: [ruled(a, b)],
        "custom pair": lambda a, b: list(pair(a, b)),
        "library cube": lambda a, b: [own.cube(a)],
        "library composite": lambda a, b: [own.composed(a, b)],
    }


_kept: list[Any] = []
"""Libraries: what one registers goes with it."""


# -- functions -------------------------------------------------------------------------------------


def _functions(lib: Any) -> dict[str, Piece]:
    base = lib.autograd.Function

    def function(name: str, **methods: Any) -> Any:
        attributes = {
            key: staticmethod(value) if callable(value) else value for key, value in methods.items()
        }
        return type(name, (base,), {"generate_vmap_rule": True, **attributes})

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    sine = function(
        "Sine",
        forward=lambda x: x.sin(),
        setup_context=save,
        backward=lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
        jvp=lambda ctx, tangent: tangent * ctx.saved_tensors[0].cos(),
    )
    pair = function(
        "Pair",
        forward=lambda x, y: (x * y, x.cos() + y),
        setup_context=save,
        backward=lambda ctx, g, h: (
            g * ctx.saved_tensors[1] - h * ctx.saved_tensors[0].sin(),
            g * ctx.saved_tensors[0] + h,
        ),
        jvp=lambda ctx, t, u: (
            t * ctx.saved_tensors[1] + u * ctx.saved_tensors[0],
            u - t * ctx.saved_tensors[0].sin(),
        ),
    )

    def note_factor(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    scaled = function(
        "Scaled",
        forward=lambda x, factor: x * factor,
        setup_context=note_factor,
        backward=lambda ctx, grad: (grad * ctx.factor, None),
        jvp=lambda ctx, tangent, _: tangent * ctx.factor,
    )
    view = function(
        "View",
        forward=lambda x: x.view(tuple(x.shape)),
        setup_context=lambda ctx, inputs, output: None,
        backward=lambda ctx, grad: grad,
        jvp=lambda ctx, tangent: tangent.view(tuple(tangent.shape)),
    )
    output = function(
        "FromOutput",
        forward=lambda x: x.exp(),
        setup_context=lambda ctx, inputs, result: (
            ctx.save_for_backward(result),
            ctx.save_for_forward(result),
        ),
        backward=lambda ctx, grad: grad * ctx.saved_tensors[0],
        jvp=lambda ctx, tangent: tangent * ctx.saved_tensors[0],
    )

    def rule(info: Any, in_dims: Any, x: Any) -> Any:
        return ruled.apply(x), in_dims[0]

    ruled = function(
        "Ruled",
        generate_vmap_rule=False,
        vmap=rule,
        forward=lambda x: x.sin(),
        setup_context=save,
        backward=lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
        jvp=lambda ctx, tangent: tangent * ctx.saved_tensors[0].cos(),
    )
    twice = function(
        "Twice",
        forward=lambda x: (lambda y: (y, y))(x.sin()),  # noqa: PLC3002  (one tensor, twice)
        setup_context=save,
        backward=lambda ctx, g, h: (g + h) * ctx.saved_tensors[0].cos(),
        jvp=lambda ctx, tangent: (tangent * ctx.saved_tensors[0].cos(),) * 2,
    )

    def writes(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(inputs[0])

    def doubled(x: Any) -> Any:
        return x.mul_(2)

    dirty = function(
        "Dirty",
        forward=doubled,
        setup_context=writes,
        backward=lambda ctx, grad: grad * 2,
        jvp=lambda ctx, tangent: tangent.mul_(2),
    )
    return {
        "function": lambda a, b: [sine.apply(a)],
        "function of two results": lambda a, b: list(pair.apply(a, b)),
        "function of a number": lambda a, b: [scaled.apply(a, 0.5)],
        "function that returns a view": lambda a, b: [view.apply(a * 1)],
        "function that saves its result": lambda a, b: [output.apply(a.tanh())],
        "function with a rule": lambda a, b: [ruled.apply(a)],
        "function that returns a tensor twice": lambda a, b: list(twice.apply(a)),
        "function that writes": lambda a, b: [dirty.apply(a * 1)],
    }


# -- wrapper subclasses ----------------------------------------------------------------------------


def _subclasses(lib: Any) -> dict[str, Piece]:
    tree_map = lib.utils._pytree.tree_map

    class Wrapper(lib.Tensor):  # type: ignore[misc,name-defined]
        """Holds a tensor; operators give plain tensors."""

        @staticmethod
        def __new__(cls: Any, inner: Any) -> Any:
            return lib.Tensor._make_wrapper_subclass(
                cls, inner.size(), dtype=inner.dtype, device=inner.device
            )

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        @classmethod
        def __torch_dispatch__(
            cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            def plain(value: Any) -> Any:
                return value.inner if isinstance(value, cls) else value

            return function(*tree_map(plain, args), **tree_map(plain, kwargs or {}))

    def captured(a: Any) -> Any:
        return Wrapper(lib.full(tuple(a.shape), 1.5, dtype=lib.float64))

    return {"captured wrapper": lambda a, b: [a * captured(a) + b]}
