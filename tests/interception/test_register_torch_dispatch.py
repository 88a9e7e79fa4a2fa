"""`register_torch_dispatch`: what a mode does with one operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dovetail
from dovetail import Tensor
from dovetail.library import Library, custom_op, register_torch_dispatch
from dovetail_dispatcher import TorchDispatchMode


class Plain(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("rtd", "DEF")
    library.define("f(Tensor x, *, int n=1) -> Tensor")
    library.impl("f", lambda x, n=1: x * n, "CPU")
    yield library
    library._destroy()


def test_a_rule_runs_instead_of_the_mode_and_goes_with_its_library(lib: Library) -> None:
    seen: list[Any] = []
    other = Library("rtd", "FRAGMENT")

    @register_torch_dispatch("rtd::f", Plain, lib=other)
    def rule(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Tensor:
        seen.append((type(mode), func, kwargs))
        return dovetail.zeros(1)

    x = dovetail.ones(2)
    with Plain():
        assert dovetail.ops.rtd.f(x, n=3).tolist() == [0]
    assert seen == [(Plain, dovetail.ops.rtd.f.default, {"n": 3})]
    assert dovetail.ops.rtd.f(x, n=3).tolist() == [3, 3]
    other._destroy()
    with Plain():
        assert dovetail.ops.rtd.f(x, n=3).tolist() == [3, 3]


def test_a_custom_op_has_its_rule() -> None:
    op = custom_op("rtdc::f", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    try:
        op.register_torch_dispatch(
            Plain, lambda mode, func, types, args=(), kwargs=None: dovetail.zeros(1)
        )
        with Plain():
            assert op(dovetail.ones(2)).tolist() == [0]
    finally:
        op._lib._destroy()


def test_a_second_rule_for_one_class_is_refused(lib: Library) -> None:
    register_torch_dispatch("rtd::f", Plain, lambda *args: None, lib=lib)
    with pytest.raises(
        RuntimeError, match="already has a `__torch_dispatch__` rule registered for rtd::f"
    ):
        register_torch_dispatch("rtd::f", Plain, lambda *args: None, lib=lib)


def test_a_class_without_torch_dispatch_is_refused(lib: Library) -> None:
    with pytest.raises(ValueError, match="has no __torch_dispatch__"):
        register_torch_dispatch("rtd::f", int, lambda *args: None, lib=lib)
