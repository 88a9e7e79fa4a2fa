# ruff: noqa: PLC3002 - a lambda called at once gives a drawn value a name
"""Arguments of random shapes and layouts for every operator with a derivative formula, for numeric
differentiation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import dovetail as dt
from dovetail_dispatcher.table import registry

LAYOUTS = ("plain", "plain", "transposed", "strided", "expanded")
SIZES = (0, 1, 2, 2, 3, 3)


class Operand:
    """A place for an input in the arguments: which one, and the view of it that the operator is
    given.
    """

    def __init__(self, index: int, view: Callable[[Any], Any]) -> None:
        self.index = index
        self.view = view


class Sampler:
    """Draws shapes, layouts and numbers, and gathers the leaves that the arguments are made of.

    Parameters
    ----------
    draw
        Draws from a hypothesis strategy.
    low, high
        The interval that numbers lie in. They are different from each other, and off integers and
        halves.
    dtype
        Of the leaves.
    """

    def __init__(self, draw: Callable[[Any], Any], low: float, high: float, dtype: Any) -> None:
        self.draw = draw
        self.low, self.high, self.dtype = low, high, dtype
        self.leaves: list[Any] = []

    def among(self, *values: Any) -> Any:
        """Draw one of some values."""
        return self.draw(st.sampled_from(values))

    def shape(self, least: int = 0, most: int = 3) -> tuple[int, ...]:
        """Draw a shape of `least` to `most` dimensions and at most 12 elements."""
        shape = self.draw(st.lists(st.sampled_from(SIZES), min_size=least, max_size=most))
        while math.prod(shape) > 12:
            shape[shape.index(max(shape))] = 1
        return tuple(shape)

    def size(self) -> int:
        """Draw the size of a dimension."""
        return self.among(*SIZES)

    def dim(self, shape: tuple[int, ...]) -> int:
        """Draw a dimension, from the front or the back."""
        limit = max(len(shape), 1)
        return self.draw(st.integers(-limit, limit - 1))

    def dims(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Draw some different dimensions."""
        chosen = self.draw(st.sets(st.integers(0, max(len(shape) - 1, 0)), max_size=len(shape)))
        return tuple([dim - len(shape) if self.among(True, False) else dim for dim in chosen])

    def broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Draw a shape that broadcasts to `shape`."""
        kept = [1 if self.among(True, False, False) else size for size in shape]
        return tuple(kept[self.among(0, 0, 1) if kept else 0 :])

    def numbers(self, count: int) -> Any:
        """Return different numbers of the interval, in no order."""
        step = (self.high - self.low) / max(count, 1)
        order = sorted(
            range(count), key=lambda place: (place * 7 + len(self.leaves) * 3) % 11 + place / 100
        )
        offset = step * (0.37 + 0.11 * len(self.leaves))
        values = [self.low + offset + step * place * 0.9 for place in order]
        if self.dtype.is_complex:
            values = [
                complex(value, 0.61 * value + 0.23 - 0.13 * (place % 3))
                for place, value in enumerate(values)
            ]
        return dt.tensor(values, dtype=self.dtype)

    def leaf(self, shape: tuple[int, ...], layout: str | None = None) -> Operand:
        """Draw an operand of a shape, in some layout, and add its leaf."""
        layout = self.among(*LAYOUTS) if layout is None else layout
        own: tuple[int, ...] = shape

        def view(x: Any) -> Any:
            return x

        if shape and layout == "transposed":
            own, view = shape[::-1], lambda x: x.permute(tuple(range(x.ndim))[::-1])
        elif shape and layout == "strided":
            own, view = (*shape[:-1], 2 * shape[-1]), lambda x: x[..., ::2]
        elif shape and layout == "expanded":
            own, view = (1, *shape[1:]), lambda x: x.expand(shape)
        self.leaves.append(self.numbers(math.prod(own)).reshape(own).detach().requires_grad_())
        return Operand(len(self.leaves) - 1, view)

    def index(self, shape: tuple[int, ...], size: int, *, unique: bool = False) -> Any:
        """Draw an index tensor of a shape into a dimension of `size` elements."""
        count = math.prod(shape) if size else 0
        values = [(3 * place + 1) % size if not unique else place % size for place in range(count)]
        return dt.tensor(values, dtype=dt.int64).reshape(
            shape if count or 0 in shape else (0,) * len(shape)
        )


Call = tuple[tuple[Any, ...], dict[str, Any]]


def call(*args: Any, **kwargs: Any) -> Call:
    """Return the arguments of a call."""
    return args, kwargs


def reduced(s: Sampler) -> tuple[Any, ...]:
    """Return an operand, dimensions of it and ``keepdim``."""
    shape = s.shape(0)
    return s.leaf(shape), s.dims(shape), s.among(True, False)


def along(s: Sampler, least_size: int = 0) -> tuple[Any, ...]:
    """Return an operand and a dimension of it with at least `least_size` elements."""
    shape = s.shape(0)
    dim = s.dim(shape)
    if shape:
        sizes = list(shape)
        sizes[dim] = max(sizes[dim], least_size)
        shape = tuple(sizes)
    return s.leaf(shape), dim


def product(s: Sampler, left: str, right: str, added: str = "") -> list[Any]:
    """Return matrices whose shapes are spelt by letters, each a size; `added` is broadcast."""
    sizes = {letter: s.among(0, 1, 2, 2, 3) for letter in "bijk"}
    shapes = [tuple([sizes[letter] for letter in term]) for term in (left, right)]
    made = [s.leaf(shape) for shape in shapes]
    return (
        [s.leaf(s.broadcast(tuple([sizes[letter] for letter in added]))), *made] if added else made
    )


def nonempty(s: Sampler, least: int = 0, most: int = 3) -> tuple[int, ...]:
    """Draw a shape without sizes of zero."""
    return tuple([max(size, 1) for size in s.shape(least, most)])


def indexed(s: Sampler, name: str) -> Call:
    """Return the arguments of the operators that take an index along a dimension."""
    shape = nonempty(s, 1)
    dim = s.dim(shape)
    if name in ("index_select", "index_add"):
        index = s.index((s.among(0, 1, 2),), shape[dim])
        if name == "index_select":
            return call(s.leaf(shape), dim, index)
        source = list(shape)
        source[dim] = index.shape[0]
        return call(s.leaf(shape), dim, index, s.leaf(tuple(source)), alpha=s.among(1, 0.7))
    own = list(shape)
    own[dim] = s.among(1, shape[dim])
    index = s.index(tuple(own), shape[dim], unique=True)
    if name == "scatter.src":
        # Unique along the dimension, so that it is settled which element is written last.
        places = dt.arange(own[dim]).reshape(
            [-1 if d == dim % len(own) else 1 for d in range(len(own))]
        )
        index = places.expand(tuple(own)).clone()
    extra: dict[str, tuple[Any, ...]] = {"gather": (), "scatter.value": (0.3,)}
    return call(
        s.leaf(shape), dim, index, *(extra[name] if name in extra else (s.leaf(tuple(own)),))
    )


def masked(s: Sampler, value: Callable[[], Any]) -> Call:
    shape = s.shape(0)
    mask = dt.arange(math.prod(shape)).reshape(shape) % 3 == 0
    return call(s.leaf(shape), mask, *([] if value is None else [value()]))


def joined(s: Sampler, *, along_new: bool) -> Call:
    shape = s.shape(0 if along_new else 1)
    dim = s.dim((*shape, 1)) if along_new else s.dim(shape)
    shapes = [list(shape), list(shape)]
    if not along_new:
        shapes[1][dim] = s.size()
    return call([s.leaf(tuple(each)) for each in shapes], dim)


def strided_view(s: Sampler) -> Call:
    size, stride = s.among(((2,), (1,)), ((2, 2), (1, 2)), ((2, 2), (2, 0)), ((), ()), ((3,), (2,)))
    return call(s.leaf((2, 3), "plain"), size, stride, s.among(None, 0, 1))


def classified(s: Sampler) -> Call:
    rows, classes = s.among(1, 2, 3), 3
    weight = s.among(None, dt.tensor([0.5, 1.0, 2.0], dtype=dt.float64))
    return call(
        s.leaf((rows, classes)),
        s.index((rows,), classes),
        weight,
        s.among(0, 1, 2),
        s.among(-100, 0),
    )


def normalized(s: Sampler) -> Call:
    shape = (*nonempty(s, 0, 1), s.among(3, 4))
    parameters = [s.among(True, False), s.among(True, False)]
    made = [s.leaf(shape[-1:]) if given else None for given in parameters]
    return call(s.leaf(shape), shape[-1:], *made, 1e-5)


def viewed(s: Sampler) -> Call:
    shape = s.shape(0)
    flat = s.among(tuple(shape[::-1]), (math.prod(shape),), (1, *shape))
    return call(s.leaf(shape, "plain"), flat)


def loss(s: Sampler, *more: Any) -> Call:
    shape = s.shape(0)
    return call(
        s.leaf(shape),
        s.leaf(s.broadcast(shape)),
        s.among(0, 1, 2) if math.prod(shape) else 0,
        *more,
    )


def binary_loss(s: Sampler) -> Call:
    shape = s.shape()
    weights = [
        s.numbers(math.prod(shape)).reshape(shape) if s.among(True, False) else None
        for _ in range(2)
    ]
    return call(
        s.leaf(shape),
        s.leaf(s.broadcast(shape)),
        *weights,
        s.among(0, 1, 2) if math.prod(shape) else 0,
    )


def sampled(s: Sampler, function: Callable[..., Call], *args: Any) -> Call:
    return function(s, *args)


CASES: dict[str, Callable[[Sampler], Call]] = {
    "sum": lambda s: call(s.leaf(s.shape())),
    "mean": lambda s: call(s.leaf(nonempty(s))),
    "prod": lambda s: call(s.leaf(s.shape())),
    "max": lambda s: call(s.leaf(nonempty(s), "plain")),
    "min": lambda s: call(s.leaf(nonempty(s), "plain")),
    "sum.dim_IntList": lambda s: call(*reduced(s)),
    "mean.dim": lambda s: (lambda x, d: call(x, (d,), s.among(True, False)))(*along(s, 1)),
    "amax": lambda s: (lambda x, d: call(x, (d,), s.among(True, False)))(*along(s, 1)),
    "amin": lambda s: (lambda x, d: call(x, (d,), s.among(True, False)))(*along(s, 1)),
    "logsumexp": lambda s: (lambda x, d: call(x, (d,), s.among(True, False)))(*along(s, 1)),
    "prod.dim_int": lambda s: call(*along(s), s.among(True, False)),
    "max.dim": lambda s: call(*along(s, 1), s.among(True, False)),
    "min.dim": lambda s: call(*along(s, 1), s.among(True, False)),
    "cumsum": lambda s: call(*along(s)),
    "cumprod": lambda s: call(*along(s)),
    "sort": lambda s: call(*along(s), s.among(True, False)),
    "topk": lambda s: (lambda x, d: call(x, 1, d, s.among(True, False)))(*along(s, 1)),
    "var.correction": lambda s: call(
        s.leaf((*s.shape(0, 2), 3), "plain"),
        (-1,),
        correction=s.among(0, 1, None),
        keepdim=s.among(True, False),
    ),
    "std.correction": lambda s: call(
        s.leaf((*s.shape(0, 2), 3), "plain"),
        (-1,),
        correction=s.among(0, 1, None),
        keepdim=s.among(True, False),
    ),
    "linalg_vector_norm": lambda s: (
        lambda x, d: call(x, s.among(2, 1, 3, 1.5, 0.5), (d,), s.among(True, False))
    )(*along(s, 1)),
    "norm.Scalar": lambda s: call(s.leaf(nonempty(s)), s.among(2, 1, 3, 1.5)),
    "norm.ScalarOpt_dim": lambda s: (
        lambda x, d: call(x, s.among(2, None, 3), (d,), s.among(True, False))
    )(*along(s, 1)),
    "_softmax": lambda s: call(*along(s), False),
    "_log_softmax": lambda s: call(*along(s), False),
    "mm": lambda s: call(*product(s, "ij", "jk")),
    "bmm": lambda s: call(*product(s, "bij", "bjk")),
    "mv": lambda s: call(*product(s, "ij", "j")),
    "dot": lambda s: call(*product(s, "i", "i")),
    "vdot": lambda s: call(*product(s, "i", "i")),
    "addmm": lambda s: call(
        *product(s, "ij", "jk", "ik"), beta=s.among(1, 0.5), alpha=s.among(1, 2.0)
    ),
    "addmv": lambda s: call(
        *product(s, "ij", "j", "i"), beta=s.among(1, 0.5), alpha=s.among(1, 2.0)
    ),
    "addbmm": lambda s: call(
        *product(s, "bij", "bjk", "ik"), beta=s.among(1, 0.5), alpha=s.among(1, 2.0)
    ),
    "baddbmm": lambda s: call(
        *product(s, "bij", "bjk", "bik"), beta=s.among(1, 0.5), alpha=s.among(1, 2.0)
    ),
    "view": viewed,
    "_unsafe_view": viewed,
    "permute": lambda s: (
        lambda shape: call(s.leaf(shape), tuple(s.draw(st.permutations(range(len(shape))))))
    )(s.shape()),
    "transpose.int": lambda s: (lambda shape: call(s.leaf(shape), s.dim(shape), s.dim(shape)))(
        s.shape()
    ),
    "t": lambda s: call(s.leaf(s.shape(0, 2))),
    "select.int": lambda s: (lambda x, d: call(x, d, s.among(0, -1)))(
        s.leaf((s.among(1, 2), s.among(1, 3))), s.among(0, 1, -1)
    ),
    "slice.Tensor": lambda s: (
        lambda shape: call(
            s.leaf(shape),
            s.dim(shape),
            s.among(None, 0, 1, -2, 5),
            s.among(None, 1, -1, 9),
            s.among(1, 2),
        )
    )(s.shape(1)),
    "expand": lambda s: (lambda shape: call(s.leaf(s.broadcast(shape)), shape))(s.shape()),
    "unsqueeze": lambda s: (lambda shape: call(s.leaf(shape), s.dim((*shape, 1))))(s.shape()),
    "squeeze": lambda s: call(s.leaf(s.shape())),
    "squeeze.dim": lambda s: (lambda shape: call(s.leaf(shape), s.dim(shape)))(s.shape()),
    "squeeze.dims": lambda s: (lambda shape: call(s.leaf(shape), s.dims(shape)))(s.shape()),
    "unbind.int": lambda s: (lambda shape: call(s.leaf(shape), s.dim(shape)))(nonempty(s, 1)),
    "split.Tensor": lambda s: (lambda shape: call(s.leaf(shape), s.among(1, 2, 3), s.dim(shape)))(
        s.shape(1)
    ),
    "split_with_sizes": lambda s: call(s.leaf((s.size(), 3)), (1, 0, 2), s.among(1, -1)),
    "diagonal": lambda s: call(
        s.leaf((*s.shape(0, 1), 2, s.among(2, 3))), s.among(0, 1, -1, 4), -2, -1
    ),
    "as_strided": strided_view,
    "alias": lambda s: call(s.leaf(s.shape())),
    "view_as_real": lambda s: call(s.leaf(s.shape(), "plain")),
    "view_as_complex": lambda s: call(s.leaf((*s.shape(0, 2), 2), "plain")),
    "clone": lambda s: call(s.leaf(s.shape())),
    "_to_copy": lambda s: call(s.leaf(s.shape()), dtype=s.dtype),
    "flip": lambda s: (lambda shape: call(s.leaf(shape), s.dims(shape)))(s.shape()),
    "roll": lambda s: (lambda shape: call(s.leaf(shape), (s.among(1, -1, 2),), (s.dim(shape),)))(
        s.shape(1)
    ),
    "repeat": lambda s: (
        lambda shape: call(
            s.leaf(shape), tuple([s.among(0, 1, 2) for _ in range(len(shape) + s.among(0, 1))])
        )
    )(s.shape(0, 2)),
    "cat": lambda s: joined(s, along_new=False),
    "stack": lambda s: joined(s, along_new=True),
    "tril": lambda s: call(s.leaf(s.shape(2)), s.among(0, 1, -1)),
    "triu": lambda s: call(s.leaf(s.shape(2)), s.among(0, 1, -1)),
    "diag_embed": lambda s: call(s.leaf(s.shape(1, 2)), s.among(0, 1, -1)),
    "constant_pad_nd": lambda s: call(
        s.leaf(nonempty(s, 2, 2)), s.among((1, 2), (0, -1), (1, 0, 0, 2), ()), 0.5
    ),
    "index.Tensor": lambda s: call(
        s.leaf((3, 2)),
        s.among(
            [s.index((2,), 3)],
            [None, s.index((2, 1), 2)],
            [s.index((2,), 3), s.index((2,), 2)],
            [s.index((0,), 3)],
        ),
    ),
    "index_put": lambda s: call(
        s.leaf((3, 2)),
        [dt.tensor([2, 0])],
        s.leaf(s.among((2, 2), (2,), (), (1, 2))),
        s.among(True, False),
    ),
    "index_select": lambda s: indexed(s, "index_select"),
    "index_add": lambda s: indexed(s, "index_add"),
    "gather": lambda s: indexed(s, "gather"),
    "scatter.value": lambda s: indexed(s, "scatter.value"),
    "scatter.src": lambda s: indexed(s, "scatter.src"),
    "scatter_add": lambda s: indexed(s, "scatter_add"),
    "masked_select": lambda s: masked(s, None),
    "masked_fill.Scalar": lambda s: masked(s, lambda: 0.7),
    "masked_fill.Tensor": lambda s: masked(s, lambda: s.leaf(())),
    "take": lambda s: (lambda shape: call(s.leaf(shape), s.index(s.shape(0, 2), math.prod(shape))))(
        nonempty(s)
    ),
    "log_sigmoid_forward": lambda s: call(s.leaf(s.shape())),
    "nll_loss_forward": classified,
    "mse_loss": loss,
    "smooth_l1_loss": lambda s: loss(s, s.among(1.0, 0.4)),
    "binary_cross_entropy_with_logits": binary_loss,
    "embedding": lambda s: call(s.leaf((3, s.size())), s.index(s.shape(0, 2), 3), -1),
    "native_layer_norm": normalized,
    "where.self": lambda s: (
        lambda shape: call(
            dt.arange(math.prod(shape)).reshape(shape) % 2 == 0,
            s.leaf(s.broadcast(shape)),
            s.leaf(s.broadcast(shape)),
        )
    )(s.shape()),
    "clamp": lambda s: call(s.leaf(s.shape()), s.among(None, -0.5), 0.51),
    "div.Tensor_mode": lambda s: (
        lambda shape: call(
            s.leaf(shape), s.leaf(shape), rounding_mode=s.among(None, "floor", "trunc")
        )
    )(s.shape()),
    "div.Scalar_mode": lambda s: call(
        s.leaf(s.shape()), 0.7, rounding_mode=s.among(None, "floor", "trunc")
    ),
    "gelu": lambda s: call(s.leaf(s.shape()), approximate=s.among("none", "tanh")),
    "elu": lambda s: call(
        s.leaf(s.shape()), s.among(1.0, 1.5), s.among(1.0, 2.0), s.among(1.0, 0.5)
    ),
    "softplus": lambda s: call(s.leaf(s.shape()), s.among(1, 2), s.among(20, 1)),
    "threshold": lambda s: call(s.leaf(s.shape()), 0.1, 5.0),
    "_prelu_kernel": lambda s: (lambda shape: call(s.leaf(shape), s.leaf(shape)))(s.shape()),
    "lerp.Scalar": lambda s: (
        lambda shape: call(s.leaf(shape), s.leaf(s.broadcast(shape)), s.among(0.3, 0.8))
    )(s.shape()),
    "pow.Tensor_Scalar": lambda s: call(s.leaf(s.shape()), s.among(0, 1, 2, 3, -1, 0.5, 2.7)),
    "pow.Scalar": lambda s: call(s.among(0.7, 2), s.leaf(s.shape())),
}
"""What arguments an operator gets; pointwise operators that are not here get operands that
broadcast.
"""

INTERVALS = {
    **dict.fromkeys(
        [
            "sqrt",
            "rsqrt",
            "log",
            "log2",
            "log10",
            "log1p",
            "reciprocal",
            "pow.Tensor_Tensor",
            "pow.Tensor_Scalar",
            "div.Tensor",
            "div.Scalar",
            "addcdiv",
            "div.Tensor_mode",
            "div.Scalar_mode",
            "xlogy.Tensor",
            "atan2",
            "hypot",
            "prod",
            "prod.dim_int",
            "cumprod",
            "norm.Scalar",
            "norm.ScalarOpt_dim",
            "linalg_vector_norm",
            "remainder.Tensor",
            "fmod.Tensor",
        ],
        (0.3, 2.1),
    ),
    **dict.fromkeys(["asin", "acos", "atanh"], (-0.8, 0.8)),
    "acosh": (1.3, 3.0),
}
"""Where an operator's numbers lie; elsewhere from -1.6 to 1.8."""

