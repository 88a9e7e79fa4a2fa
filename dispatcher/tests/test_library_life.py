"""The life of a library: what its end takes back, and what others still hold of it."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from dovetail_dispatcher import Library, _scoped_library, ops
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.updates.changes import take_back
from dovetail_kernel import TensorBase

Libraries = Callable[..., Library]
Snapshot = Callable[[], tuple[Any, ...]]
Tensors = Callable[..., TensorBase]


def same(x: Any, *_args: Any, **_kwargs: Any) -> Any:
    return x


def test_destroying_takes_everything_back_and_twice_is_once(
    library: Libraries, snapshot: Snapshot
) -> None:
    before = snapshot()
    lib, fallbacks = library("ll", "DEF"), library("_", "IMPL")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", same, "CPU")
    lib.array_impl("f", same, "CUDA")
    fallbacks.fallback(same, "CPU")
    for each in (lib, fallbacks, lib):
        each._destroy()
    assert snapshot() == before


@pytest.mark.parametrize(
    "call",
    [lambda lib: lib.define("g(Tensor x) -> Tensor"), lambda lib: lib.impl("f", same, "CPU")],
)
def test_a_destroyed_library_registers_nothing(
    call: Callable[[Library], Any], library: Libraries
) -> None:
    lib = library("ll", "DEF")
    lib._destroy()
    with pytest.raises(AssertionError, match="Library object has been destroyed"):
        call(lib)


def test_what_a_library_registered_stays_when_it_is_not_held(tensor: Tensors) -> None:
    lib = Library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", same, "CPU")
    undos = lib._changes
    del lib
    gc.collect()
    x = tensor()
    assert ops.ll.f(x) is x
    take_back(undos)


def test_a_scoped_library_is_gone_after_the_block_also_on_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), _scoped_library("ll", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        assert hasattr(ops.ll, "f")
        1 / 0  # noqa: B018
    assert not hasattr(ops.ll, "f")


def test_a_destroyed_library_frees_its_operators(library: Libraries) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", same, "CPU")
    operator = weakref.ref(ops.ll.f.default._operator)
    lib._destroy()
    gc.collect()
    assert operator() is None


def test_an_overload_held_after_its_library_is_gone_says_so(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", same, "CPU")
    overload = ops.ll.f.default
    overload(tensor())
    lib._destroy()
    with pytest.raises(
        RuntimeError, match="operator ll::f is not defined any more: its library was destroyed"
    ):
        overload(tensor())


def test_an_old_packet_finds_a_new_definition_under_the_same_name(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> int")
    lib.impl("f", lambda x: 1, "CPU")
    packet = ops.ll.f
    packet(tensor())
    lib._destroy()
    again = library("ll", "DEF")
    again.define("f(Tensor x, Tensor y) -> int")
    again.impl("f", lambda x, y: 2, "CPU")
    assert packet(tensor(), tensor()) == 2
    assert ops.ll.f is packet


def test_an_old_overload_is_bound_to_the_schema_of_the_day_if_kernels_kept_its_operator(
    library: Libraries, tensor: Tensors
) -> None:
    lib, kernels = library("ll", "DEF"), library("ll", "IMPL")
    kernels.impl("f", lambda x, y=None: 1 if y is None else 2, "CPU")
    lib.define("f(Tensor x) -> int")
    overload = ops.ll.f.default
    assert overload(tensor()) == 1
    lib._destroy()
    library("ll", "DEF").define("f(Tensor x, Tensor y) -> int")
    assert ops.ll.f(tensor(), tensor()) == 2
    assert overload(tensor(), tensor()) == 2
    with pytest.raises(RuntimeError, match="missing value for argument 'y'"):
        overload(tensor())


def test_an_interrupted_registration_can_be_taken_back(
    library: Libraries, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = library("ll", "DEF")
    before = snapshot()

    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(registry, "count_change", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lib.define("f(Tensor x) -> Tensor")
    monkeypatch.undo()
    lib._destroy()
    assert snapshot() == before


@pytest.mark.usefixtures("once_warnings")
def test_an_override_refused_by_a_warning_filter_leaves_no_trace(
    library: Libraries, snapshot: Snapshot
) -> None:
    lib = library("ll", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", same, "CPU")
    before = snapshot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Overriding"):
            lib.impl("f", lambda x: x, "CPU")
    assert snapshot() == before
