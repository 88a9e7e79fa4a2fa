"""Operators of a third party, one for every way of registering kernels and derivatives, to pin
their routes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail import Tag, Tensor
from dovetail.backends import register_backend
from dovetail.library import (
    Library,
    _scoped_library,
    custom_op,
    fallthrough_kernel,
    get_ctx,
    register_autograd,
    register_fake,
)

FOREIGN: Final[dict[str, Callable[..., Any]]] = {
    "mul.Tensor": lambda self, other: self.clone(),
    "max.dim": lambda self, dim, keepdim=False: (self[0].clone(), dt.zeros(3, dtype=dt.int64)),
    "linear": lambda input, weight, bias=None: input.clone(),
    "exp": lambda self: self.clone(),
    "add_.Tensor": lambda self, other, alpha=1: self,
}
"""Kernels that a third party puts over those of the base library."""


@contextmanager
def foreign_kernel(name: str) -> Iterator[None]:
    """Put a third party's kernel over that of the operator `name` of the base library."""
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl(name, FOREIGN[name], "CPU")
        yield


_kept: Final[list[Any]] = []


def define() -> None:
    """Register the operators of the namespace ``golden``, and a backend of its own, on which the
    base library runs.
    """
    register_backend("mirror", np)
    lib = Library("golden", "DEF")
    _kept.append(lib)
    _define_kernels(lib)
    _define_derivatives(lib)
    _define_boxed()
    _define_custom_ops()