COMPLEX = set(
    [
        "add.Tensor",
        "add.Scalar",
        "sub.Tensor",
        "sub.Scalar",
        "rsub.Tensor",
        "rsub.Scalar",
        "mul.Tensor",
        "mul.Scalar",
        "div.Tensor",
        "div.Scalar",
        "neg",
        "abs",
        "sgn",
        "angle",
        "reciprocal",
        "sqrt",
        "rsqrt",
        "exp",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "sigmoid",
        "silu",
        "logaddexp",
        "expm1",
        "_conj_physical",
        "addcmul",
        "addcdiv",
        "lerp.Tensor",
        "lerp.Scalar",
        "where.self",
        "masked_fill.Scalar",
        "masked_fill.Tensor",
        "pow.Tensor_Scalar",
        "pow.Tensor_Tensor",
        "sum",
        "sum.dim_IntList",
        "mean",
        "mean.dim",
        "prod",
        "prod.dim_int",
        "cumsum",
        "cumprod",
        "var.correction",
        "std.correction",
        "mm",
        "bmm",
        "mv",
        "dot",
        "vdot",
        "addmm",
        "addmv",
        "addbmm",
        "baddbmm",
        "view",
        "permute",
        "transpose.int",
        "t",
        "select.int",
        "slice.Tensor",
        "expand",
        "unsqueeze",
        "squeeze",
        "squeeze.dim",
        "squeeze.dims",
        "unbind.int",
        "split.Tensor",
        "split_with_sizes",
        "diagonal",
        "as_strided",
        "alias",
        "clone",
        "_to_copy",
        "flip",
        "roll",
        "repeat",
        "cat",
        "stack",
        "tril",
        "triu",
        "diag_embed",
        "constant_pad_nd",
        "index.Tensor",
        "index_put",
        "index_select",
        "index_add",
        "gather",
        "scatter.value",
        "scatter.src",
        "scatter_add",
        "masked_select",
        "take",
        "linalg_vector_norm",
        "norm.Scalar",
    ]
)
"""Operators that are differentiated with complex numbers too."""


