"""`dovetail.tracing`: every operator call of a block of code, and which kernels it ran."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail import Tensor
from dovetail.library import Library, _scoped_library, custom_op
from dovetail_dispatcher import CallSpan, Span

pytestmark = pytest.mark.cpu_only(reason="the texts name the kernels of the cpu")


def names(spans: list[Span]) -> list[str]:
    return [span.name for span in spans]


def matrices() -> tuple[Tensor, Tensor]:
    return dovetail.ones(2, 3, requires_grad=True), dovetail.ones(3)


@pytest.fixture
def library() -> Iterator[Library]:
    with _scoped_library("tracing", "DEF") as made:
        yield made


def test_a_call_is_recorded_with_keys_masks_kernels_and_places() -> None:
    x, y = matrices()
    with dovetail.tracing() as t:
        x * y
    (span,) = t.spans
    assert isinstance(span, CallSpan)
    assert [(a.name, a.value) for a in span.arguments] == [
        ("self", "float32[2, 3] on cpu, requires grad"),
        ("other", "float32[3] on cpu"),
    ]
    assert span.arguments[0].keys == ("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")
    assert span.results == ("float32[2, 3] on cpu, requires grad",)
    decision = span.decision
    assert (decision.operator, decision.chosen) == ("aten::mul.Tensor", "AutogradCPU")
    assert decision.merged == span.arguments[0].keys
    assert decision.included == ("BackendSelect", "ADInplaceOrView")
    assert "AutocastCPU" in decision.excluded
    assert [(step.key, step.distribution) for step in decision.chain] == [
        ("AutogradCPU", "dovetail-aten"),
        ("CPU", "dovetail-cpu"),
    ]
    assert all(re.search(r":\d+$", step.source) for step in decision.chain)
    assert span.time_ns > 0


def test_the_decision_is_that_of_explain() -> None:
    x, y = matrices()
    with dovetail.tracing() as t:
        dovetail.mul(x, y)
    explained = dovetail.explain(dovetail.ops.aten.mul.Tensor, x, y)
    (span,) = t.calls()
    assert {**explained.as_dict(), **span.decision.as_dict()} == explained.as_dict()


def test_calls_inside_a_composite_are_its_children() -> None:
    x, _ = matrices()
    with dovetail.tracing() as t:
        dovetail.nn.functional.linear(x, dovetail.ones(4, 3))
    (span,) = t.calls("aten::linear")
    assert names(span.children) == ["aten::t", "aten::mm"]


def test_views_and_writes_in_place_are_recorded() -> None:
    x = dovetail.zeros(3, 3)
    with dovetail.tracing() as t:
        x[0].add_(1)
        x[1] = 2
    assert names(t.spans) == [
        "aten::select.int",
        "aten::add_.Tensor",
        "aten::select.int",
        "aten::fill_.Scalar",
    ]
    assert x.tolist() == [[1, 1, 1], [2, 2, 2], [0, 0, 0]]


def test_factories_are_recorded_down_to_the_backend() -> None:
    with dovetail.tracing() as t:
        dovetail.zeros(2)
    (span,) = t.spans
    assert span.name == "aten::zeros"
    assert [(child.kind, child.name) for child in span.children] == [("redispatch", "aten::zeros")]


def test_backward_is_recorded_as_nodes_with_the_calls_of_their_formulas() -> None:
    x, y = matrices()
    loss = (x * y).sum()
    with dovetail.tracing() as t:
        loss.backward()
    nodes = [span for span in t.spans if span.kind == "node"]
    assert names(nodes)[:2] == ["SumBackward0", "MulBackward0"]
    assert names(nodes[1].children)[-1] == "aten::mul.Tensor"
    assert nodes[-1].name.endswith("AccumulateGrad")


def test_gradients_are_the_same_under_a_trace() -> None:
    def gradient() -> Any:
        dovetail.manual_seed(0)
        x = dovetail.randn(4, 5, requires_grad=True)
        dovetail.softmax(x @ x.t(), 0).logsumexp(1).sum().backward()
        assert x.grad is not None
        return x.grad.numpy()

    plain = gradient()
    with dovetail.tracing():
        traced = gradient()
    np.testing.assert_allclose(traced, plain, rtol=1e-5, atol=1e-7)


def test_create_graph_is_recorded_too() -> None:
    x = dovetail.tensor(3.0, requires_grad=True)
    with dovetail.tracing() as t:
        (first,) = dovetail.autograd.grad(x**3, x, create_graph=True)
        (second,) = dovetail.autograd.grad(first, x)
    assert second == 18
    assert [s.name for s in t.spans if s.kind == "node"].count("PowBackward0") == 2


def test_a_custom_op_and_its_backward_are_recorded() -> None:
    @custom_op("tracing2::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x + x

    twice.register_autograd(lambda ctx, grad: grad * 2)
    x = dovetail.ones(2, requires_grad=True)
    with dovetail.tracing() as t:
        twice(x).sum().backward()
    twice._lib._destroy()
    assert t.spans[0].name == "tracing2::twice"
    assert names(t.spans[0].children) == ["aten::add.Tensor"]
    node = next(span for span in t.spans if span.kind == "node" and "twice" in span.name)
    assert names(node.children) == ["aten::mul.Tensor"]


def test_a_redispatch_is_a_child_of_the_call(library: Library) -> None:
    def outer(keys: Any, x: Tensor) -> Any:
        return dovetail.ops.tracing.f.default.redispatch(
            keys & dovetail.DispatchKeySet(dovetail.DispatchKey.CPU), x
        )

    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.clone(), "CPU")
    library.impl("f", outer, "AutogradCPU", with_keyset=True)
    x = dovetail.ones(2)
    with dovetail.tracing() as t:
        dovetail.ops.tracing.f(x)
    (span,) = t.spans
    (inner,) = span.children
    assert isinstance(inner, CallSpan)
    assert (inner.kind, inner.name, inner.decision.keys) == ("redispatch", "tracing::f", ("CPU",))
    assert names(inner.children) == ["aten::clone"]


def test_a_call_that_raises_is_recorded_with_its_error() -> None:
    with dovetail.tracing() as t, pytest.raises(RuntimeError):
        dovetail.ones(2, 3) @ dovetail.ones(2, 3)
    failed = t.calls()[-1]
    assert failed.error is not None and failed.error.startswith("RuntimeError")
    assert "raised RuntimeError" in str(t)


def test_a_call_without_kernel_is_recorded_with_its_error(library: Library) -> None:
    library.define("g(Tensor x) -> Tensor")
    for _ in range(2):
        with (
            dovetail.tracing() as t,
            pytest.raises(NotImplementedError, match="Could not run 'tracing::g'"),
        ):
            dovetail.ops.tracing.g(dovetail.ones(2))
        assert t.calls("tracing::g")[0].error is not None


def test_describing_arguments_runs_no_code_of_a_subclass() -> None:
    class Private(Tensor):
        @property
        def shape(self) -> Any:
            raise AssertionError("not for the trace")

    x = dovetail.ones(2).as_subclass(Private)
    with dovetail.tracing() as t:
        dovetail.exp(x)
    call = t.calls("aten::exp")[0]
    assert call.arguments[0].value == "float32[2] on cpu"


def test_outermost_calls_say_where_they_were_made() -> None:
    with dovetail.tracing() as t:
        dovetail.ones(2).exp()
    assert re.search(r"test_trace\.py:\d+$", t.spans[-1].called_at or "")


def test_nothing_is_recorded_before_and_after() -> None:
    x = dovetail.ones(2)
    x + 1
    with dovetail.tracing() as t:
        x * 2
    x - 1
    assert names(t.spans) == ["aten::mul.Tensor"]


def test_it_ends_with_an_exception() -> None:
    with pytest.raises(ValueError, match="mine"), dovetail.tracing() as t:
        raise ValueError("mine")
    dovetail.ones(2) + 1
    assert t.spans == []


def test_grad_mode_set_inside_stays() -> None:
    with dovetail.tracing():
        dovetail.set_grad_enabled(False)
    try:
        assert not dovetail.is_grad_enabled()
    finally:
        dovetail.set_grad_enabled(True)


def test_an_inner_trace_is_part_of_the_outer() -> None:
    x = dovetail.ones(2)
    with dovetail.tracing() as outer:
        x + 1
        with dovetail.tracing() as inner:
            x * 2
        x - 1
    assert names(inner.spans) == ["aten::mul.Tensor"]
    assert names(outer.spans) == ["aten::add.Tensor", "aten::mul.Tensor", "aten::sub.Tensor"]


@pytest.mark.parametrize("inner", [{}, {"hashes": True}])
def test_an_inner_trace_notes_the_hashes_of_the_outer(inner: dict[str, bool]) -> None:
    x = dovetail.ones(2)
    with dovetail.tracing(hashes=True) as outer:
        x.exp()
        with dovetail.tracing(**inner) as t:
            x.exp()
        x.exp()
    prints = [span["fingerprints"] for span in outer.as_dict()["spans"]]
    assert len(prints) == 3 and prints[0] == prints[1] == prints[2]
    assert ("fingerprints" in t.as_dict()["spans"][0]) == bool(inner)


def test_a_trace_and_a_profile_inside_of_each_other_both_see_the_values() -> None:
    x = dovetail.ones(2, 3)

    def profile() -> Any:
        return dovetail.profiler.profile(record_shapes=True, profile_memory=True)

    with profile() as outer, dovetail.tracing(hashes=True) as inside:
        x.exp()
    with dovetail.tracing(hashes=True) as around, profile() as inner:
        x.exp()
    for profiled in (outer, inner):
        (event,) = profiled.events()
        assert event.input_shapes == [[2, 3]] and event.cpu_memory_usage == 24
    (first,), (second,) = (each.as_dict()["spans"] for each in (inside, around))
    assert first["fingerprints"] == second["fingerprints"]


def test_other_threads_and_tasks_are_left_out() -> None:
    x = dovetail.ones(2)

    async def other(started: asyncio.Event, done: asyncio.Event) -> None:
        await started.wait()
        x.exp()
        done.set()

    async def main() -> Any:
        started, done = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(other(started, done))
        with dovetail.tracing() as t:
            started.set()
            await done.wait()
            thread = Thread(target=x.sin)
            thread.start()
            thread.join()
            x + 1
        await task
        return t

    assert names(asyncio.run(main()).spans) == ["aten::add.Tensor"]


def test_a_registration_meanwhile_shows_in_later_calls(library: Library) -> None:
    library.define("h(Tensor x) -> Tensor")
    library.impl("h", lambda x: x.clone(), "CPU")
    x = dovetail.ones(2)
    with dovetail.tracing() as t:
        dovetail.ops.tracing.h(x)
        library.impl("h", lambda x: x.exp(), "AutogradCPU")
        dovetail.ops.tracing.h(x)
    assert [names(span.children) for span in t.calls("tracing::h")] == [
        ["aten::clone"],
        ["aten::exp"],
    ]


def test_json_has_everything_of_every_call() -> None:
    x, y = matrices()
    with dovetail.tracing() as t:
        dovetail.nn.functional.linear(x, y.expand(2, 3))
    data = json.loads(t.as_json())
    span = next(each for each in data["spans"] if each["name"] == "aten::linear")
    assert span["decision"]["chain"][0]["rule"] == "math kernel"
    assert span["children"][0]["arguments"][0]["keys"]
    assert span["time_ns"] >= max(child["time_ns"] for child in span["children"])


def test_the_chrome_trace_nests_in_time(tmp_path: Path) -> None:
    x, weight = dovetail.ones(2, 3), dovetail.ones(4, 3)
    with dovetail.tracing() as t:
        dovetail.nn.functional.linear(x, weight)
    t.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    outer, *inner = complete
    assert outer["name"] == "aten::linear"
    assert inner
    for event in inner:
        assert outer["ts"] <= event["ts"]
        assert event["ts"] + event["dur"] <= outer["ts"] + outer["dur"]
    assert set(complete[0]) == {"ph", "name", "cat", "ts", "dur", "pid", "tid", "args"}


def test_it_prints_as_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    x, weight = dovetail.ones(2, 3), dovetail.ones(4, 3)
    with dovetail.tracing() as t:
        dovetail.nn.functional.linear(x, weight)
    lines = str(t).splitlines()
    assert any(
        re.match(r"└─ aten::linear\(float32\[2, 3\], float32\[4, 3\]\) → float32\[2, 4\]  \d", line)
        for line in lines
    )
    assert any(line.startswith("   ├─ aten::t(") for line in lines)
    t.print(keys=True)
    printed = capsys.readouterr().out
    assert "aten::linear(float32[2, 3]" in printed
    assert "- excluded: AutocastCPU" in printed


def test_trace_without_arguments_is_tracing_and_says_so() -> None:
    with pytest.warns(DeprecationWarning, match=r"Write dovetail\.tracing\(\)"):
        old = dovetail.trace()
    assert isinstance(old, dovetail.tracing)


@pytest.mark.skipif(
    not hasattr(dovetail.Tensor, "trace"), reason="this build has no operator aten::trace"
)
def test_trace_of_a_matrix_is_the_sum_of_its_diagonal() -> None:
    x = dovetail.arange(6).reshape(2, 3)
    assert dovetail.trace(x).item() == 4
    assert dovetail.trace(input=x).item() == 4


def test_one_trace_is_not_entered_twice_at_a_time() -> None:
    t = dovetail.tracing()
    with t, pytest.raises(RuntimeError, match="recording already"), t:
        pass


def test_the_routes_of_untraced_calls_know_nothing_of_it() -> None:
    op = dovetail.ops.aten.cosh.default
    x = dovetail.ones(2)
    op(x)
    before = dict(op._operator.routes)
    with dovetail.tracing():
        op(x)
    assert {key: op._operator.routes[key] for key in before} == before
