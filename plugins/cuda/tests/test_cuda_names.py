"""``dovetail.cuda`` where there is a device."""

from __future__ import annotations

import sys
from types import SimpleNamespace

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


@pytest.mark.parametrize(
    "name", ["CUDAGraph", "graph", "make_graphed_callables", "graph_pool_handle"]
)
def test_graphs_are_refused_with_the_reason(name):
    with pytest.raises(RuntimeError, match=f"cuda.{name}: .* memory pool gives memory .* to other"):
        getattr(cuda, name)(*[None] * (name == "graph"))


def test_no_stream_records_a_graph():
    assert cuda.is_current_stream_capturing() is False


def test_a_stream_of_another_library_is_found_by_its_address():
    cupy = pytest.importorskip("cupy")
    theirs = cupy.cuda.Stream(non_blocking=True)
    ours = cuda.get_stream_from_external(theirs.ptr)
    assert ours.cuda_stream == theirs.ptr == ours._as_parameter_.value == ours.__cuda_stream__()[1]


def test_the_memory_that_tensors_may_take_is_limited():
    before = cuda.get_per_process_memory_fraction()
    cuda.empty_cache()
    total = cuda.mem_get_info()[1]
    try:
        cuda.set_per_process_memory_fraction(0.01)
        assert cuda.get_per_process_memory_fraction() == pytest.approx(0.01)
        with pytest.raises(cuda.OutOfMemoryError, match="Out of memory"):
            dovetail.empty(total // 50, dtype=dovetail.uint8, device="cuda")
    finally:
        cuda.set_per_process_memory_fraction(1.0)
    assert before == cuda.get_per_process_memory_fraction() == 1.0
    with pytest.raises(ValueError, match=r"Invalid fraction value: 2\.0. Allowed range: 0~1"):
        cuda.set_per_process_memory_fraction(2.0)
    with pytest.raises(TypeError, match="Invalid type for fraction argument, must be `float`"):
        cuda.set_per_process_memory_fraction(1)


def test_statistics_of_memory_are_nested_and_have_old_names():
    x = dovetail.ones(1 << 10, device="cuda")
    nested = cuda.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == cuda.memory_allocated() >= x.nbytes
    with pytest.warns(FutureWarning, match="memory_cached has been renamed to .*memory_reserved"):
        assert cuda.memory_cached() == cuda.memory_reserved()
    with pytest.warns(FutureWarning, match="now calls dovetail.cuda.reset_peak_memory_stats"):
        cuda.reset_max_memory_allocated()


WAITING = {
    "item()": lambda x: x[0].item(),
    "bool": lambda x: bool(x.any()),
    "a copy to the host": lambda x: x.cpu(),
    "nonzero": lambda x: x.nonzero(),
    "where(condition)": lambda x: dovetail.where(x > 0),
    "indexing by a mask": lambda x: x[x > 0],
    "masked_select": lambda x: x.masked_select(x > 0),
}


@pytest.mark.parametrize("what", WAITING)
def test_calls_that_wait_for_the_device_are_found(what):
    x = dovetail.tensor([1.0, 0.0, 2.0], device="cuda")
    try:
        cuda.set_sync_debug_mode("warn")
        with pytest.warns(UserWarning, match="called a synchronizing CUDA operation: ") as told:
            WAITING[what](x)
        assert told[0].filename == __file__
        cuda.set_sync_debug_mode("error")
        assert cuda.get_sync_debug_mode() == 2
        with pytest.raises(RuntimeError, match=r"waits for the device. Keep values there, or"):
            WAITING[what](x)
        x.add_(1)
        cuda.synchronize()
    finally:
        cuda.set_sync_debug_mode(0)
    WAITING[what](x)
    with pytest.raises(RuntimeError, match="invalid value of debug_mode, expected one of"):
        cuda.set_sync_debug_mode("often")


def test_an_error_found_late_is_an_accelerator_error():
    x = dovetail.zeros(4, device="cuda")
    found = x[dovetail.tensor([7], device="cuda")]
    with pytest.raises(dovetail.AcceleratorError, match="index 7 is out of bounds") as raised:
        cuda.synchronize()
    assert isinstance(raised.value, IndexError | RuntimeError)
    assert found.tolist() == [0]


def test_kernels_are_compiled_for_architectures():
    names = cuda.get_arch_list()
    assert names
    assert all(name.startswith("sm_") for name in names)
    assert f"-gencode compute=compute_{names[0][3:]},code={names[0]}" in cuda.get_gencode_flags()


def test_every_device_has_a_generator():
    generators = cuda.default_generators
    assert len(generators) == cuda.device_count()
    assert [each.device.type for each in generators] == ["cuda"] * len(generators)


def test_a_range_may_end_elsewhere():
    cuda.nvtx.range_end(cuda.nvtx.range_start("from here"))
    with cuda.profiler.profile():
        dovetail.ones(1, device="cuda").exp()
    cuda.ipc_collect()


def test_what_the_management_library_tells_is_passed_on(monkeypatch):
    """Its functions are NVIDIA's; here those of a library with known answers."""
    memory = SimpleNamespace(used=3 << 30)
    processes = [SimpleNamespace(pid=7, usedGpuMemory=1 << 20)]
    library = SimpleNamespace(
        NVML_TEMPERATURE_GPU=0,
        NVML_CLOCK_SM=1,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByPciBusId=lambda address: address,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=40, memory=20),
        nvmlDeviceGetMemoryInfo=lambda handle: memory,
        nvmlDeviceGetTemperature=lambda handle, sensor: 50 + sensor,
        nvmlDeviceGetPowerUsage=lambda handle: 90_000,
        nvmlDeviceGetClockInfo=lambda handle, clock: 1000 + clock,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: processes,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert (cuda.utilization(), cuda.memory_usage("cuda:0")) == (40, 20)
    assert (cuda.device_memory_used(), cuda.temperature()) == (3 << 30, 50)
    assert (cuda.power_draw(), cuda.clock_rate()) == (90_000, 1001)
    assert cuda.list_gpu_processes() == "GPU:0\nprocess          7 uses 1.000 MB GPU memory"
    processes.clear()
    assert cuda.list_gpu_processes() == "GPU:0\nno processes are running"
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ModuleNotFoundError, match="Install it: pip install nvidia-ml-py"):
        cuda.temperature()
