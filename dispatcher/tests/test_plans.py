"""Plans of routes: records that layers take and return, and the names that the printer chooses."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail_dispatcher import _scoped_library, ops
from dovetail_dispatcher.calls.plan import Around, CallFunction, RoutePlan, Value, argument_value
from dovetail_dispatcher.calls.plans.composition import Composition, call_keys, compose
from dovetail_dispatcher.calls.printer import Printer, build, printed
from dovetail_dispatcher.calls.steps.tensor_kernels import CheckTensor
from dovetail_dispatcher.calls.steps.writes import CountWrite
from dovetail_dispatcher.record import Record
from dovetail_kernel import dispatch_state


class Point(Record):
    x: int
    y: int = 0


def test_a_record_has_its_fields_and_never_changes() -> None:
    point = Point(1, y=2)
    assert (point.x, point.y, Point(3).y) == (1, 2, 0)
    assert point == Point(1, 2) != Point(1)
    assert repr(point.replaced(x=5)) == "Point(x=5, y=2)"
    assert repr(Point(1)) == "Point(x=1)"
    with pytest.raises(AttributeError, match=r"Point.x cannot be set.*replaced\(x="):
        point.x = 3  # type: ignore[misc]
    assert point.x == 1


@pytest.fixture
def op() -> Any:
    with _scoped_library("plans", "DEF") as lib:
        lib.define("f(Tensor counter, Tensor counter_) -> Tensor")
        lib.impl("f", lambda x, y: x, "CPU")
        yield ops.plans.f.default


def test_the_names_of_arguments_stay_and_others_give_way(op: Any) -> None:
    plan = RoutePlan(op._operator, (CountWrite(Value("counter", True)),), (Value("counter"),))
    assert printed(plan).source == (
        "def f(counter, counter_):\n"
        "    counter__ = counter._counter\n"
        "    if counter__ is None:\n"
        "        counter._counter = VersionCounter(1)\n"
        "    else:\n"
        "        counter__.value += 1\n"
        "    return counter__\n"
    )


def test_a_plan_shows_its_operator_its_steps_and_its_results(op: Any) -> None:
    plan = RoutePlan(op._operator, (CountWrite(Value("counter", True)),), (Value("counter"),))
    text = repr(plan)
    assert "plans::f" in text and "CountWrite(written=counter" in text
    assert text.index("steps") < text.index("CountWrite") < text.index("results")


def test_equal_objects_share_a_name_and_others_do_not(op: Any) -> None:
    to = Printer(op._operator)
    bits = 1 << 20
    assert [to.bind("BITS", 1 << 20), to.bind("BITS", bits), to.bind("BITS", 1)] == [
        *("BITS", "BITS", "BITS_")
    ]
    assert to.bind("counter", object()) == "counter__"
    assert to.bind("f", object()) == "f_"
    assert to.builtin("any") == "any"


class Twice(Around):
    """Run steps twice."""

    def print(self, to: Printer) -> None:
        with to.block(f"for {to.scratch('each')} in {to.builtin('range')}(2):"):
            to.print(self.steps)


def test_a_layer_puts_steps_around_others(op: Any, tensor: Any) -> None:
    now, key = dispatch_state(), tensor([1.0])._signature
    below = compose(Composition(op._operator, call_keys(key, now), key, now))
    assert below.each(CheckTensor)
    assert below.calls_operators
    around = below.replaced(steps=(Twice(below.steps),))
    assert around.calls_operators
    calls: list[Any] = []
    result = Value("result")
    arguments = tuple([argument_value(a) for a in op._schema.arguments])
    inner = CallFunction(lambda x, y: calls.append(x) or x, arguments, result)
    route = build(RoutePlan(op._operator, (Twice((inner,)),), (result,)))
    assert route(1, 2) == 1
    assert calls == [1, 1]


def test_an_empty_block_passes_and_a_call_alone_is_the_function(op: Any) -> None:
    assert build(RoutePlan(op._operator, (Twice(()),)))(1, 2) is None

    def function(x: Any, y: Any) -> Any:
        return x

    assert build(RoutePlan(op._operator, (CallFunction(function, (), Value("result")),))) is (
        function
    )
