"""Traces: the calls of a task as a tree of spans, and what they are printed and exported as."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import Annotation, Library, Observer, Span, Trace, explain, open_span, ops
from dovetail_dispatcher._C import _after_autograd_keyset
from dovetail_dispatcher.inspection import record_node
from dovetail_dispatcher.inspection.notebook_trees import html_of_tree
from dovetail_dispatcher.inspection.traces.spans import brief_launches, duration_text
from dovetail_dispatcher.inspection.traces.tracing import record_calls, untraced
from dovetail_kernel import (
    ArrayBackend,
    AutoDispatchBelowAutograd,
    TensorBase,
    backend,
    dispatch_state,
)

Tensors = Callable[..., TensorBase]


@pytest.fixture
def lib(library: Callable[..., Library]) -> Library:
    """Operators: ``tr::double``, ``tr::four`` made of it, ``tr::fails`` and ``tr::missing``."""
    lib = library("tr", "DEF")
    lib.define("double(Tensor x, *, int n=2, str word='') -> Tensor")
    lib.array_impl("double", lambda x, *, n, word: x * x.dtype.type(n), "CPU")
    lib.define("four(Tensor x) -> Tensor")
    lib.impl("four", lambda x: ops.tr.double(ops.tr.double(x)), "CompositeImplicitAutograd")
    lib.define("fails(Tensor x) -> Tensor")
    lib.impl("fails", lambda x: 1 // 0, "CPU")
    lib.define("missing(Tensor x) -> Tensor")
    return lib


def names(trace: Trace) -> list[tuple[int, str]]:
    """Return depth and name of every span."""
    return [(depth, span.name) for depth, span in trace.walk()]


# -- what is recorded ------------------------------------------------------------------------------


def test_calls_are_recorded_with_those_inside(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0, 2.0])
    with Trace() as trace:
        result = ops.tr.four(x)
        ops.tr.double(x, n=3)
    ops.tr.double(x)
    assert result.array.tolist() == [4.0, 8.0]
    assert names(trace) == [
        *((0, "tr::four"), (1, "tr::double"), (1, "tr::double"), (0, "tr::double"))
    ]
    assert len(trace) == 4 and len(trace.spans) == 2 and not dispatch_state().traced
    last = trace.spans[1]
    assert last.kind == "call" and last.given == ("x: float32[2] on cpu", "n=3")
    assert last.results == ("float32[2] on cpu",) and last.error is None
    assert last.called_at is not None and last.called_at.startswith(__file__)
    assert trace.spans[0].children[0].called_at is None
    assert last.thread == threading.get_ident()


def test_times_lie_in_each_other_and_leave_the_trace_out(lib: Library, tensor: Tensors) -> None:
    with Trace() as trace:
        ops.tr.four(tensor([1.0]))
    outer = trace.spans[0]
    first, second = outer.children
    assert outer.start_ns <= first.start_ns <= first.end_ns <= second.start_ns <= outer.end_ns
    assert first.time_ns + second.time_ns <= outer.end_ns - outer.start_ns
    assert 0 <= outer.time_ns <= outer.end_ns - outer.start_ns
    assert outer.overhead_ns > 0 and trace.time_ns >= 0


def test_calls_are_found_by_the_name_of_their_operator(lib: Library, tensor: Tensors) -> None:
    lib.define("over.load(Tensor x) -> Tensor")
    lib.impl("over.load", lambda x: x, "CPU")
    with Trace() as trace:
        ops.tr.four(tensor([1.0]))
        ops.tr.over.load(tensor([1.0]))
    assert [len(trace.calls(each)) for each in ("tr::double", "tr::over", "tr::over.load")] == [
        *(2, 1, 1)
    ]
    assert len(trace.calls()) == 4 and trace.calls("tr::ouble") == []


def test_a_redispatch_is_told_from_a_call(lib: Library, tensor: Tensors) -> None:
    def autograd(keys: Any, x: TensorBase, *, n: int = 2, word: str = "") -> Any:
        return ops.tr.double.default.redispatch(keys & _after_autograd_keyset, x, n=n)

    lib.impl("double", autograd, "Autograd", with_keyset=True)
    with Trace() as trace:
        ops.tr.double(tensor([1.0]))
    call = trace.spans[0]
    assert [call.kind, call.children[0].kind] == ["call", "redispatch"]
    assert call.children[0].headline().startswith("redispatch tr::double(float32[1])")


def test_a_call_that_fails_is_recorded_with_its_error(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0])
    with Trace() as trace:
        with pytest.raises(ZeroDivisionError):
            ops.tr.fails(x)
        with pytest.raises(NotImplementedError):
            ops.tr.missing(x)
        ops.tr.double(x)
    failed, missing, double = trace.spans
    assert failed.error is not None and failed.error.startswith("ZeroDivisionError: ")
    assert missing.error is not None and missing.error.startswith("NotImplementedError: ")
    assert double.error is None and failed.results == ()
    assert any(line.startswith("raised ZeroDivisionError") for line in failed.details())


def test_a_trace_inside_another_one_gives_it_its_spans(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0])
    with Trace() as outer:
        ops.tr.double(x)
        with Trace() as inner:
            ops.tr.double(x, n=3)
        assert dispatch_state().traced
    assert [span.given[-1] for span in inner.spans] == ["n=3"]
    assert outer.spans == [outer.spans[0], *inner.spans] and len(outer) == 2
    with pytest.raises(RuntimeError, match="recording already"), outer, outer:
        pass


def test_a_thread_is_recorded_with_a_copy_of_the_context_alone(
    lib: Library, tensor: Tensors
) -> None:
    x = tensor([1.0])

    def run(target: Callable[[], object]) -> None:
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()

    with Trace() as trace:
        run(lambda: ops.tr.double(x))
        context = copy_context()
        run(lambda: context.run(ops.tr.double, x))
    assert len(trace) == 1 and trace.spans[0].thread != threading.get_ident()


def test_calls_are_recorded_or_left_out_on_request(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0])
    with Trace() as trace:
        spans, error = record_calls(lambda: ops.tr.four(x))
        assert untraced(ops.tr.double, x).array.tolist() == [2.0]
        ops.tr.double(x)
    assert [span.name for span in spans] == ["tr::four"] and error is None
    assert names(trace) == [(0, "tr::double")]
    spans, error = record_calls(lambda: ops.tr.fails(x))
    assert error is not None and error.startswith("ZeroDivisionError: ") and len(spans) == 1
    assert open_span.get() is None and not dispatch_state().traced


def test_nodes_and_parts_of_a_program_are_spans(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0])

    def work(value: TensorBase) -> TensorBase:
        result: TensorBase = ops.tr.double(value)
        return result

    assert record_node("MulBackward0", [x], work, x).array.tolist() == [2.0]
    with Annotation("outside") as outside:
        assert outside.name == "outside" and open_span.get() is None
    with Trace() as trace:
        with Annotation("a part"):
            record_node("dovetail::autograd::MulBackward0", [x, 3], work, x)
        ops.tr.double(x)
    part, call = trace.spans
    node = part.children[0]
    assert (part.kind, part.name, node.kind, call.kind) == ("annotation", "a part", "node", "call")
    assert node.given == ("float32[1] on cpu", "3") and node.children[0].name == "tr::double"
    assert node.headline() == "MulBackward0(float32[1], 3) → float32[1]"
    assert part.headline() == "a part()" and part.end_ns >= part.start_ns > 0


def test_an_annotation_may_outlive_its_trace(lib: Library, tensor: Tensors) -> None:
    annotation, trace = Annotation("a part"), Trace()
    trace.__enter__()
    annotation.__enter__()
    trace.__exit__(None, None, None)
    annotation.__exit__(None, None, None)
    assert open_span.get() is None and [span.name for span in trace.spans] == ["a part"]


class Watch(Observer):
    """Notes what it is shown."""

    def __init__(self, name: str, seen: list[Any]) -> None:
        self.name, self.seen = name, seen

    def opened(self, span: Span, given: Any) -> None:
        """Note the beginning of a span."""
        self.seen.append((self.name, "opened", span.name, len(given)))

    def closed(self, span: Span, result: object) -> None:
        """Note the end of a span."""
        self.seen.append((self.name, "closed", span.name, result is None))


def test_an_observer_sees_the_values_of_every_span(lib: Library, tensor: Tensors) -> None:
    seen: list[Any] = []
    x = tensor([1.0])
    with Trace(Watch("a", seen)):
        with Annotation("part"):
            ops.tr.double(x)
        with pytest.raises(ZeroDivisionError):
            ops.tr.fails(x)
    assert seen == [
        ("a", "opened", "part", 0),
        ("a", "opened", "tr::double", 3),
        ("a", "closed", "tr::double", False),
        ("a", "closed", "part", True),
        ("a", "opened", "tr::fails", 1),
        ("a", "closed", "tr::fails", True),
    ]


def test_the_observer_of_an_outer_trace_sees_what_an_inner_one_records(
    lib: Library, tensor: Tensors
) -> None:
    seen: list[Any] = []
    outer = Watch("outer", seen)
    with Trace(outer), Trace(Watch("inner", seen)):
        ops.tr.double(tensor([1.0]))
    assert [each[:2] for each in seen] == [
        *(("outer", "opened"), ("inner", "opened"), ("inner", "closed"), ("outer", "closed"))
    ]
    for inside in (None, outer):
        seen.clear()
        with Trace(outer), Trace(inside):
            ops.tr.double(tensor([1.0]))
        assert len(seen) == 2


def test_an_observer_that_does_nothing_is_none(lib: Library, tensor: Tensors) -> None:
    with Trace(Observer()) as trace:
        ops.tr.double(tensor([1.0]))
    assert len(trace) == 1


# -- launches --------------------------------------------------------------------------------------


@pytest.fixture
def launching(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arrays of the CPU tell their launches, as those of a device do."""
    told: dict[str, Any] = {"to": None, "why": None}
    arrays = backend("cpu").arrays

    def tell(self: ArrayBackend, to: Any) -> Any:
        told["to"] = to
        return told["why"]

    monkeypatch.setattr(type(arrays), "launches_kernels", True)
    monkeypatch.setattr(type(arrays), "tell_launches", tell)
    return told


