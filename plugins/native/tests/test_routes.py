"""Compiled routes: what is refused when one is built or called, errors in the words of the schema,
and references.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing
from dovetail_dispatcher.calls.printer import build  # noqa: E402
from dovetail_dispatcher.sockets import COMPILED_ROUTE  # noqa: E402
from dovetail_dispatcher.table import registry  # noqa: E402
from dovetail_kernel.keys.state import state  # noqa: E402

pytestmark = pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off")

CODE, KIND = core.INSTRUCTIONS, core.OPERANDS


def instruction(name: str, **fields: Any) -> tuple[Any, ...]:
    names = ("a", "b", "c", "flags", "target", "slot", "slot2", "bits")
    numbers = [fields.get(each, 0) for each in names]
    return CODE[name], *numbers, fields.get("objects", ()), fields.get("operands", ())


def value(register: int) -> tuple[int, int, None]:
    return KIND["VALUE"], register, None


RETURN = instruction("RETURN", operands=(value(0),))
CALL = (None,) * 5
_FLOATS = [dovetail.float16, dovetail.bfloat16, dovetail.float32, dovetail.float64]


def route(*program: tuple[Any, ...], arguments: int = 1, registers: int = 4) -> Any:
    dovetail.ones(1) + 1  # whatever is set up with the first route
    return core.Route("f", None, arguments, registers, program)


def test_program_is_run() -> None:
    double = instruction(
        "CALL", a=1, flags=1, objects=(lambda x: x * 2, *CALL), operands=(value(0),)
    )
    assert route(double, instruction("RETURN", operands=(value(1), value(0))))(3) == (6, 3)


@pytest.mark.parametrize(
    "program",
    [
        (),
        (instruction("JUMP", target=1),),
        (instruction("JUMP", target=0), RETURN),
        (instruction("JUMP", target=9), RETURN),
        (instruction("UNLESS_GIVEN", target=-1), RETURN),
        (instruction("RETURN", operands=(value(4),)),),
        (instruction("RETURN", operands=((99, 0, None),)),),
        (instruction("RETURN", operands=((0, 0),)),),
        (instruction("RETURN", operands=(value(0),) * (core.MAX_OPERANDS + 1)),),
        (instruction("COUNT_WRITE", a=4), RETURN),
        (instruction("COUNT_WRITE", a=-1), RETURN),
        (instruction("CALL", objects=(len,)), RETURN),
        (instruction("CALL", a=2, flags=3, objects=(len, *CALL)), RETURN),
        (instruction("CALL", objects=(len, ("x",), *CALL[1:])), RETURN),
        (instruction("CALL", objects=(len, *CALL[:-1], (len, b"\x09"))), RETURN),
        (instruction("NUMBER", objects=([], len)), RETURN),
        (instruction("UNLESS_ONE_DTYPE", target=1, objects=([],), operands=(value(0),)), RETURN),
        (instruction("UNLESS_ONE_DTYPE", target=1, objects=({},)), RETURN),
        (instruction("NODE", objects=(int, None, [], (), b"")), RETURN),
        (instruction("NODE", objects=(int, None, iter([]), ("a",), b"")), RETURN),
        (instruction("NODE", objects=(int, None, iter([]), (), b"\x09")), RETURN),
        (instruction("WRAP", objects=(None,) * 11, flags=4), RETURN),
        (instruction("ENTER_STATE", objects=(len,)), RETURN),
        (instruction("LEAVE_STATE"), RETURN),
        ((99, *RETURN[1:]), RETURN),
        (RETURN[:-1], RETURN),
        (None, RETURN),
    ],
)
def test_programs_that_could_not_run_are_refused(program: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, TypeError)):
        route(*program)


def test_number_of_registers_is_bounded() -> None:
    with pytest.raises(ValueError, match="registers"):
        route(RETURN, registers=core.MAX_REGISTERS + 1)


@pytest.mark.parametrize("args", [(), (1, 2)])
def test_wrong_number_of_arguments_is_a_type_error(args: tuple[int, ...]) -> None:
    with pytest.raises(TypeError, match="1 positional"):
        route(RETURN)(*args)
    with pytest.raises(TypeError, match="1 positional"):
        route(RETURN)(1, x=2)


def test_value_that_was_not_made_is_an_error() -> None:
    with pytest.raises(UnboundLocalError):
        route(instruction("RETURN", operands=(value(2),)))(1)


@pytest.mark.parametrize("wrong", [None, 1, "x", object(), np.ones(2), [dovetail.ones(2)]])
def test_what_is_no_tensor_is_a_type_error(wrong: Any) -> None:
    for each in [*_routes("add", "Tensor"), *_routes("relu", "")]:
        count = len(each.plan.op.schema.arguments)
        with pytest.raises((TypeError, AttributeError, ValueError)):
            each(*[wrong] * count)


def _routes(name: str, overload: str) -> list[Any]:
    registry.forget_all_routes()
    x, w = dovetail.ones(2), dovetail.ones(2, requires_grad=True)
    for each in (x, w, w * 1):
        each + each
        each.relu()
    operator = registry.find_or_throw(f"aten::{name}", overload)
    return [each for each in operator.routes.values() if isinstance(each, core.Route)]


def test_routes_show_their_operator_and_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    (first, *_) = _routes("add", "Tensor")
    assert repr(first) == "<compiled route of aten::add.Tensor>"
    assert first.__name__ == "aten::add.Tensor"
    x = dovetail.ones(3)
    monkeypatch.setattr(COMPILED_ROUTE, "plug", None)
    text = build(first.plan)
    assert not isinstance(text, core.Route)
    assert text(x, x, 1).tolist() == first(x, x, 1).tolist()


def test_operands_that_the_key_does_not_tell_are_promoted_as_by_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dtypes = [dovetail.bool, dovetail.int8, dovetail.int64, *_FLOATS, dovetail.complex64]
    mask = dovetail.tensor([True, False, True])
    op = registry.find_or_throw("aten::where", "self")
    given = [dovetail.tensor([0, 1, 2]).to(dtype) for dtype in dtypes]
    given += [dovetail.tensor(2.0), given[1][:1], given[-2].requires_grad_()]
    for x in given:
        for y in given:
            for _ in range(2):  # the first call meets the dtypes
                found = dovetail.where(mask, x, y)
            route = op.routes[mask._signature | x._signature | y._signature | state()]
            assert isinstance(route, core.Route)
            with monkeypatch.context() as patch:
                patch.setattr(COMPILED_ROUTE, "plug", None)
                expected = build(route.plan)(mask, x, y)
            assert found.dtype is expected.dtype
            assert found.requires_grad is expected.requires_grad
            assert found.tolist() == expected.tolist()


def test_errors_are_in_the_words_of_the_schema() -> None:
    x, y = dovetail.ones(2), dovetail.ones(3)
    dovetail.set_full_tracebacks(True)
    try:
        for _ in range(2):  # the second call has its route
            with pytest.raises(RuntimeError, match=r"size of tensor a \(2\)") as raised:
                x + y
    finally:
        dovetail.set_full_tracebacks(False)
    assert isinstance(raised.value.__cause__, ValueError)


def test_state_is_restored_when_a_kernel_raises() -> None:
    from dovetail.library import Library

    library = Library("compiled_routes", "DEF")
    try:
        library.define("fail(Tensor x) -> Tensor")

        def fail(x: Any) -> Any:
            raise KeyError("no")

        library.impl("fail", fail, "CompositeExplicitAutograd")
        before = state()
        for _ in range(2):
            with pytest.raises(KeyError, match="no"):
                dovetail.ops.compiled_routes.fail(dovetail.ones(2, requires_grad=True))
            assert state() == before
    finally:
        library._destroy()


def _plain() -> None:
    x = dovetail.ones(3)
    (x + x).relu().exp()


def _recorded() -> None:
    w = dovetail.ones(3, requires_grad=True)
    (w * w + w).tanh().sum().backward()


def _views() -> None:
    w = dovetail.ones(4, requires_grad=True)
    w.view(2, 2).t()[0].expand(3, 2)


def _written() -> None:
    x = dovetail.ones(4)
    x.add_(1).mul_(x)
    (dovetail.ones(2, requires_grad=True) * 1).mul_(3)


def _failing() -> None:
    with pytest.raises(RuntimeError):
        dovetail.ones(2) + dovetail.ones(3)


def _numbers() -> None:
    (dovetail.ones(2, requires_grad=True) * 2.5 - 1) / 3


@pytest.mark.parametrize("call", [_plain, _recorded, _views, _written, _failing, _numbers])
def test_no_reference_is_lost_or_left(call: Callable[[], None]) -> None:
    counted = [None, True, 0, 1, np.dtype("float32"), np.ndarray, dovetail.Tensor]
    for _ in range(20):
        call()
    gc.collect()
    before = [sys.getrefcount(each) for each in counted]
    tracemalloc.start()
    for _ in range(300):
        call()
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    after = [sys.getrefcount(each) for each in counted]
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True)), (before, after)
    assert grown < 60_000
