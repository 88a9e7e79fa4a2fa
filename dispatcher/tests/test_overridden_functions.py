"""`__torch_function__`: classes and modes that override Python functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from dovetail_dispatcher import Library, ops, python_text
from dovetail_dispatcher._C import (
    _get_function_stack_at,
    _is_torch_function_all_disabled,
    _is_torch_function_enabled,
    _is_torch_function_mode_enabled,
    _len_torch_function_stack,
    _pop_torch_function_stack,
    _push_on_torch_function_stack,
)
from dovetail_dispatcher.interception.function_modes import BaseTorchFunctionMode, TorchFunctionMode
from dovetail_dispatcher.interception.intercepted_functions import (
    ask_arguments,
    is_overridable,
    overridable,
    redispatch_function,
)
from dovetail_dispatcher.interception.mode_stacks import function_modes
from dovetail_dispatcher.interception.overrides import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    overridden_name,
    wrap_torch_function,
)
from dovetail_kernel import (
    Device,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TensorBase,
    backend,
    float32,
    wrap,
)

Tensors = Callable[..., TensorBase]


# -- functions of this module ----------------------------------------------------------------------


@overridable
def scaled(x: Any, factor: Any = 2.0, *, shift: Any = 0.0) -> Any:
    """Return ``x * factor + shift``."""
    return ("scaled", x, factor, shift)


@overridable
def joined(x: Any, *rest: Any, **options: Any) -> Any:
    """Return what was given."""
    return ("joined", x, rest, options)


def _spread(x: Any, *dims: Any) -> Any:
    return ("spread", x, dims)


def _known_to_none(x: Any) -> Any:
    return x


@overridable
def outer(x: Any) -> Any:
    """Call another function that can be overridden."""
    return ("outer", scaled(x))


class Recording(TensorBase):
    """A tensor that notes the calls on it."""

    calls: ClassVar[list[Any]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append((func, types, args, kwargs))
        return "recorded"


class Declining(TensorBase):
    """A tensor that leaves each call to others."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Stranger:
    """An object that is no tensor and overrides functions."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return ("stranger", func, types)


class Log(TorchFunctionMode):
    """A mode that notes the calls, and makes them."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((func, types, args, kwargs))
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def no_calls() -> Iterator[None]:
    """Begin without calls, and leave no mode."""
    Recording.calls.clear()
    yield
    assert _len_torch_function_stack() == 0


@pytest.fixture
def recording() -> Recording:
    """A tensor that notes the calls on it."""
    return wrap(np.zeros(2, "float32"), backend("cpu"), Recording)  # type: ignore[return-value]


@pytest.fixture
def declining() -> Declining:
    """A tensor that declines every call."""
    return wrap(np.zeros(2, "float32"), backend("cpu"), Declining)  # type: ignore[return-value]


# -- classes ---------------------------------------------------------------------------------------


def test_a_plain_argument_runs_the_function(tensor: Tensors) -> None:
    x = tensor([1.0])
    assert scaled(x) == ("scaled", x, 2.0, 0.0)
    assert scaled(x, 3, shift=1) == ("scaled", x, 3, 1)
    assert joined(x, 1, 2, k=3) == ("joined", x, (1, 2), {"k": 3})
    assert scaled(1.5, factor=x) == ("scaled", 1.5, x, 0.0)


def test_an_overriding_argument_gets_the_call_as_it_was_written(
    recording: Recording, tensor: Tensors
) -> None:
    x = tensor([1.0])
    assert scaled(recording) == "recorded"
    assert scaled(x, recording, shift=3) == "recorded"
    assert joined(x, 1, recording) == "recorded"
    assert joined(x, k=recording) == "recorded"
    assert joined([x, recording]) == "recorded"
    assert [(func, types) for func, types, _, _ in Recording.calls] == [
        (scaled, (Recording,)),
        (scaled, (Recording,)),
        *([(joined, (Recording,))] * 3),
    ]
    assert Recording.calls[0][2][0] is recording
    assert Recording.calls[1][2] == (x,) and Recording.calls[1][3] == {
        "factor": recording,
        "shift": 3,
    }
    assert Recording.calls[2][2:] == ((x, 1, recording), {})


def test_an_object_that_is_no_tensor_may_override(tensor: Tensors) -> None:
    ask_arguments()
    stranger: Any = Stranger()
    assert scaled(stranger) == ("stranger", scaled, (Stranger,))
    assert scaled(tensor([1.0]), stranger)[0] == "stranger"
    assert joined((1, stranger))[0] == "stranger"


def test_a_subclass_is_asked_before_its_base_and_others_from_left_to_right(
    recording: Recording, declining: Declining
) -> None:
    class Inner(Recording):
        pass

    inner: Any = wrap(np.zeros(2), backend("cpu"), Inner)
    joined(declining, recording, inner, recording)
    assert Recording.calls[0][1] == (Declining, Inner, Recording)