def test_launches_belong_to_the_span_that_is_open(
    lib: Library, tensor: Tensors, launching: dict[str, Any]
) -> None:
    def kernel(x: Any) -> Any:
        launching["to"]("mul_kernel")
        launching["to"]("mul_kernel")
        return x * x

    lib.define("launch(Tensor x) -> Tensor")
    lib.array_impl("launch", kernel, "CPU")
    with Trace() as trace:
        launching["to"]("of no call")
        ops.tr.launch(tensor([1.0]))
        with Trace() as inner:
            launching["to"]("inside")
        assert launching["to"] is not None and inner.launches == ["inside"]
    assert launching["to"] is None
    assert trace.launches == ["of no call", "mul_kernel", "mul_kernel"]
    assert trace.spans[0].launches == ["mul_kernel"] * 2
    assert "launches 2 × mul_kernel" in trace.spans[0].details()
    assert trace.headline() == "trace: 1 spans, 3 launches" and trace.unknown is None


def test_a_trace_says_why_launches_are_unknown(
    lib: Library, tensor: Tensors, launching: dict[str, Any]
) -> None:
    launching["why"] = "it does not say"
    with Trace() as trace:
        ops.tr.double(tensor([1.0]))
    assert trace.unknown is not None
    assert trace.unknown.startswith("launches on cpu are not known: it does not say")
    assert trace.headline() == f"trace: 1 spans; {trace.unknown}"