def _define_kernels(lib: Library) -> None:
    lib.define("all_defaults(Tensor x, int k=2, *, float p=0.5) -> Tensor")
    lib.impl("all_defaults", lambda x, k=2, *, p=0.5: x * k * p, "CPU")
    lib.define("own_defaults(Tensor x, int k=2, *, float p=0.5) -> Tensor")
    lib.impl("own_defaults", lambda x, k=3, *, p=0.25: x * k * p, "CPU")
    lib.define("composite(Tensor x, Tensor? y=None) -> Tensor")
    lib.impl("composite", lambda x, y=None: x * 2, "CompositeImplicitAutograd")
    lib.define("explicit(Tensor[] xs) -> (Tensor, Tensor)")
    lib.impl("explicit", lambda xs: (xs[0] * 2, xs[1] * 2), "CompositeExplicitAutograd")
    lib.define("several(Tensor x) -> Tensor[]")
    lib.impl("several", lambda x: [x * 2, x * 3], "CPU")
    lib.define("nothing(Tensor x) -> ()")
    lib.impl("nothing", lambda x: None, "CPU")
    lib.define("write_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.impl("write_", lambda x, y: x.copy_(y), "CPU")
    lib.define("write_some(Tensor(a!)? x, Tensor(b!)[] ys) -> ()")
    lib.impl("write_some", lambda x, ys: None, "CPU")
    lib.define("into(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    lib.impl("into", lambda x, *, out: out.copy_(x), "CPU")
    lib.define(
        "array(Tensor x, Tensor? y, Tensor[] zs, Tensor?[] ws, ScalarType? t=None) -> (Tensor, "
        "Tensor)"
    )
    lib.array_impl("array", lambda x, y, zs, ws, t=None: (x + 1, zs[0] + 1), "CPU")
    lib.define("number(Tensor x, ScalarType t) -> float")
    lib.array_impl("number", lambda x, t: float(x.sum()), "CPU")
    lib.define("array_nothing(Tensor x) -> ()")
    lib.array_impl("array_nothing", lambda x: None, "CPU")
    lib.define("plain_optional(Tensor x, bool flag=False, int? k=None) -> Tensor")
    lib.array_impl(
        "plain_optional", lambda x, flag=False, k=None: x + 1, "CPU", fast_path=lambda x: x + 1
    )
    lib.define("plain_never(Tensor x, int k) -> Tensor")
    lib.array_impl("plain_never", lambda x, k: x + k, "CPU", fast_path=lambda x: x)
    lib.define("with_keyset(Tensor x) -> Tensor")
    lib.impl("with_keyset", lambda x: x * 2, "CPU")
    lib.impl("with_keyset", _redispatched, "Autograd", with_keyset=True)
    lib.define("fallen_through(Tensor x) -> Tensor")
    lib.impl("fallen_through", lambda x: x * 2, "CPU")
    lib.impl("fallen_through", fallthrough_kernel, "AutogradCPU")
    lib.define("faked(Tensor x) -> Tensor")
    lib.impl("faked", lambda x: x * 2, "CPU")
    register_fake("golden::faked", _fake, lib=lib)
    lib.define("pair(Tensor x) -> (Tensor, Tensor)")
    lib.impl("pair", lambda x: (x * 2, x * 3), "CPU")


def _redispatched(keyset: Any, x: Tensor) -> Tensor:
    from dovetail._C import _after_autograd_keyset

    return dt.ops.golden.with_keyset.default.redispatch(keyset & _after_autograd_keyset, x)


def _fake(x: Tensor) -> Tensor:
    get_ctx()
    return dt.empty_like(x)


def _define_derivatives(lib: Library) -> None:
    for schema in (
        "learned(Tensor x, Tensor? y=None) -> Tensor",
        "learned_without_context(Tensor x) -> Tensor",
        "learned_with_keyword(Tensor x, *, float k=2.0) -> Tensor",
        "learned_list(Tensor[] xs) -> Tensor",
        "learned_pair(Tensor x) -> (Tensor, Tensor)",
        "learned_array(Tensor x) -> Tensor",
    ):
        lib.define(schema)
    lib.impl("learned", lambda x, y=None: x * 2, "CPU")
    register_autograd(
        "golden::learned", lambda ctx, g: (g * 2, None), setup_context=_set_up, lib=lib
    )
    lib.impl("learned_without_context", lambda x: x * 2, "CPU")
    register_autograd("golden::learned_without_context", lambda ctx, g: g * 2, lib=lib)
    lib.impl("learned_with_keyword", lambda x, *, k=2.0: x * k, "CPU")
    register_autograd(
        "golden::learned_with_keyword", lambda ctx, g: g * 2, setup_context=_set_up_keyword, lib=lib
    )
    lib.impl("learned_list", lambda xs: xs[0] * 2, "CPU")
    register_autograd(
        "golden::learned_list", lambda ctx, g: [g] * 2, setup_context=_set_up, lib=lib
    )
    lib.impl("learned_pair", lambda x: (x * 2, x * 3), "CPU")
    register_autograd("golden::learned_pair", lambda ctx, g, f: g + f, lib=lib)
    lib.array_impl("learned_array", lambda x: x * 2, "CPU")
    register_autograd("golden::learned_array", lambda ctx, g: g * 2, setup_context=_set_up, lib=lib)


def _set_up(ctx: Any, inputs: Any, output: Any) -> None:
    pass


def _set_up_keyword(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    pass


def _define_boxed() -> None:
    lib = Library("golden_boxed", "DEF")
    fallbacks = Library("_", "IMPL")
    _kept.extend([lib, fallbacks])
    lib.define("fallen_back(Tensor x, int k=1, *, float p=0.5) -> Tensor")
    fallbacks.fallback(lambda op, *args, **kwargs: args[0] * 2, "CPU")


def _define_custom_ops() -> None:
    @custom_op("golden::made", mutates_args=())
    def made(x: Tensor, k: int = 1) -> Tensor:
        return x * k

    @custom_op("golden::made_pair", mutates_args=())
    def made_pair(x: Tensor) -> tuple[Tensor, Tensor]:
        return x * 2, x * 3

    @custom_op("golden::made_of_list", mutates_args=())
    def made_of_list(xs: list[Tensor]) -> Tensor:
        return xs[0] * 2

    @custom_op("golden::made_number", mutates_args=())
    def made_number(x: Tensor) -> float:
        return 1.0

    @custom_op("golden::made_writing", mutates_args=("x",))
    def made_writing(x: Tensor, y: Tensor) -> None:
        x.copy_(y)

    @custom_op("golden::made_writing_some", mutates_args=("x", "ys"))
    def made_writing_some(x: Tensor | None, ys: list[Tensor]) -> None:
        ys[0].zero_()

    @custom_op("golden::made_learned", mutates_args=())
    def made_learned(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    tagged = (
        "(Tensor(a!) x) -> Tensor(a!)",
        "(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))",
    )
    custom_op(
        "golden::made_inplace", lambda x: x, schema=tagged[0], mutates_args=("x",), tags=Tag.inplace
    )
    custom_op(
        "golden::made_out",
        lambda x, a, b: (a, b),
        schema=tagged[1],
        mutates_args=("a", "b"),
        tags=Tag.out,
    )
    made_learned.register_autograd(lambda ctx, g: (g, g), setup_context=_set_up)
    made.register_fake(_fake_made)
    _kept.extend(
        [made, made_pair, made_of_list, made_number, made_writing, made_writing_some, made_learned]
    )


def _fake_made(x: Tensor, k: int = 1) -> Tensor:
    return dt.empty_like(x)
