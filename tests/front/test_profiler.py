"""`dovetail.profiler`: time and memory by operator, forward and backward."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.autograd import profiler as old
from dovetail.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)
from dovetail_kernel import state

pytestmark = pytest.mark.cpu_only(reason="bytes and calls are those of the cpu's kernels")


def square_sum(**options: Any) -> profile:
    """Return a profile of a product and its backward."""
    x = dovetail.ones(50, 50, requires_grad=True)
    with profile(**options) as prof:
        with record_function("forward"):
            loss = (x @ x).relu().sum()
        loss.backward()
    return prof


def named(prof: Any, key: str) -> Any:
    (found,) = [event for event in prof.key_averages() if event.key == key]
    return found


def test_forward_and_backward_have_their_lines() -> None:
    prof = square_sum()
    counts = {event.key: event.count for event in prof.key_averages()}
    assert counts["aten::mm"] == 3
    assert counts["forward"] == counts["MmBackward0"] == counts["aten::relu"] == 1
    backward = next(event for event in prof.events() if event.name == "MmBackward0")
    assert "aten::mm" in [child.name for child in backward.cpu_children]


def test_times_of_calls_lie_in_the_times_of_what_called_them() -> None:
    prof = square_sum()
    for event in prof.events():
        inside = sum(child.cpu_time_total for child in event.cpu_children)
        assert event.self_cpu_time_total == pytest.approx(
            max(0.0, event.cpu_time_total - inside), abs=1e-3
        )
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start
            assert child.time_range.end <= event.time_range.end
    assert named(prof, "forward").cpu_time_total >= named(prof, "aten::matmul").cpu_time_total


def test_memory_is_counted_where_tensors_are_made_and_where_they_are_freed() -> None:
    prof = square_sum(profile_memory=True)
    mm = named(prof, "aten::mm")
    assert mm.self_cpu_memory_usage == mm.cpu_memory_usage == 3 * 10_000
    # The product is made in relu's argument, and freed when relu has returned.
    forward = named(prof, "forward")
    assert (forward.cpu_memory_usage, forward.self_cpu_memory_usage) == (10_004, -10_000)


def test_views_and_writes_in_place_make_no_memory() -> None:
    x = dovetail.ones(10)
    with profile(profile_memory=True) as prof:
        x.view(2, 5).add_(1)
        kept = x + 1
    assert named(prof, "aten::view").cpu_memory_usage == 0
    assert named(prof, "aten::add_").cpu_memory_usage == 0
    assert named(prof, "aten::add").cpu_memory_usage == 4 * len(kept)


def test_shapes_and_operations_are_noted_on_request() -> None:
    a, b = dovetail.ones(5, 6), dovetail.ones(6, 7)
    with profile(record_shapes=True, with_flops=True) as prof:
        a @ b
        dovetail.cat([a, a])
        dovetail.nn.functional.conv2d(dovetail.ones(2, 3, 8, 8), dovetail.ones(4, 3, 3, 3))
    (mm,) = [event for event in prof.events() if event.name == "aten::mm"]
    assert mm.input_shapes == [[5, 6], [6, 7]]
    assert mm.flops == 2 * 5 * 6 * 7
    (cat,) = [event for event in prof.events() if event.name == "aten::cat"]
    assert cat.input_shapes == [[[5, 6], [5, 6]], []]
    assert cat.concrete_inputs == [None, 0]
    assert named(prof, "aten::conv2d").flops == 2 * (2 * 4 * 6 * 6) * (3 * 3 * 3)
    shapes = {str(e.input_shapes) for e in prof.key_averages(group_by_input_shape=True)}
    assert "[[5, 6], [6, 7]]" in shapes


def test_stacks_name_the_program_and_not_the_library(tmp_path: Path) -> None:
    prof = square_sum(with_stack=True)
    (mm, *_) = [event for event in prof.events() if event.name == "aten::mm"]
    assert "square_sum" in mm.stack[0]
    assert not [line for line in mm.stack if "<dovetail" in line or "/dovetail_aten/" in line]
    prof.export_stacks(str(tmp_path / "stacks"))
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert lines
    assert all(line.rpartition(" ")[2].isdigit() for line in lines)
    assert any("square_sum" in line and "aten::" in line for line in lines)
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        square_sum().export_stacks(str(tmp_path / "none"))


@pytest.mark.parametrize("name", ["step.json", "step.json.gz"])
def test_a_chrome_trace_holds_every_call(tmp_path: Path, name: str) -> None:
    prof = square_sum(record_shapes=True)
    prof.add_metadata_json("run", '{"batch": 3}')
    prof.export_chrome_trace(str(tmp_path / name))
    data = (tmp_path / name).read_bytes()
    content = json.loads(gzip.decompress(data) if name.endswith("gz") else data)
    assert content["run"] == {"batch": 3}
    assert len(content["traceEvents"]) == len(prof.events())
    (first, *_) = [each for each in content["traceEvents"] if each["name"] == "aten::mm"]
    assert first["ph"] == "X"
    assert first["args"]["Input Dims"] == [[50, 50], [50, 50]]


def test_tensorboard_gets_a_file_per_stretch(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(str(tmp_path), "worker")
    with profile(schedule=schedule(wait=0, warmup=0, active=1), on_trace_ready=handler) as prof:
        for _ in range(2):
            dovetail.ones(2) + 1
            prof.step()
    files = sorted(tmp_path.iterdir())
    assert len(files) >= 2
    assert all(f.name.startswith("worker.") and f.name.endswith(".pt.trace.json") for f in files)


def test_steps_outside_the_schedule_are_not_recorded() -> None:
    ready: list[list[tuple[str, int]]] = []

    def note(prof: profile) -> None:
        ready.append([(event.key, event.count) for event in prof.key_averages()])

    x = dovetail.ones(3)
    before = state()
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=note
    ) as prof:
        for step in range(6):
            assert (state() != before) is (step in (2, 3))  # nothing is paid in other steps
            x + 1
            prof.step()
    assert ready == [[("ProfilerStep*", 2), ("aten::add", 2)]]
    assert state() == before


def test_a_schedule_says_what_is_done_in_each_step() -> None:
    chosen = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert "".join("nwrs"[chosen(step).value] for step in range(12)) == "nnwrsnwrsnnn"
    assert ProfilerAction.RECORD_AND_SAVE.value == 3
    with pytest.raises(AssertionError, match=r"active=0 \(need > 0\)"):
        schedule(wait=1, warmup=1, active=0)


def test_stretches_add_up_on_request() -> None:
    def calls(acc_events: bool) -> int:
        with profile(schedule=schedule(wait=0, warmup=0, active=1), acc_events=acc_events) as prof:
            for _ in range(3):
                dovetail.ones(2) + 1
                prof.step()
        return sum(event.count for event in prof.key_averages() if event.key == "aten::add")

    assert calls(acc_events=True) == 3
    assert calls(acc_events=False) <= 1


def test_the_table_sorts_cuts_and_adds_up() -> None:
    prof = square_sum(profile_memory=True, with_flops=True)
    lines = prof.key_averages().table(sort_by="count", row_limit=1).splitlines()
    assert [part.strip() for part in lines[1].split("  ") if part.strip()] == [
        "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "CPU Mem",
        "Self CPU Mem", "# of Calls", "Total KFLOPs",
    ]  # fmt: skip
    assert lines[3].split()[0] == "aten::mm"
    assert "29.30 KB" in lines[3]
    assert "750.000" in lines[3]
    assert len(lines) == 6
    assert lines[-1].startswith("Self CPU time total: ")
    with pytest.raises(AttributeError, match="sort_by is one of cpu_time, "):
        prof.key_averages().table(sort_by="speed")


def test_only_top_level_events_are_shown_on_request() -> None:
    text = square_sum().events().table(top_level_events_only=True, header="mine", time_unit="ms")
    assert "mine" in text
    assert "forward" in text
    assert "aten::matmul" not in text


def test_a_function_is_named_by_a_decorator_and_nothing_happens_outside_profiles() -> None:
    @record_function("twice")
    def twice(x: Any) -> Any:
        """Double."""
        return x + x

    x = dovetail.ones(2)
    twice(x)
    with profile() as prof:
        twice(x)
        twice(x)
    assert named(prof, "twice").count == 2
    assert twice.__doc__ == "Double."
    with dovetail.tracing() as trace:
        twice(x)
    assert [(span.kind, span.name) for span in trace.spans] == [("annotation", "twice")]


def test_an_error_in_a_profile_closes_it() -> None:
    before = state()
    prof = profile(profile_memory=True)
    with pytest.raises(RuntimeError, match="size"), prof:
        dovetail.ones(2) + dovetail.ones(3)
    assert state() == before
    assert named(prof, "aten::add").count == 1


def test_profiles_nest() -> None:
    x = dovetail.ones(2)
    with profile() as outer:
        x + 1
        with profile() as inner:
            x * 2
    assert [event.key for event in inner.key_averages()] == ["aten::mul"]
    assert [event.key for event in outer.key_averages()] == ["aten::add", "aten::mul"]


def test_results_are_those_of_an_unprofiled_run() -> None:
    def gradient() -> list[float]:
        x = dovetail.linspace(0, 1, 5, requires_grad=True)
        (x.sin() * x).sum().backward()
        assert x.grad is not None
        return x.grad.tolist()

    plain = gradient()
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True):
        assert gradient() == plain


def test_devices_that_are_not_measured_are_named() -> None:
    with pytest.warns(UserWarning, match="CUDA cannot be profiled"):
        prof = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    assert prof.activities == {ProfilerActivity.CPU}
    with pytest.raises(AssertionError, match=r"Add ProfilerActivity\.CPU"):
        profile(activities=[])


def test_a_profile_without_a_stretch_has_no_events() -> None:
    with pytest.raises(AssertionError, match="must be initialized"):
        profile().events()


def test_the_names_of_old_work() -> None:
    x = dovetail.ones(3)
    with old.profile(record_shapes=True) as prof, old.record_function("part"):
        x + x
    assert [event.name for event in prof.function_events] == ["part", "aten::add"]
    assert "aten::add" in str(prof)
    assert prof.total_average().count == 2
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    with old.profile(enabled=False) as none:
        x + x
    assert str(none) == "<unfinished torch.autograd.profile>"
    with pytest.raises(RuntimeError, match="didn't finish"):
        none.key_averages()


def test_ranges_for_nvidia_need_a_device() -> None:
    with old.emit_nvtx(enabled=False):
        pass
    if dovetail.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(RuntimeError, match="emit_nvtx needs a CUDA device"):
        old.emit_nvtx().__enter__()
