"""Compiled entries: they do what their text does with any arguments, and are functions to every
tool that asks.
"""

from __future__ import annotations

import copy
import doctest
import functools
import gc
import inspect
import os
import pickle
import pydoc
import random
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from threading import Barrier, Thread
from types import FunctionType, ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail.library import Library  # noqa: E402 - after what may be missing
from dovetail.overrides import TorchFunctionMode  # noqa: E402
from dovetail_aten import functions  # noqa: E402
from dovetail_aten.calling.compiled_entries import described, operator_behind  # noqa: E402
from dovetail_dispatcher import OpOverloadPacket, compiled_code  # noqa: E402
from dovetail_dispatcher.calls import EntryForm, form_of  # noqa: E402
from dovetail_dispatcher.table import registry  # noqa: E402

from .entry_calls import ENTRIES, UNDEFINED, drawn_arguments, outcome, without_addresses  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="entries are the same on all devices"),
]

CALLS = int(os.environ.get("DOVETAIL_CALLS", "800"))
FIRST_CALL = int(os.environ.get("DOVETAIL_FIRST_CALL", "0"))


def test_every_generated_function_is_an_entry() -> None:
    text = [name for name in functions.__all__ if type(getattr(functions, name)) is FunctionType]
    assert text == []
    assert len(ENTRIES) > 1500


def test_entries_describe_the_operators_of_their_names() -> None:
    forms = 0
    for name, entry in ENTRIES.items():
        op = operator_behind(entry.text)
        description = entry.description()
        if op is None:
            assert callable(description), name
        elif description is not None:
            forms += 1
            own = name.rpartition(".")[2]
            assert own.endswith("_operator") or own.startswith(op.base_name), name
            # Factories skip the choice of the backend.
            past_choice = op.redispatch_routes.get("factory")
            assert description[0] is op.routes or description[0] is past_choice
    assert forms > 1200


