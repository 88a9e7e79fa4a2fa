"""``dovetail.cuda`` where there is a device."""

from __future__ import annotations

import pytest

import dovetail
from dovetail import cuda

pytestmark = pytest.mark.skipif(not cuda.is_available(), reason=str(cuda.why_unavailable()))


def test_a_device_has_properties():
    found = cuda.get_device_properties(0)
    assert found.name == cuda.get_device_name(0)
    assert (found.major, found.minor) == cuda.get_device_capability(0)
    assert found.total_memory >= cuda.mem_get_info(0)[0] > 0
    assert cuda.is_initialized()


def test_peaks_of_memory_are_counted_from_the_first_question():
    cuda.reset_peak_memory_stats()
    before = cuda.memory_allocated()
    x = dovetail.ones(1 << 18, device="cuda")
    del x
    assert cuda.max_memory_allocated() >= before + (1 << 20)
    assert cuda.memory_stats()["allocated_bytes.all.peak"] == cuda.max_memory_allocated()
    assert cuda.max_memory_reserved() >= cuda.max_memory_allocated()
    assert "allocated_bytes.all.peak" in cuda.memory_summary()


def test_memory_that_is_not_there_is_an_error_of_its_own():
    with pytest.raises(cuda.OutOfMemoryError):
        dovetail.empty(1 << 45, device="cuda")


def test_work_goes_to_the_stream_of_the_block():
    stream = cuda.Stream()
    assert cuda.current_stream() == cuda.default_stream() != stream
    with cuda.stream(stream):
        assert cuda.current_stream() == stream
        x = dovetail.ones(4, device="cuda") * 2
    stream.synchronize()
    assert stream.query()
    cuda.current_stream().wait_stream(stream)
    assert x.tolist() == [2, 2, 2, 2]


def test_events_measure_time():
    first, second = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    first.record()
    dovetail.ones(4, device="cuda").exp()
    second.record()
    second.synchronize()
    assert second.query()
    assert first.elapsed_time(second) >= 0


def test_the_state_of_a_generator_is_saved_and_restored():
    cuda.manual_seed(11)
    assert cuda.initial_seed() == 11
    states = cuda.get_rng_state_all()
    assert [len(state) for state in states] == [16] * cuda.device_count()
    first = dovetail.randn(3, device="cuda").tolist()
    cuda.set_rng_state_all(states)
    assert dovetail.randn(3, device="cuda").tolist() == first


def test_a_block_may_be_for_the_device_of_a_tensor():
    with cuda.device_of(dovetail.ones(1, device="cpu")):
        assert cuda.current_device() == 0


def test_ranges_nest():
    assert cuda.nvtx.range_push("outer") == 0
    with cuda.nvtx.range("inner {}", 1):
        cuda.nvtx.mark("here")
    assert cuda.nvtx.range_pop() == 0


@pytest.mark.parametrize("name", ["CUDAGraph", "graph", "make_graphed_callables"])
def test_graphs_are_refused_with_the_reason(name):
    with pytest.raises(RuntimeError, match=f"cuda.{name}: .* memory pool gives memory .* to other"):
        getattr(cuda, name)(*[None] * (name == "graph"))