def test_a_call_that_all_decline_is_an_error_that_names_them(declining: Declining) -> None:
    with pytest.raises(TypeError) as raised:
        scaled(declining)
    text = str(raised.value)
    assert f"Multiple dispatch failed for '{__name__}.scaled'" in text
    assert "tensor subclass" in text and "Declining" in text
    assert scaled(declining, wrap(np.zeros(1), backend("cpu"), Recording)) == "recorded"


def test_overriding_can_be_disabled(recording: Recording) -> None:
    assert _is_torch_function_enabled()
    for guard in (DisableTorchFunctionSubclass, DisableTorchFunction):
        with guard():
            assert not _is_torch_function_enabled()
            assert scaled(recording) == ("scaled", recording, 2.0, 0.0)
            assert _is_torch_function_all_disabled()
    with Log() as log:
        with DisableTorchFunctionSubclass():
            assert not _is_torch_function_all_disabled()
            scaled(recording)
        with DisableTorchFunction():
            assert not _is_torch_function_mode_enabled()
            scaled(recording)
    assert len(log.calls) == 1 and Recording.calls == []


def test_operators_are_overridden_too(
    recording: Recording, library: Callable[..., Library], tensor: Tensors
) -> None:
    lib = library("tf", "DEF")
    lib.define("f(Tensor x, Tensor[] more, *, int n=2) -> Tensor")
    lib.impl("f", lambda x, more, n: x, "CPU")
    x = tensor([1.0])
    assert ops.tf.f(recording, [], n=3) == ops.tf.f(x, [recording]) == "recorded"
    assert ops.tf.f.default(recording, []) == "recorded"
    assert [each[0] for each in Recording.calls] == [ops.tf.f, ops.tf.f, ops.tf.f.default]
    assert Recording.calls[0][3] == {"n": 3}
    assert ops.tf.f(x, []) is x


def test_attributes_of_tensors_are_overridden(recording: Any) -> None:
    assert recording.shape == "recorded"
    func, types, args, kwargs = Recording.calls[0]
    assert (types, args, kwargs) == ((Recording,), (recording,), {})
    assert overridden_name(func) == "dovetail.Tensor.shape.__get__"
    assert recording.size(0) == recording.dim() == "recorded"
    assert [overridden_name(each[0]) for each in Recording.calls[1:]] == [
        "dovetail.Tensor.size",
        "dovetail.Tensor.dim",
    ]
    assert Recording.calls[1][2][1:] == (0,)


def test_a_value_that_is_assigned_is_not_asked(recording: Any, tensor: Tensors) -> None:
    x = tensor([1.0])
    with pytest.raises(RuntimeError, match="Recording"):
        x.requires_grad = recording
    assert Recording.calls == []
    recording.requires_grad = True
    assert [overridden_name(each[0]) for each in Recording.calls] == [
        "dovetail.Tensor.requires_grad.__set__"
    ]


# -- modes -----------------------------------------------------------------------------------------


def test_a_mode_gets_every_call_while_it_is_entered(tensor: Tensors) -> None:
    x = tensor([1.0])
    scaled(x)
    with Log() as log:
        assert _is_torch_function_mode_enabled() and _get_function_stack_at(0) is log
        assert scaled(x, 3.0) == ("scaled", x, 3.0, 0.0)
        assert joined(1, 2, k=3) == ("joined", 1, (2,), {"k": 3})
    scaled(x)
    assert log.calls == [
        (scaled, (), (x,), {"factor": 3.0, "shift": 0.0}),
        (joined, (), (1, 2), {"k": 3}),
    ]


def test_the_innermost_mode_is_asked_first_and_classes_last(recording: Recording) -> None:
    order: list[Any] = []

    class Named(TorchFunctionMode):
        def __init__(self, name: str) -> None:
            self.name = name

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            order.append((self.name, types, len(function_modes.modes)))
            return func(*args, **(kwargs or {}))

    with Named("outer"), Named("inner"):
        assert scaled(recording) == "recorded"
    assert order == [("inner", (Recording,), 1), ("outer", (Recording,), 0)]
    assert Recording.calls[0][0] is scaled