def arguments(name: str, s: Sampler) -> Call:
    """Return arguments for an operator: those written above, or operands that broadcast and the
    number 0.7.
    """
    if name in CASES:
        return CASES[name](s)
    base, _, overload = name.partition(".")
    schema = registry.find_or_throw(f"aten::{base}", overload).schema
    shape = s.shape()
    made: list[Any] = []
    for argument in schema.arguments:
        kind = argument.real_type.schema_str.rstrip("?")
        if kind == "Tensor":
            made.append(s.leaf(s.broadcast(shape) if made else shape))
        elif not argument.has_default_value():
            made.append(0.7)
    keywords = {
        a.name: 0.6 for a in schema.arguments if a.kwarg_only and a.name in ("alpha", "value")
    }
    return tuple(made), keywords


def function_of(name: str, given: Call) -> Callable[..., tuple[Any, ...]]:
    """Return the operator as a function of the leaves of its arguments, giving its differentiable
    results.
    """
    base, _, overload = name.partition(".")
    operator = getattr(getattr(dt.ops.aten, base), overload or "default")
    args, kwargs = given

    def run(*leaves: Any) -> tuple[Any, ...]:
        def put(value: Any) -> Any:
            if isinstance(value, Operand):
                return value.view(leaves[value.index])
            return [put(each) for each in value] if isinstance(value, list) else value

        result = operator(*[put(value) for value in args], **kwargs)
        results = result if isinstance(result, tuple | list) else (result,)
        return tuple(r for r in results if isinstance(r, dt.Tensor) and r.requires_grad)

    return run