def test_explain_runs_no_kernel_on_tensors_to_hear_of_launches(
    lib: Library, tensor: Tensors, launching: dict[str, Any]
) -> None:
    called: list[Any] = []

    def kernel(x: Any) -> Any:
        called.append(x)
        return x

    lib.define("quiet(Tensor x) -> Tensor")
    lib.impl("quiet", kernel, "CPU")
    with AutoDispatchBelowAutograd():
        assert explain(ops.tr.quiet, tensor([1.0])).launches is None
    assert called == []


def test_explain_tells_the_launches_of_kernels_on_arrays(
    lib: Library, tensor: Tensors, launching: dict[str, Any], base: Library
) -> None:
    given: list[Any] = []

    def kernel(x: Any) -> Any:
        given.append(x)
        launching["to"]("copy_kernel")
        return x * x

    lib.define("known(Tensor x) -> Tensor")
    lib.array_impl("known", kernel, "CPU")
    x = tensor([1.0])
    with AutoDispatchBelowAutograd():
        e = explain(ops.tr.known, x)
        assert e.launches == ("copy_kernel",)
        assert "launches copy_kernel" in str(e)
        assert given[0] is not x.array and launching["to"] is None  # made on a copy
        launching["why"] = "it does not say"
        assert explain(ops.tr.known, x).launches is None
        launching["why"] = None
        assert explain(ops.tr.known, tensor([1.0], device="meta")).launches is None
        lib.define("failing(Tensor x) -> Tensor")
        lib.array_impl("failing", lambda x: x.nowhere, "CPU")
        assert explain(ops.tr.failing, x).launches is None
    assert launching["to"] is None