# -- wrong arguments -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(4))
def test_calls_with_any_arguments_are_those_of_the_text(number: int) -> None:
    drawn = random.Random(FIRST_CALL + number)
    names = [n for n in sorted(ENTRIES) if not any([part in n for part in UNDEFINED])]
    fitted = 0
    for _ in range(CALLS // 4):
        entry = ENTRIES[name := drawn.choice(names)]
        chosen, named = drawn_arguments(drawn, entry, described(entry.text))
        seen = []
        for call in (entry.text, entry, entry):  # the last one finds the route of the first
            args = [make() for make in chosen]
            kwargs = {key: make() for key, make in named.items()}
            seen.append(without_addresses(outcome(call, args, kwargs)))
        said = name, [make() for make in chosen], {key: make() for key, make in named.items()}
        assert seen[1] == seen[0], said
        assert seen[2] == seen[0], said
        fitted += "<class" not in seen[0][0]
    assert fitted > CALLS // 80


@pytest.mark.filterwarnings("ignore")
def test_entries_of_packets_do_what_their_text_does() -> None:
    drawn = random.Random(FIRST_CALL)
    names = [n for n in dir(dovetail.ops.aten) if not any([part in n for part in UNDEFINED])]
    fitted = 0
    for _ in range(CALLS):
        packet = getattr(dovetail.ops.aten, name := drawn.choice(names))
        overload = drawn.choice(packet.op_overloads())
        chosen, named = drawn_arguments(drawn, overload, form_of(overload._operator))
        seen = []
        for call in (OpOverloadPacket.__call__, type(packet).__call__, type(packet).__call__):
            args = [make() for make in chosen]
            kwargs = {key: make() for key, make in named.items()}
            called = [packet, *args] if call is OpOverloadPacket.__call__ else args
            seen.append(without_addresses(outcome(call, called, kwargs)[:1]))
        said = name, [make() for make in chosen], {key: make() for key, make in named.items()}
        assert seen[1] == seen[0], said
        assert seen[2] == seen[0], said
        fitted += "<class" not in seen[0][0]
    assert fitted > CALLS // 80


def test_packets_find_the_overload_by_classes_without_their_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    aten, x = dovetail.ops.aten, dovetail.ones(2, 3)
    calls: list[Callable[[], Any]] = [
        *(lambda: aten.add(x, x), lambda: aten.add(x, 2), lambda: aten.add(x, x, alpha=2)),
        *(lambda: aten.pow(x, 2), lambda: aten.pow(x, x), lambda: aten.pow(2, x)),
        *(lambda: aten.view(x, [-1]), lambda: aten.sum(x), lambda: aten.sum(x, [1], True)),
        *(lambda: aten.mean(x), lambda: aten.mean(x, [0]), lambda: aten.split(x, [1, 2], 1)),
    ]
    expected = [call() for call in calls]  # which makes the routes
    monkeypatch.setattr(OpOverloadPacket, "__call__", lambda *_, **__: pytest.fail("the text ran"))
    assert [repr(call()) for call in calls] == [repr(each) for each in expected]


def test_packets_see_overloads_that_come_and_go() -> None:
    first, second = Library("packets", "DEF"), Library("packets", "FRAGMENT")
    first.define("pick(Tensor x, Tensor y) -> Tensor")
    first.impl("pick", lambda x, y: x + 1, "CPU")
    packet, x = dovetail.ops.packets.pick, dovetail.ones(1)
    assert packet(x, x).tolist() == packet(x, x).tolist() == [2.0]
    with pytest.raises(RuntimeError):
        packet(x, 2)
    second.define("pick.number(Tensor x, float y) -> Tensor")
    second.impl("pick.number", lambda x, y: x + y, "CPU")
    assert packet(x, 2).tolist() == packet(x, 2).tolist() == [3.0]
    assert packet(x, x).tolist() == packet(x, y=x).tolist() == [2.0]
    assert packet.number is dovetail.ops.packets.pick.number
    second._destroy()
    with pytest.raises(RuntimeError):
        packet(x, 2)
    with pytest.raises(AttributeError, match="number"):
        packet.number  # noqa: B018
    first._destroy()
    with pytest.raises(RuntimeError, match="packets::pick"):
        packet(x, x)


def test_keywords_are_found_whether_interned_or_not() -> None:
    x = dovetail.ones(2, 3)
    name = "".join(["al", "pha"])
    assert dovetail.add(x, x, **{name: 2}).tolist() == dovetail.add(x, x, alpha=2).tolist()
    with pytest.raises(TypeError, match="unexpected keyword"):
        dovetail.exp(x, **{"".join(["al", "phi"]): 2})
    with pytest.raises(TypeError, match="other"):
        dovetail.add(x, x, other=x)


class Scalar(np.float64):
    pass


SCALARS = [
    *(np.float16(2), np.float32(2), np.float64(2), np.longdouble(2), Scalar(2)),
    *(np.bool_(True), np.int8(2), np.uint8(2), np.int64(2), np.uint64(2)),
    *(np.complex64(2j), np.complex128(2j), np.str_("2"), np.datetime64(2, "s")),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["add", "mul", "rsub", "pow", "eq", "floor_divide", "bitwise_and"])
def test_scalars_of_numpy_are_the_numbers_that_the_text_takes_them_for(name: str) -> None:
    entries = [getattr(functions, name), getattr(functions, f"{name}_operator", None)]
    for entry in filter(None, entries):
        for dtype in (dovetail.float32, dovetail.int64, dovetail.complex64, dovetail.bool):
            x = dovetail.ones(2, dtype=dtype)
            for scalar in SCALARS:
                found = outcome(entry, [x, scalar], {})
                assert found == outcome(entry.text, [x, scalar], {}), (dtype, type(scalar))
    with Recorder() as mode:
        assert (dovetail.ones(2) * SCALARS[2]).tolist() == [2, 2]
    assert mode.given[1][1] is SCALARS[2]  # after that of ones
    x = dovetail.ones(2, requires_grad=True)
    (x * SCALARS[1]).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_choices_by_class_do_not_mix_up_calls() -> None:
    x = dovetail.arange(6.0).reshape(2, 3)
    for _ in range(3):
        assert x.sum().item() == 15
        assert x.sum(1).tolist() == x.sum(dim=1).tolist() == [3, 12]
        assert x.sum(1, True).tolist() == x.sum(dim=1, keepdim=True).tolist() == [[3], [12]]
        assert x.sum(axis=0).tolist() == x.sum((0,)).tolist() == x.sum([0]).tolist()
        assert (x / 2).tolist() == x.div(dovetail.tensor(2.0)).tolist()
        assert x.div(2, rounding_mode="floor").tolist() == [[0, 0, 1], [1, 2, 2]]
        assert x.view(6).shape == x.view(2, 3).view(-1).shape == x.view((6,)).shape
        assert x.max().item() == 5
        assert x.max(1).values.tolist() == [2, 5]
        with pytest.raises(TypeError):
            x.div("2")
        with pytest.raises(TypeError):
            x.sum(1, 2, 3, 4)


# -- functions -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_choices_by_the_class_of_a_first_item_do_not_mix_up_calls() -> None:
    x = dovetail.arange(12.0).reshape(3, 4)
    rows = [
        (0, 1),
        (),
        [1],
        [0, True],
        (True,),
        (x,),
        ("a",),
        (None,),
        (0.5,),
        [dovetail.tensor(1)],
    ]
    functions = [
        dovetail.std,
        dovetail.mean,
        dovetail.sum,
        dovetail.any,
        dovetail.max,
        dovetail.roll,
    ]
    for function in functions:
        for named in ({}, {"keepdim": True}, {"out": dovetail.empty(0)}):
            for _ in range(2):
                for row in rows:
                    kept = {k: v.clone() if k == "out" else v for k, v in named.items()}
                    text = {k: v.clone() if k == "out" else v for k, v in named.items()}
                    expected = outcome(function.text, (x, row), text)
                    assert outcome(function, (x, row), kept) == expected, (function, row, named)


def test_entries_are_functions_to_tools() -> None:
    add = dovetail.add
    assert isinstance(add, FunctionType)
    assert inspect.isfunction(add)
    assert inspect.isroutine(add)
    assert str(inspect.signature(add)) == str(inspect.signature(add.text))
    assert add.__name__ == add.__qualname__ == "add"
    assert add.__module__ == "dovetail"
    assert add.__doc__ == add.text.__doc__
    assert "alpha" in add.__code__.co_varnames
    assert inspect.getsource(add).startswith("def add(")
    assert repr(add).startswith("<function add at ")
    assert "__doc__" in dir(add)
    assert weakref.ref(add)() is add
    assert {add: 1}[add] == 1


def test_entries_are_copied_and_pickled_by_name() -> None:
    for each in (dovetail.add, dovetail.sum, dovetail.Tensor.view, dovetail.special.erf):
        assert copy.copy(each) is copy.deepcopy(each) is each
        assert pickle.loads(pickle.dumps(each)) is each
    cloudpickle = pytest.importorskip("cloudpickle")
    assert cloudpickle.loads(cloudpickle.dumps(dovetail.add)) is dovetail.add


def test_entries_are_wrapped_and_patched() -> None:
    @functools.wraps(dovetail.add)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return dovetail.add(*args, **kwargs)

    assert wrapped.__name__ == "add"
    assert inspect.signature(wrapped) == inspect.signature(dovetail.add)
    x = dovetail.ones(2)
    with mock.patch("dovetail.add", autospec=True) as fake:
        dovetail.add(x, x)
        assert fake.call_count == 1
    with mock.patch.object(dovetail.Tensor, "__add__", lambda self, other: "patched"):
        assert x + x == "patched"
    assert (x + x).tolist() == [2, 2]


def test_attributes_are_set_on_the_function() -> None:
    entry = dovetail.negative
    entry.note = 1
    try:
        assert entry.text.note == entry.note == entry.__dict__["note"] == 1
    finally:
        del entry.note
    assert not hasattr(entry, "note")
    with pytest.raises(AttributeError):
        entry.absent  # noqa: B018 - it must raise


def test_entries_are_methods() -> None:
    x = dovetail.ones(2)
    bound = x.add
    assert bound.__self__ is x
    assert bound(x).tolist() == [2, 2]
    assert dovetail.Tensor.add is dovetail.add
    assert next(map(dovetail.Tensor.neg, [x])).tolist() == [-1, -1]


def test_examples_of_entries_are_found() -> None:
    module = ModuleType("example_module")
    module.add = dovetail.add  # type: ignore[attr-defined]
    found = doctest.DocTestFinder(exclude_empty=False).find(module, module=False)
    assert any([each.name == "example_module.add" for each in found])


# -- what calls see --------------------------------------------------------------------------------


class Recorder(TorchFunctionMode):
    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.given: list[Any] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.seen.append(func)
        self.given.append(args)
        return func(*args, **(kwargs or {}))


def test_modes_see_calls_that_were_compiled_before() -> None:
    x = dovetail.ones(2)
    _ = x + x, x.sum(), x.sum(dim=0), dovetail.ops.aten.mul.Tensor(x, x)
    with Recorder() as mode:
        _ = x + x, x.sum(), x.sum(dim=0), dovetail.ops.aten.mul.Tensor(x, x)
    sums = [dovetail.Tensor.sum, dovetail.Tensor.sum]
    assert mode.seen == [dovetail.Tensor.add, *sums, dovetail.ops.aten.mul.Tensor]


def test_an_operator_that_is_taken_away_is_not_called() -> None:
    library = Library("compiled_entries", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    twice = dovetail.ops.compiled_entries.twice.default
    x = dovetail.ones(2)
    assert [twice(x).tolist() for _ in range(2)] == [[2, 2], [2, 2]]
    library._destroy()
    with pytest.raises(RuntimeError, match="twice"):
        twice(x)


def test_operators_that_call_themselves_end_in_an_error() -> None:
    library = Library("compiled_entries", "DEF")
    library.define("circle(Tensor x) -> Tensor")
    library.impl("circle", dovetail.ops.compiled_entries.circle.default, "CPU")
    try:
        with pytest.raises(RecursionError):
            dovetail.ops.compiled_entries.circle.default(dovetail.ones(2))
    finally:
        library._destroy()


def test_first_calls_in_several_threads() -> None:
    library = Library("compiled_entries", "DEF")
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", lambda x: x.clone(), "CompositeImplicitAutograd")
    together, x, results = Barrier(4), dovetail.ones(2), []

    def call() -> None:
        together.wait()
        results.append(dovetail.ops.compiled_entries.same(x).tolist())

    threads = [Thread(target=call) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    library._destroy()
    assert results == [[1, 1]] * 4


# -- references ------------------------------------------------------------------------------------


def refused(call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    with pytest.raises(TypeError):
        call(*args, **kwargs)


def test_calls_keep_nothing() -> None:
    x, y = dovetail.ones(2, 3), dovetail.ones(2, 3)
    calls: list[Callable[[], Any]] = [
        lambda: x + y,
        lambda: x + 2,
        lambda: dovetail.add(x, y, alpha=2),
        x.sum,
        lambda: x.sum(dim=1),
        lambda: x.sum([0, 1]),
        lambda: x.view(3, 2),
        lambda: x.view((6,)),
        lambda: x.max(1),
        lambda: dovetail.cat([x, y]),
        lambda: x.split(1),
        lambda: dovetail.ops.aten.mul.Tensor(x, y),
        lambda: (x.shape, x.size(0), x.stride(), x.dtype, x.device, x.numel()),
        lambda: refused(x.add, None),
        lambda: refused(dovetail.exp, x, nonsense=1),
    ]
    for call in calls:
        for _ in range(20):
            call()
        gc.collect()
        tracemalloc.start()
        before = sys.getrefcount(x), sys.getrefcount(y), tracemalloc.get_traced_memory()[0]
        for _ in range(300):
            call()
        gc.collect()
        after = sys.getrefcount(x), sys.getrefcount(y), tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert after[:2] == before[:2]
        assert after[2] - before[2] < 4000, "a reference of every call would be 30 KB"


def test_entries_of_a_library_are_freed() -> None:
    library = Library("compiled_entries", "DEF")
    library.define("gone(Tensor x) -> Tensor")
    library.impl("gone", lambda x: x.clone(), "CompositeImplicitAutograd")
    entry = dovetail.ops.compiled_entries.gone.default.op
    entry(dovetail.ones(2))
    gone = weakref.ref(entry)
    del entry
    library._destroy()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "description",
    [
        (),
        ({}, (), 0, False, None),
        ([], (), 0, False, None, None),
        ({}, (1,), 0, False, None, None),
        ({}, (("x", 99, False, 0, None, ()),), 1, False, None, None),
        ({}, (("x", 0, False, 0, None, (int, int, int)),), 1, False, None, None),
        ({}, (), 1, False, None, None),
        ({}, (), 0, True, None, None),
        ({}, (("x", 0, False, 0, None, ()),) * 40, 1, False, None, None),
    ],
)
def test_what_is_no_description_is_refused(description: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        core.Entry(lambda x: x, lambda function: description)(1)


def test_an_entry_asks_for_its_docstring_when_that_is_read() -> None:
    def documented(function: Any) -> str:
        asked.append(function)
        function.__doc__ = "Return `x`."
        return function.__doc__

    def text(x: Any) -> Any:
        return x

    asked: list[Any] = []
    entry = core.Entry(text, lambda function: None, documented)
    assert entry(1) == 1
    assert asked == []
    assert [entry.__doc__, inspect.getdoc(entry), pydoc.getdoc(entry)] == ["Return `x`."] * 3
    assert asked == [text]
    assert core.Entry(text, lambda function: None).__doc__ == "Return `x`."


def test_an_error_while_a_docstring_is_read_is_raised() -> None:
    def documented(function: Any) -> str:
        raise OSError("unreadable")

    entry = core.Entry(lambda x: x, lambda function: None, documented)
    with pytest.raises(OSError, match="unreadable"):
        entry.__doc__  # noqa: B018


def test_errors_of_a_description_are_raised_and_it_is_asked_again() -> None:
    answers = iter([ZeroDivisionError(), None])

    def describe(function: Any) -> None:
        answer = next(answers)
        if answer is not None:
            raise answer

    entry = core.Entry(lambda x: x + 1, describe)
    with pytest.raises(ZeroDivisionError):
        entry(1)
    assert entry(1) == 2
    assert registry.is_defined("aten::add")


@pytest.mark.parametrize("shape", ((), (1,), (1, 1)))
@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float32", 1.5),
        ("float64", -0.0),
        ("float16", 2.5),
        ("bfloat16", 1.5),
        ("int64", -(2**63)),
        ("uint8", 255),
        ("bool", True),
        ("complex64", 1 + 0j),
    ],
)
def test_numbers_of_tensors_are_those_of_the_methods_without_entries(shape, dtype, value):
    x = dovetail.full(shape, value, dtype=getattr(dovetail, dtype))
    for convert in (dovetail.Tensor.item, bool, int, float):
        method = getattr(dovetail.Tensor, f"__{convert.__name__}__", convert)
        for _ in range(2):  # the first call may make the route
            found, expected = convert(x), method.text(x)
            assert type(found) is type(expected)
            assert repr(found) == repr(expected)


@pytest.mark.parametrize("convert", (dovetail.Tensor.item, bool, int, float))
def test_numbers_of_other_tensors_are_refused_as_by_the_methods(convert):
    method = getattr(dovetail.Tensor, f"__{convert.__name__}__", convert)
    convert(dovetail.ones(()))
    for x in (dovetail.ones(2), dovetail.ones(0), dovetail.ones((), device="meta")):
        with pytest.raises((RuntimeError, ValueError, TypeError)) as expected:
            method.text(x)
        with pytest.raises(type(expected.value)) as found:
            convert(x)
        assert str(found.value) == str(expected.value)
    imaginary = dovetail.full((), 1j)
    if convert in (int, float):
        with pytest.raises(RuntimeError, match="without overflow"):
            convert(imaginary)


def test_a_kernel_of_a_library_reads_the_numbers_of_tensors():
    x = dovetail.ones(())
    assert x.item() == 1.0
    library = dovetail.library.Library("aten", "IMPL")
    library.impl("_local_scalar_dense", lambda self: 7.0, "CPU", allow_override=True)
    try:
        assert (x.item(), bool(x), int(x), float(x)) == (7.0, True, 7, 7.0)
    finally:
        library._destroy()
    assert (x.item(), float(x)) == (1.0, 1.0)


def test_a_number_that_has_a_gradient_is_warned_of():
    x = dovetail.ones((), requires_grad=True)
    assert float(dovetail.ones(())) == x.item() == 1.0
    dovetail.set_warn_always(True)
    try:
        for _ in range(2):
            with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
                float(x)
    finally:
        dovetail.set_warn_always(False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [2, 0.5, True, 1j])
def test_first_call_takes_or_refuses_a_number_as_the_text_does(number: complex) -> None:
    seen = 0
    for name, entry in ENTRIES.items():
        form = described(entry.text)
        kinds = [p.kind for p in form.parameters] if isinstance(form, EntryForm) else []
        if "TENSOR_OR_NUMBER" not in kinds:
            continue
        outcomes = []
        for call in (entry, entry.text):
            form.routes.clear()
            outcomes.append(outcome(call, [dovetail.tensor([1.0, 2.0]), number], {}))
        assert outcomes[0] == outcomes[1], name
        seen += 1
    assert seen > 40


def test_first_call_with_a_number_does_not_compile_the_text() -> None:
    program = (
        "import dovetail\n"
        "x = dovetail.ones(2)\n"
        "assert ((x + 1) * 2.5).tolist() == [5.0, 5.0]\n"
        "text = dovetail.mul.text\n"
        "print(text.__code__.co_filename.startswith('<dovetail'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "False\n", done.stderr
