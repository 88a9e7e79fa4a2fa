"""The text of entries."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterator

import pytest

from dovetail_dispatcher import Library, ops, parse_schema
from dovetail_dispatcher.calls.templates import entry_source
from dovetail_kernel import TensorBase, set_full_tracebacks

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


def test_an_entry_checks_classes_makes_the_key_and_looks_up_the_route() -> None:
    schema = parse_schema(
        "ns::f(Tensor x, Tensor? y=None, int[2] k=0, *, Scalar alpha=1) -> Tensor"
    )
    text = entry_source(schema)
    compile(text, "entry", "exec")
    assert text.startswith("def f(x=MISSING, y=None, k=")
    for part in (
        "*extra, alpha=1, **unknown):",
        "alpha.__class__ is not int and alpha.__class__ is not float",
        "x._signature | state()",
        "if y is not None:",
        "return miss(f_op, (x, y, k, *extra,), ",
        "k_ints = (k,) * 2 if k.__class__ is int",
        "route(x, y, k_ints, alpha)",
    ):
        assert part in text


@pytest.fixture
def full_tracebacks() -> Iterator[None]:
    set_full_tracebacks(True)
    yield
    set_full_tracebacks(False)


@pytest.mark.usefixtures("full_tracebacks")
def test_full_tracebacks_show_an_entry(library: Libraries, tensor: Tensors) -> None:
    lib = library("ent", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: 1 / 0, "CPU")
    entry = ops.ent.f.default.op
    for _ in range(2):  # the first call is a miss
        with pytest.raises(ZeroDivisionError) as error:
            getattr(entry, "text", entry)(tensor())  # a compiled entry has no frame
    lines = [
        linecache.getline(e.frame.code.raw.co_filename, e.lineno + 1).strip()
        for e in error.traceback
    ]
    assert "return route(x)" in lines


def test_an_overload_is_called_without_a_layer_between(library: Libraries, tensor: Tensors) -> None:
    library("ent", "DEF").define("f(Tensor x) -> Tensor")
    call = type(ops.ent.f.default).__call__
    assert inspect.isfunction(call)
    assert call is ops.ent.f.default.op
    with pytest.raises(NotImplementedError, match="ent::f"):  # whose text is compiled for the call
        call(tensor())
    assert "routes[x._signature | state()]" in "".join(
        linecache.getlines(call.__code__.co_filename)
    )