def test_launches_are_counted_where_there_are_several() -> None:
    assert brief_launches(["a", "b", "a"]) == "2 × a, b"


# -- how it is shown -------------------------------------------------------------------------------


def test_a_trace_prints_as_a_tree(lib: Library, tensor: Tensors) -> None:
    with Trace() as trace:
        ops.tr.four(tensor([1.0, 2.0]))
        ops.tr.double(tensor([1.0]), word="a" * 60)
    lines = str(trace).splitlines()
    assert lines[0] == trace.headline() == "trace: 4 spans"
    assert lines[1].startswith("├─ tr::four(float32[2]) → float32[2]  ")
    assert any(line.startswith("│  │ called at ") for line in lines)
    assert any(line.startswith("│  ├─ tr::double(float32[2]) → ") for line in lines)
    assert any(line.startswith("│  └─ tr::double(float32[2]) → ") for line in lines)
    assert any("└─ tr::double(float32[1], word='aaa" in line and "…" in line for line in lines)
    assert repr(trace).startswith("<trace of 4 spans, ")
    assert repr(trace.spans[0]).startswith("<call of tr::four, ")


def test_keys_are_shown_on_request(lib: Library, tensor: Tensors) -> None:
    with Trace() as trace:
        ops.tr.double(tensor([1.0]))
    assert "keys of the arguments" not in trace.as_text()
    text = trace.as_text(keys=True)
    assert "x: float32[1] on cpu: " in text and "keys of the arguments: " in text
    assert "+ included: " in text and "- excluded: " in text
    assert "of which the highest is " in text and "CPU: " in text


def test_a_trace_is_json(lib: Library, tensor: Tensors) -> None:
    with Trace() as trace:
        ops.tr.double(tensor([1.0]), n=3)
    read = json.loads(trace.as_json(indent=1))
    assert read["time_ns"] == trace.time_ns and read == json.loads(trace.as_json())
    (span,) = read["spans"]
    assert span["name"] == "tr::double" and span["options"] == {"n": "3"}
    assert span["arguments"][0]["name"] == "x" and "CPU" in span["arguments"][0]["keys"]
    assert span["decision"]["operator"] == "tr::double" and span["children"] == []


def test_a_trace_is_exported_in_the_format_of_chrome(lib: Library, tensor: Tensors) -> None:
    with Trace() as trace:
        ops.tr.four(tensor([1.0]))
        with pytest.raises(ZeroDivisionError):
            ops.tr.fails(tensor([1.0]))
        with Annotation("part"):
            open_span.get().launches.append("kernel")  # type: ignore[union-attr]  # it is open
    exported = trace.as_chrome_trace()
    process, four, first, *_, failed, part = exported["traceEvents"]
    assert process["ph"] == "M" and exported["displayTimeUnit"] == "ns"
    assert (four["name"], four["cat"], four["ph"]) == ("tr::four", "call", "X")
    assert four["ts"] >= 0 and four["ts"] <= first["ts"]
    assert first["ts"] + first["dur"] <= four["ts"] + four["dur"]
    assert four["args"]["called_at"].startswith(__file__) and "called_at" not in first["args"]
    assert any(each.startswith("CPU: ") for each in first["args"]["kernels"])
    assert failed["args"]["error"].startswith("ZeroDivisionError")
    assert part["args"]["launches"] == ["kernel"] and "keys" not in part["args"]


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(0, "0.0 µs"), (12_345, "12.3 µs"), (999_949, "999.9 µs")]
)
def test_short_times_are_microseconds(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text
    assert duration_text(1e6) == "1.0 ms" and duration_text(4.56e6) == "4.6 ms"


def test_a_tree_folds_in_notebooks(lib: Library, tensor: Tensors) -> None:
    html = html_of_tree("top\n├─ <one>\n│  └─ below\n│     │ more\n└─ two\n")
    assert html.count("<details") == 2 and html.count("<summary>") == 2
    assert html.startswith("<details") and html.endswith("</details>")
    assert "<summary>&lt;one&gt;</summary>" in html and "below\nmore</div>" in html
    assert html.index("below") < html.index("two")
    with Trace() as trace:
        ops.tr.double(tensor(np.ones(2)))
    assert trace._repr_html_() == html_of_tree(str(trace))
