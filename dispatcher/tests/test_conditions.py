"""Kernels with conditions: which one a call runs, in what order they are asked, and what is left
when they are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import Library, explain, fallthrough_kernel, ops
from dovetail_dispatcher._C import _dispatch_dump
from dovetail_dispatcher.table import registry
from dovetail_kernel import TensorBase
from dovetail_kernel.plugins.entries import KERNELS, PluginEntry

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


@pytest.fixture
def lib(library: Libraries) -> Library:
    lib = library("cond", "DEF")
    lib.define("f(Tensor x, int n=0, *, bool loud=False) -> str")
    lib.impl("f", lambda x, n, *, loud: "base", "CPU")
    return lib


def is_long(x: Any, n: int, *, loud: bool) -> bool:
    return bool(x.ndim and x.shape[0] > 2)


def test_a_call_runs_the_kernel_only_where_its_condition_is_true(
    lib: Library, tensor: Tensors
) -> None:
    lib.impl("f", lambda x, n, *, loud: "long", "CPU", when=is_long, why="more than two")
    assert ops.cond.f(tensor([1.0] * 3)) == "long"
    assert ops.cond.f(tensor([1.0] * 2)) == "base"


def test_a_condition_gets_every_argument_of_the_call(lib: Library, tensor: Tensors) -> None:
    seen: list[Any] = []

    def note(*args: Any, **kwargs: Any) -> bool:
        seen.append((args[1:], kwargs))
        return False

    lib.impl("f", lambda x, n, *, loud: "never", "CPU", when=note, why="never")
    assert ops.cond.f(tensor(), 3, loud=True) == "base"
    assert ops.cond.f(tensor()) == "base"
    assert seen == [((3,), {"loud": True}), ((0,), {"loud": False})]


def test_any_true_value_is_a_yes_and_an_error_of_a_condition_is_the_calls(
    lib: Library, tensor: Tensors
) -> None:
    def when(x: Any, n: int, *, loud: bool) -> Any:
        return [1 / n] if n < 2 else np.False_

    lib.impl("f", lambda x, n, *, loud: "taken", "CPU", when=when, why="n below two")
    assert [ops.cond.f(tensor(), n) for n in (1, 2)] == ["taken", "base"]
    with pytest.raises(ZeroDivisionError):
        ops.cond.f(tensor(), 0)


def test_the_latest_is_asked_first_and_a_kernel_without_condition_covers_the_earlier_ones(
    lib: Library, library: Libraries, tensor: Tensors
) -> None:
    asked: list[int] = []

    def offer(number: int) -> None:
        def when(x: Any, n: int, *, loud: bool) -> bool:
            asked.append(number)
            return n == number

        lib.impl("f", lambda x, n, *, loud: str(number), "CPU", when=when, why=f"n is {number}")

    for number in (1, 2, 3):
        offer(number)
    assert ops.cond.f(tensor(), 1) == "1" and asked == [3, 2, 1]
    assert ops.cond.f(tensor(), 7) == "base"
    cover = library("cond", "IMPL")
    cover.impl("f", lambda x, n, *, loud: "cover", "CPU")
    assert ops.cond.f(tensor(), 1) == "cover"
    offer(4)
    assert [ops.cond.f(tensor(), n) for n in (4, 1)] == ["4", "cover"]
    cover._destroy()
    assert [ops.cond.f(tensor(), n) for n in (4, 1, 0)] == ["4", "1", "base"]


def test_a_plugin_stands_beneath_programs_and_by_the_name_of_its_distribution(
    tensor: Tensors, library: Libraries
) -> None:
    """In whatever order they are loaded."""

    def answers(order: tuple[str, ...]) -> tuple[list[str], str]:
        made = library("cond", "DEF")
        made.define("f(Tensor x) -> str")
        asked: list[str] = []
        for name in order:
            each = library("cond", "IMPL")
            if name != "program":
                each._plugin = PluginEntry(KERNELS, "cond.cpu", "none", name)
            if name == "base":
                each.impl("f", lambda x: "base", "CPU")
            else:
                when = lambda x, name=name: asked.append(name)  # noqa: E731
                each.impl("f", lambda x: "never", "CPU", when=when, why=name)
            made._changes += each._changes
        result = ops.cond.f(tensor())
        made._destroy()
        return asked, result

    for order in permutations(("acme-b", "acme-a", "base", "program")):
        assert answers(order) == (["program", "acme-a", "acme-b"], "base"), order


def test_it_goes_with_its_library_and_the_routes_are_those_of_before(
    lib: Library, library: Libraries, tensor: Tensors
) -> None:
    before = _dispatch_dump("cond::f"), explain(ops.cond.f, tensor()).route
    other = library("cond", "IMPL")
    other.impl("f", lambda x, n, *, loud: "taken", "CPU", when=is_long, why="more than two")
    assert ops.cond.f(tensor([1.0] * 3)) == "taken"
    assert "if more than two: registered at" in _dispatch_dump("cond::f")
    other._destroy()
    assert ops.cond.f(tensor([1.0] * 3)) == "base"
    assert (_dispatch_dump("cond::f"), explain(ops.cond.f, tensor()).route) == before


def test_without_a_kernel_beneath_a_no_is_the_error_of_a_missing_kernel(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("cond", "DEF")
    lib.define("g(Tensor x) -> str")
    lib.impl("g", lambda x: "taken", "CPU", when=lambda x: x.ndim == 1, why="a vector")
    assert ops.cond.g(tensor([1.0])) == "taken"
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="cond::g"):
            ops.cond.g(tensor())
    assert not ops.cond.g.default.has_kernel_for_dispatch_key("CPU")


def test_an_array_kernel_and_its_condition_get_arrays(library: Libraries, tensor: Tensors) -> None:
    lib = library("cond", "DEF")
    lib.define("h(Tensor x, Tensor[] others) -> Tensor")
    lib.array_impl("h", lambda x, others: x + 1, "CPU")

    def when(x: Any, others: list[Any]) -> bool:
        assert isinstance(x, np.ndarray) and all(isinstance(each, np.ndarray) for each in others)
        return len(others) == 2

    lib.array_impl("h", lambda x, others: x + 2, "CPU", when=when, why="two others")
    x = tensor([1.0])
    assert ops.cond.h(x, [x, x]).array.tolist() == [3.0]
    assert ops.cond.h(x, [x]).array.tolist() == [2.0]


def test_several_results_are_the_same_either_way(library: Libraries, tensor: Tensors) -> None:
    lib = library("cond", "DEF")
    lib.define("two(Tensor x) -> (Tensor, Tensor)")
    lib.array_impl("two", lambda x: (x + 1, x + 2), "CPU")
    lib.impl(
        "two", lambda x: (tensor([8.0]), tensor([9.0])), "CPU", when=lambda x: x.ndim, why="dims"
    )
    for x, expected in ((tensor([1.0]), [8.0, 9.0]), (tensor(1.0), [2.0, 3.0])):
        results = ops.cond.two(x)
        assert isinstance(results, tuple)
        assert [each.array.item() for each in results] == expected


def test_a_kernel_that_returns_anything_else_is_refused_as_without_condition(
    library: Libraries, tensor: Tensors
) -> None:
    lib = library("cond", "DEF")
    lib.define("one(Tensor x) -> Tensor")
    lib.array_impl("one", lambda x: x + 1, "CPU")
    lib.impl("one", lambda x: "no tensor", "CPU", when=lambda x: x.ndim == 1, why="a vector")
    with pytest.raises((RuntimeError, TypeError), match="cond::one"):
        ops.cond.one(tensor([1.0]))
    assert ops.cond.one(tensor(1.0)).array.item() == 2.0


def test_code_run_again_replaces_the_kernel_with_the_same_words(
    lib: Library, library: Libraries
) -> None:
    text = (
        "def register(lib):\n"
        "    for why in ('one', 'two'):\n"
        "        lib.impl('f', lambda x, n, *, loud: why, 'CPU', when=yes, why=why)\n"
    )
    for _ in range(3):
        scope: dict[str, Any] = {"yes": is_long, "__name__": "again"}
        exec(compile(text, "again.py", "exec"), scope)
        scope["register"](library("cond", "IMPL"))
    op = registry.find_or_throw("cond::f", "")
    assert [each.why for kernels in op.kernels.values() for each in kernels] == ["two", "one", ""]


def test_explain_says_which_conditions_were_true(lib: Library, tensor: Tensors) -> None:
    for why, answer in (("third", True), ("second", True), ("first", False)):
        lib.impl("f", lambda x, n, *, loud: "", "CPU", when=lambda *_, a=answer, **__: a, why=why)
    e = explain(ops.cond.f, tensor())
    offered = [(step.condition, step.taken) for step in e.chain if step.condition]
    assert offered == [("first", False), ("second", True), ("third", None)]
    assert "[if second]" in str(e) and "takes the call" in str(e)
    assert e.chain[-1].note == "not reached"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"when": is_long}, TypeError, "why="),
        ({"why": "words"}, TypeError, "when="),
        ({"when": 3, "why": "words"}, TypeError, "predicate"),
        ({"when": lambda x: True, "why": "words"}, TypeError, "positional"),
        ({"when": lambda x, n: True, "why": "words"}, TypeError, "'loud'"),
        ({"when": is_long, "why": "w", "dispatch_key": "Meta"}, RuntimeError, "Meta"),
        ({"when": is_long, "why": "w", "dispatch_key": "AutogradCPU"}, RuntimeError, "Autograd"),
        ({"when": is_long, "why": "w", "dispatch_key": ""}, RuntimeError, "Composite"),
        ({"when": is_long, "why": "w", "fn": fallthrough_kernel}, TypeError, "fallthrough"),
    ],
)
def test_a_condition_that_can_never_work_is_refused_and_nothing_is_registered(
    lib: Library, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    before = _dispatch_dump("cond::f")
    options = {"fn": lambda x, n, *, loud: 0, "dispatch_key": "CPU", **given}
    with pytest.raises(error, match=words):
        lib.impl("f", **options)
    assert _dispatch_dump("cond::f") == before


def test_a_condition_of_a_wrong_form_is_refused_when_the_operator_is_defined(
    library: Libraries,
) -> None:
    lib = library("cond", "FRAGMENT")
    lib.impl("later", lambda x: 0, "CPU", when=lambda: True, why="words")
    with pytest.raises(TypeError, match="condition"):
        lib.define("later(Tensor x) -> str")