def test_a_mode_that_declines_leaves_the_call_to_the_classes(recording: Recording) -> None:
    class Declines(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    with Declines():
        assert scaled(recording) == "recorded"
        with pytest.raises(TypeError, match=r"mode object .*Declines"):
            scaled(1)


def test_a_mode_that_changes_nothing_and_one_without_a_handler(tensor: Tensors) -> None:
    with BaseTorchFunctionMode():
        assert scaled(1.0) == ("scaled", 1.0, 2.0, 0.0)
    with (
        pytest.raises(NotImplementedError, match="must override __torch_function__"),
        TorchFunctionMode(),
    ):
        scaled(1.0)
    assert scaled(1.0) == ("scaled", 1.0, 2.0, 0.0)


def test_a_mode_may_be_entered_again_and_made_by_push() -> None:
    log = Log.push()
    with log:
        with log:
            scaled(1)
        assert len(log.calls) == 2
        scaled(1)
    assert len(log.calls) == 3


def test_modes_are_pushed_and_popped_by_hand() -> None:
    log = Log()
    _push_on_torch_function_stack(log)
    try:
        scaled(1)
        assert _len_torch_function_stack() == 1
    finally:
        assert _pop_torch_function_stack() is log
    scaled(1)
    assert len(log.calls) == 1
    with pytest.raises(RuntimeError, match="no TorchFunctionMode is active"):
        _pop_torch_function_stack()


def test_modes_are_taken_away_for_a_block() -> None:
    with Log() as first, Log() as second:
        with function_modes.popped() as popped:
            assert popped is second
            scaled(1)
        with function_modes.disabled() as disabled:
            assert disabled == [first, second] and not _is_torch_function_mode_enabled()
            scaled(1)
    assert (len(first.calls), len(second.calls)) == (1, 0)


def test_attributes_of_plain_tensors_go_through_modes(tensor: Tensors) -> None:
    x = tensor([1.0, 2.0])
    with Log() as log:
        assert x.size(0) == 2 and tuple(x.shape) == (2,)
    assert [overridden_name(each[0]) for each in log.calls] == [
        "dovetail.Tensor.size",
        "dovetail.Tensor.shape.__get__",
    ]
    assert log.calls[0][2] == (x, 0)  # `axis`, which has its default, is left out
    assert x.size(0) == 2


# -- functions that ask themselves -----------------------------------------------------------------


def test_a_function_may_ask_whether_it_is_overridden(recording: Recording, tensor: Tensors) -> None:
    x = tensor([1.0])
    assert not has_torch_function((x, 1, None)) and not has_torch_function_unary(x)
    assert has_torch_function((x, recording)) and has_torch_function_unary(recording)
    assert has_torch_function_variadic(1, recording)
    assert not has_torch_function_variadic(1, x)
    with Log():
        assert has_torch_function_unary(x)


def test_a_call_is_handed_to_what_overrides_it(recording: Recording, tensor: Tensors) -> None:
    def twice(x: Any, n: int = 2) -> Any:
        if has_torch_function_unary(x):
            return handle_torch_function(twice, (x,), x, n=n)
        return ("twice", x, n)

    assert twice(recording, 3) == "recorded"
    assert Recording.calls == [(twice, (Recording,), (recording,), {"n": 3})]
    with pytest.raises(TypeError, match=r"no implementation found for '.*twice'"):
        handle_torch_function(twice, (1,), 1)


def test_a_decorator_makes_a_function_overridable(recording: Recording) -> None:
    @wrap_torch_function(lambda x, *, y=None: (x, y))
    def both(x: Any, *, y: Any = None) -> Any:
        """Return both."""
        return (x, y)

    assert both(1, y=2) == (1, 2) and both.__doc__ == "Return both."
    assert both(1, y=recording) == "recorded"
    assert Recording.calls[0][0] is both


def test_a_handler_calls_a_function_as_if_it_did_not_override(tensor: Tensors) -> None:
    seen: list[Any] = []

    class Through(TensorBase):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func)
            return redispatch_function(func, types, args, kwargs)

    x: Any = wrap(np.zeros(2), backend("cpu"), Through)
    assert outer(x) == ("outer", ("scaled", x, 2.0, 0.0))
    assert seen == [outer, scaled]
    assert x.dim() == 1 and tuple(x.shape) == (2,)

    @wrap_torch_function(lambda x: (x,))
    def asking(x: Any) -> Any:
        return ("asking", scaled(x))

    seen.clear()
    assert asking(x)[0] == "asking" and seen == [asking, scaled]


def test_which_functions_can_be_overridden_is_known() -> None:
    assert is_overridable(scaled) and is_overridable(TensorBase.size)
    assert not is_overridable(_known_to_none) and not is_overridable(len)


def test_a_sequence_is_handed_on_item_by_item_where_a_function_takes_both() -> None:
    spread = overridable(_spread, is_spread=True)
    with Log() as log:
        assert spread(1, [2, 3]) == spread(1, 2, 3) == ("spread", 1, (2, 3))
    assert log.calls == [(spread, (), (1, 2, 3), {})] * 2


def test_names_of_functions_in_messages(library: Callable[..., Library]) -> None:
    library("tf", "DEF").define("f(Tensor x) -> Tensor")
    assert overridden_name(ops.tf.f.default) == "dovetail.ops.tf.f.default"
    assert overridden_name(scaled) == f"{__name__}.scaled"
    nameless: Any = Stranger()
    assert overridden_name(nameless) == repr(nameless)


# -- text of values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        ("a", "'a'"),
        ([1, (2, 3)], "[1, (2, 3,)]"),
        ((), "()"),
        (float("inf"), "float('inf')"),
        ([float("nan")], "[float('nan')]"),
        (complex(float("nan"), 1), "complex(float('nan'), 1.0)"),
        (1 + 2j, "(1+2j)"),
        (float32, "dovetail.float32"),
        (Device("cpu"), "'cpu'"),
    ],
)
def test_values_are_written_as_python_reads_them(value: Any, text: str) -> None:
    assert python_text(value) == text


def test_other_values_are_written_as_told() -> None:
    assert python_text([1, "a"], lambda value: f"<{value}>") == "[<1>, <a>]"
