"""`__torch_dispatch__`: modes and classes that run operators at the key Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from dovetail_dispatcher import CustomOpDef, Library, ops, register_torch_dispatch
from dovetail_dispatcher._C import (
    _DisableTorchDispatch,
    _dispatch_isTensorSubclassLike,
    _get_dispatch_stack_at,
    _len_torch_dispatch_stack,
    _pop_torch_dispatch_stack,
    _push_on_torch_dispatch_stack,
)
from dovetail_dispatcher.interception.mode_stacks import dispatch_modes
from dovetail_dispatcher.interception.python_dispatch import (
    TorchDispatchMode,
    enable_reentrant_dispatch,
)
from dovetail_kernel import (
    DatalessArray,
    DispatchKey,
    TensorBase,
    backend,
    bump_version,
    disabled_torch_function_impl,
    dispatch_state,
    wrap,
)

Tensors = Callable[..., TensorBase]
FLOAT32 = np.dtype("float32")


class Wrapper(TensorBase):
    """A tensor that shows another and notes the operators on it."""

    __torch_function__ = disabled_torch_function_impl
    calls: ClassVar[list[Any]] = []

    @classmethod
    def of(cls, inner: TensorBase) -> Any:
        """Return a wrapper of a tensor."""
        native = backend("cpu").arrays.native_dtypes[inner.dtype]
        made: Any = wrap(DatalessArray(tuple(inner.shape), native), backend("cpu"), cls)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Wrapper.calls.append((func, types, args, kwargs))

        def inside(value: Any) -> Any:
            if isinstance(value, list):
                return [inside(each) for each in value]
            return value.inner if isinstance(value, Wrapper) else value

        result = func(*map(inside, args), **{k: inside(v) for k, v in (kwargs or {}).items()})
        return cls.of(result) if isinstance(result, TensorBase) else result


class Inner(Wrapper):
    """A class derived from it."""


class Declining(Wrapper):
    """A class that leaves every operator to others."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Log(TorchDispatchMode):
    """A mode that notes the operators and runs them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((func, types, args, kwargs))
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def no_calls() -> Iterator[None]:
    """Begin without calls, and leave no mode."""
    Wrapper.calls.clear()
    yield
    assert _len_torch_dispatch_stack() == 0


@pytest.fixture
def lib(library: Callable[..., Library]) -> Library:
    """The operators ``td::add``, ``td::fill_``, ``td::view``, ``td::split`` and ``td::many``."""
    lib = library("td", "DEF")
    cpu = backend("cpu")

    def fill(x: TensorBase, value: float) -> TensorBase:
        x.array[...] = value
        return x

    for schema, kernel in (
        ("add(Tensor x, Tensor? y=None, *, float n=1.) -> Tensor", lambda x, y, n: new(x, n)),
        ("fill_(Tensor(a!) x, float value) -> Tensor(a!)", fill),
        ("view(Tensor(a) x) -> Tensor(a)", lambda x: wrap(x.array[:1], cpu)),
        ("split(Tensor(a -> *) x) -> Tensor(a)[]", lambda x: [wrap(x.array[:1], cpu)]),
        ("many(Tensor[] xs) -> Tensor", lambda xs: new(xs[0], 0)),
        ("number(Tensor x) -> int", lambda x: 3),
    ):
        name = lib.define(schema)
        lib.impl(name, kernel, "CPU")
    return lib


def new(x: TensorBase, n: float) -> TensorBase:
    """Return ``x + n``."""
    return wrap(x.array + np.asarray(n, x.array.dtype), backend("cpu"))


# -- classes ---------------------------------------------------------------------------------------


def test_a_class_runs_the_operators_on_its_tensors(lib: Library, tensor: Tensors) -> None:
    x, plain = Wrapper.of(tensor([1.0, 2.0])), tensor([5.0])
    result = ops.td.add(x, plain, n=2.0)
    assert type(result) is Wrapper and result.inner.array.tolist() == [3.0, 4.0]
    assert Wrapper.calls == [(ops.td.add.default, (Wrapper,), (x, plain), {"n": 2.0})]
    assert ops.td.number(x) == 3
    assert len(Wrapper.calls) == 2


def test_tensors_in_lists_and_keywords_are_found(lib: Library, tensor: Tensors) -> None:
    x, plain = Wrapper.of(tensor([1.0])), tensor([5.0])
    ops.td.many([plain, x])
    assert Wrapper.calls[0][1:3] == ((Wrapper,), ([plain, x],))
    ops.td.add(plain, y=x)
    assert Wrapper.calls[1][1] == (Wrapper,)


def test_a_subclass_is_asked_before_its_base(lib: Library, tensor: Tensors) -> None:
    base, inner = Wrapper.of(tensor([1.0])), Inner.of(tensor([2.0]))
    assert type(ops.td.add(base, inner)) is Inner
    assert Wrapper.calls[0][1] == (Inner, Wrapper)


def test_a_class_that_declines_leaves_it_to_the_next(lib: Library, tensor: Tensors) -> None:
    first, second = Declining.of(tensor([1.0])), Inner.of(tensor([2.0]))
    assert type(ops.td.many([first, second])) is Inner
    with pytest.raises(TypeError, match=r"dispatch failed for 'dovetail.ops.td.add.default'.*"):
        ops.td.add(first)


def test_what_a_class_returns_is_checked_in_its_name(lib: Library, tensor: Tensors) -> None:
    class Wrong(Wrapper):
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return "no tensor"

    with pytest.raises(RuntimeError, match=r"Wrong.__torch_dispatch__ at .*td.add.default"):
        ops.td.add(Wrong.of(tensor([1.0])))


def test_what_is_written_is_returned_itself_and_its_write_counts_once(
    lib: Library, tensor: Tensors
) -> None:
    x = Wrapper.of(tensor([1.0]))
    assert ops.td.fill_(x, 7.0) is x
    assert x.inner.array.tolist() == [7.0] and x._version == 1

    class Counting(Wrapper):
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            bump_version(args[0])
            return None

    y = Counting.of(tensor([1.0]))
    assert ops.td.fill_(y, 7.0) is y and y._version == 1
    ops.td.add(x)
    assert x._version == 1


@pytest.mark.parametrize("name", ["view", "split"])
def test_a_view_shares_storage_and_version_with_its_base(
    lib: Library, tensor: Tensors, name: str
) -> None:
    class Viewing(Wrapper):
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            made = cls.of(tensor([0.0]))
            return made if func is ops.td.view.default else [made]

    x = Viewing.of(tensor([1.0, 2.0]))
    result = getattr(ops.td, name)(x)
    view = result if name == "view" else result[0]
    assert type(view) is Viewing and view is not x
    assert view.untyped_storage() is x.untyped_storage()
    bump_version(view)
    assert x._version == 1


# -- modes -----------------------------------------------------------------------------------------


def test_a_mode_sees_operators_while_it_is_entered(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0])
    with Log() as log:
        assert _get_dispatch_stack_at(0) is log and _dispatch_isTensorSubclassLike(x)
        assert ops.td.add(x, n=3.0).array.tolist() == [4.0]
    ops.td.add(x)
    assert log.calls == [(ops.td.add.default, (), (x,), {"n": 3.0})]
    assert not _dispatch_isTensorSubclassLike(x)
    assert _dispatch_isTensorSubclassLike(Wrapper.of(x))


def test_modes_are_asked_from_the_inside_out_and_classes_last(
    lib: Library, tensor: Tensors
) -> None:
    x = Wrapper.of(tensor([1.0]))
    with Log() as outer, Log() as inner:
        result = ops.td.add(x)
    assert type(result) is Wrapper
    assert [len(inner.calls), len(outer.calls), len(Wrapper.calls)] == [1, 1, 1]
    assert inner.calls[0][1] == (Wrapper,)


def test_a_mode_that_declines_leaves_it_to_the_classes(lib: Library, tensor: Tensors) -> None:
    class Declines(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented if types or args[0] is refused else func(*args)

    refused = tensor([1.0])
    with Declines():
        assert type(ops.td.add(Wrapper.of(tensor([1.0])))) is Wrapper
        with pytest.raises(TypeError, match=r"mode object .*Declines"):
            ops.td.add(refused)


def test_a_mode_without_a_handler_says_what_to_write(lib: Library, tensor: Tensors) -> None:
    with (
        pytest.raises(NotImplementedError, match="TorchDispatchMode must override"),
        TorchDispatchMode(),
    ):
        ops.td.add(tensor([1.0]))


def test_a_handler_runs_below_autograd_unless_it_asks_for_more(
    lib: Library, tensor: Tensors
) -> None:
    seen: list[bool] = []

    class Look(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(DispatchKey.AutogradCPU in dispatch_state().excluded)
            with enable_reentrant_dispatch():
                seen.append(DispatchKey.AutogradCPU in dispatch_state().excluded)
            return func(*args, **(kwargs or {}))

    with Look():
        ops.td.add(tensor([1.0]))
    assert seen == [True, False]


def test_modes_are_pushed_popped_and_taken_away(lib: Library, tensor: Tensors) -> None:
    log, x = Log(), tensor([1.0])
    _push_on_torch_dispatch_stack(log)
    ops.td.add(x)
    with dispatch_modes.disabled() as disabled:
        ops.td.add(x)
    with _DisableTorchDispatch():
        ops.td.add(x)
    assert (disabled, _pop_torch_dispatch_stack(), len(log.calls)) == ([log], log, 1)
    with pytest.raises(RuntimeError, match="no TorchDispatchMode is active"):
        _pop_torch_dispatch_stack()


def test_a_write_of_a_mode_to_a_wrapper_counts(lib: Library, tensor: Tensors) -> None:
    x = Wrapper.of(tensor([1.0]))

    class Skip(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return args[0]

    with Skip():
        assert ops.td.fill_(x, 2.0) is x
    assert x._version == 1 and Wrapper.calls == []


# -- rules -----------------------------------------------------------------------------------------


def test_a_rule_for_a_mode_or_a_class_takes_the_place_of_its_handler(
    lib: Library, tensor: Tensors
) -> None:
    given: list[Any] = []

    def for_mode(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given.append((mode, func))
        return args[0]

    def for_class(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given.append((cls, func))
        return args[0]

    register_torch_dispatch("td::add", Log, for_mode, lib=lib)
    register_torch_dispatch("td::add", Wrapper, for_class, lib=lib)
    x = Wrapper.of(tensor([1.0]))
    assert ops.td.add(x) is x
    with Log() as log:
        assert ops.td.add(x) is x
    assert given == [(Wrapper, ops.td.add.default), (log, ops.td.add.default)]
    assert log.calls == [] and Wrapper.calls == []


def test_a_custom_op_gets_rules_from_calls_and_decorators(
    make: Callable[..., CustomOpDef], tensor: Tensors
) -> None:
    op = make(lambda x: x, schema="(Tensor x) -> Tensor")
    given = tensor([1.0])

    def of_mode(mode: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return given

    assert op.register_torch_dispatch(Log, of_mode) is of_mode

    @op.register_torch_dispatch(Wrapper)
    def of_class(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return args[0]

    assert callable(of_class)
    x = Wrapper.of(tensor([1.0]))
    assert op(x) is x and Wrapper.calls == []
    with Log() as log:
        assert op(tensor([2.0])) is given and log.calls == []


# -- numbers for tensors ---------------------------------------------------------------------------


def test_a_number_shows_the_overload_for_numbers(
    library: Callable[..., Library], tensor: Tensors, base: Library
) -> None:
    lib = library("small", "FRAGMENT")
    lib.define("gt.Tensor(Tensor x, Tensor y) -> Tensor")
    lib.define("gt.Scalar(Tensor x, Scalar y) -> Tensor")
    for name in ("gt.Tensor", "gt.Scalar"):
        lib.impl(name, lambda x, y: x, "CPU")
    x = tensor([1.0])
    with Log() as log:
        ops.small.gt(x, 2)
        ops.small.gt(x, x)
    assert [each[0] for each in log.calls] == [ops.small.gt.Scalar, ops.small.gt.Tensor]
