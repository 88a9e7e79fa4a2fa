"""What function modes and overriding tensors see of calls by compiled entries: what the text of the
entries tells them.
"""

from __future__ import annotations

import inspect
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from types import FrameType
from typing import Any

import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail.overrides import TorchFunctionMode, redispatch_function  # noqa: E402 - after what may be missing
from dovetail_aten.calling.compiled_entries import described  # noqa: E402
from dovetail_dispatcher import compiled_code  # noqa: E402

from .entry_calls import ENTRIES, UNDEFINED, drawn_arguments, without_addresses  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="entries are the same on all devices"),
]

CALLS = int(os.environ.get("DOVETAIL_CALLS", "800"))
FIRST_CALL = int(os.environ.get("DOVETAIL_FIRST_CALL", "0"))

LOG: list[Any] = []


def outcome(call: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    dovetail.manual_seed(0)
    try:
        result = call(*args, **kwargs)
    except RecursionError:
        raise
    except Exception as error:
        return type(error), str(error)
    with dovetail._C.DisableTorchFunction():
        return type(result), repr(result), repr(args[:1])


def described_call(func: Any, types: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    assert type(args) is tuple
    assert type(kwargs) is dict
    named = {key: (type(value), str(value)) for key, value in kwargs.items()}
    given = [(type(value), str(value)) for value in args]
    return func, types, given, named


class Recorder(TorchFunctionMode):
    def __init__(self, *, declines: bool = False) -> None:
        self.declines = declines

    def __torch_function__(self, func, types, args=(), kwargs=None):
        with dovetail._C.DisableTorchFunction():
            LOG.append((type(self), self.declines, *described_call(func, types, args, kwargs)))
        return NotImplemented if self.declines else func(*args, **(kwargs or {}))


class Plain(dovetail.Tensor):
    pass


class Derived(Plain):
    pass


class Recording(dovetail.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with dovetail._C.DisableTorchFunction():
            LOG.append((cls, *described_call(func, types, args, kwargs)))
        return super().__torch_function__(func, types, args, kwargs)


class Declining(dovetail.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with dovetail._C.DisableTorchFunction():
            LOG.append((cls, *described_call(func, types, args, kwargs)))
        return NotImplemented


CLASSES = (Plain, Derived, Recording, Declining)


def converted(value: Any, drawn: random.Random) -> Any:
    """Return a value whose tensors are, at times, of classes that override."""
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)([converted(each, drawn) for each in value])
    if type(value) is dovetail.Tensor and drawn.random() < 0.5:
        weights = (4, 2, 3, 1)
        return value.as_subclass(*drawn.choices(CLASSES, weights))
    return value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(4))
def test_modes_and_classes_see_of_any_call_what_the_text_shows_them(number: int) -> None:
    drawn = random.Random(FIRST_CALL + number)
    names = [n for n in sorted(ENTRIES) if not any([part in n for part in UNDEFINED])]
    seen_calls = 0
    for at in range(CALLS // 4):
        entry = ENTRIES[name := drawn.choice(names)]
        chosen, named = drawn_arguments(drawn, entry, described(entry.text))
        modes = drawn.choices([0, 1, 2], [3, 3, 1])[0]
        declines, in_no_grad = drawn.random() < 0.1, drawn.random() < 0.3
        found = []
        for call in (entry.text, entry, entry):
            kinds = random.Random(at)
            args = [converted(make(), kinds) for make in chosen]
            kwargs = {key: converted(make(), kinds) for key, make in named.items()}
            LOG.clear()
            with ExitStack() as stack:
                stack.enter_context(dovetail.no_grad() if in_no_grad else nullcontext())
                for level in range(modes):
                    stack.enter_context(Recorder(declines=declines and level == modes - 1))
                result = without_addresses(outcome(call, args, kwargs))
            found.append((result, without_addresses(LOG)))
        seen_calls += bool(LOG)
        assert found[1] == found[0], (name, chosen, named)
        assert found[2] == found[0], (name, chosen, named)
    assert seen_calls > CALLS // 20


def attributes() -> dict[str, Any]:
    """Return the compiled getters and methods of tensors that are no operators, by name."""
    found = {}
    for name in dir(dovetail.Tensor):
        value = inspect.getattr_static(dovetail.Tensor, name)
        value = value.fget if isinstance(value, property) else value
        if type(value) is core.Entry and name not in ("as_subclass", "__torch_function__"):
            found[name] = value
    return found


ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {
    "__getitem__": [(0,), (slice(1),), ((0, slice(None)),), ((..., None),), ([0, 1],), ("a",), ()],
    "size": [(), (0,), (None,), (0, 1)],
    "stride": [(), (0,), (None,)],
    "is_contiguous": [(), (dovetail.contiguous_format,)],
    "requires_grad_": [(), (True,), (False,)],
}


@pytest.mark.parametrize("cls", [dovetail.Tensor, Plain, Recording])
@pytest.mark.parametrize("in_mode", [False, True])
def test_modes_and_classes_see_of_attributes_what_their_text_shows_them(
    cls: type[Any], in_mode: bool
) -> None:
    if cls is dovetail.Tensor and not in_mode:
        return
    seen_calls = 0
    for name, entry in attributes().items():
        for args in ARGUMENTS.get(name, [(), (1,)]):
            found = []
            for call in (entry.text, entry):
                x: Any = dovetail.arange(6.0).reshape(2, 3).as_subclass(cls)
                LOG.clear()
                with Recorder() if in_mode else nullcontext():
                    result = without_addresses(outcome(call, [x, *args], {}))
                found.append((result if name != "data_ptr" else None, without_addresses(LOG)))
                seen_calls += bool(LOG)
            assert found[1] == found[0], (name, args)
    assert seen_calls > (20 if cls is Recording or in_mode else -1)


def test_results_are_of_the_subclass_and_of_the_graph() -> None:
    x = dovetail.ones(2, 3, requires_grad=True)
    plain = x.as_subclass(Plain)
    result = plain * plain
    assert type(plain) is type(result) is Plain
    assert type(plain.grad_fn).__name__ == type(result.grad_fn).__name__ == "AliasBackward0"
    values, indices = plain.max(0)
    assert type(values) is type(indices) is Plain
    assert [type(each) for each in plain.unbind(0)] == [Plain, Plain]
    assert type(plain.sum().item()) is float
    assert type(plain.shape) is dovetail.Size
    result.sum().backward()
    assert x.grad.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_views_of_another_class_share_data_and_versions() -> None:
    x = dovetail.zeros(3)
    view = x.as_subclass(Plain)
    view.add_(1)
    assert x.tolist() == [1, 1, 1]
    assert x._version == view._version == 1
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    with dovetail.inference_mode():
        assert type(dovetail.ones(2).as_subclass(Plain)) is Plain
    for refused in (int, 3):
        with pytest.raises((TypeError, AttributeError)):
            x.as_subclass(refused)


def test_the_state_is_that_of_before_when_a_handler_raises() -> None:
    class Raising(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError("of the handler")

    class Failing(dovetail.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyError("of the handler")

    x, outer = dovetail.ones(2), Recorder()
    with outer, Raising():
        for call in (lambda: x + x, lambda: x.shape, lambda: x[0]):
            with pytest.raises(KeyError, match="of the handler"):
                call()
            assert dovetail.overrides._get_current_function_mode().__class__ is Raising
    failing: Any = x.as_subclass(Failing)
    for call in (lambda: failing + x, lambda: x.add(failing), lambda: failing.shape):
        with pytest.raises(KeyError, match="of the handler"):
            call()
    plain: Any = x.as_subclass(Plain)
    with pytest.raises(RuntimeError, match=r"shape|size"):
        plain + dovetail.ones(3)
    assert (plain + x).tolist() == [2, 2]
    assert type(plain + x) is Plain


def test_handlers_that_change_what_they_get_change_no_other_call() -> None:
    seen: list[dict[str, Any]] = []

    class Changing(dovetail.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(dict(kwargs))
            kwargs["alpha"] = 5
            return NotImplemented

    class Last(Changing):
        pass

    first, second = dovetail.ones(2).as_subclass(Changing), dovetail.ones(2).as_subclass(Last)
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        dovetail.add(first, second, alpha=3)
    assert seen == [{"alpha": 3}, {"alpha": 3}]


def test_a_class_that_passes_calls_on_unasked_is_asked_of_none_within() -> None:
    calls: list[Callable[..., Any]] = []

    class Inner(dovetail.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            return redispatch_function(func, types, args, kwargs)

    inner: Any = dovetail.ones(2).as_subclass(Inner)
    assert (inner + inner).tolist() == [2, 2]
    assert calls[0] is dovetail.add


def test_attribute_that_is_first_read_in_a_mode_is_an_entry_afterwards() -> None:
    program = (
        "import dovetail\n"
        "from dovetail.overrides import TorchFunctionMode\n"
        "seen = []\n"
        "class Mode(TorchFunctionMode):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None):\n"
        "        seen.append(func == dovetail.Tensor.T.__get__)\n"
        "        return func(*args, **(kwargs or {}))\n"
        "x = dovetail.ones(2, 3)\n"
        "with Mode(): made = x.T\n"
        "assert made.shape == x.T.shape == (3, 2)\n"
        "print(seen, type(dovetail.Tensor.T.fget).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[True] Entry\n", done.stderr


class Answer(dovetail.Tensor):
    """A tensor whose class answers every call."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> int:
        return 5


class Answering(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> int:
        return 6


ANSWERED: dict[str, Callable[[Any, Any], Any]] = {
    "the first argument": lambda x, s: dovetail.add(s, x),
    "the third argument": lambda x, s: dovetail.addcmul(x, x, s),
    "by name": lambda x, s: dovetail.add(x, other=s),
    "with an option": lambda x, s: dovetail.add(s, 2, alpha=3),
    "in a list": lambda x, s: dovetail.cat([x, s]),
    "with a size spread out": lambda x, s: s.view(2, 1),
    "a method": lambda x, s: s.sum(0),
    "in place": lambda x, s: s.add_(x),
    "an operator": lambda x, s: x + s,
}


@pytest.mark.parametrize("name", ANSWERED)
def test_no_function_but_the_handler_is_entered(name: str) -> None:
    x, s = dovetail.ones(2), dovetail.ones(2).as_subclass(Answer)
    call = ANSWERED[name]
    entered: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            entered.append(frame.f_code.co_name)

    for context, answer in ((nullcontext(), 5), (Answering(), 6)):
        with context:
            assert call(x, s) == call(x, s) == answer
            sys.setprofile(note)
            try:
                call(x, s)
            finally:
                sys.setprofile(None)
        assert entered == ["<lambda>", "__torch_function__"]
        entered.clear()
