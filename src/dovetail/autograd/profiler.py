"""Old names of the profiler, as in ``torch.autograd.profiler``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from dovetail_dispatcher import Observer, Span, Trace
from dovetail_kernel import PluginError, plugin_manager, publish

from ..profiler import record_function
from ..profiler.event_list import EventList
from ..profiler.events import FunctionEvent, FunctionEventAvg
from ..profiler.recording import Recording

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "emit_nvtx",
    "profile",
    "record_function",
]


class profile:
    """Context manager that records the operator calls of a block.

    Parameters
    ----------
    enabled
        Whether the context manager is active. Default: True.
    record_shapes, with_flops, profile_memory, with_stack
        What to record, as for `dovetail.profiler.profile`. Default: False.
    use_cuda, use_device, with_modules, use_kineto, use_cpu, experimental_config, acc_events, \
custom_trace_id_callback, post_processing_timeout_s, activity_filters
        Accepted and ignored.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: object = None,
        acc_events: bool = False,
        custom_trace_id_callback: object = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: object = None,
    ) -> None:
        self.enabled = enabled
        self._recording = Recording(
            shapes=record_shapes, memory=profile_memory, flops=with_flops, stack=with_stack
        )
        self._state = "new"
        self._with_stack = with_stack

    def __enter__(self) -> Self:
        if self.enabled:
            if self._state != "new":
                raise RuntimeError("Profiler context manager is not reentrant")
            self._state = "recording"
            self._recording.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self._recording.stop()
            self._state = "finished"

    def __repr__(self) -> str:
        finished = self._state == "finished"
        return repr(self.function_events) if finished else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self._state == "finished" else repr(self)

    @property
    def function_events(self) -> EventList:
        """An event for every call.

        Raises
        ------
        RuntimeError
            Before the block has ended.
        """
        if self._state != "finished":
            raise RuntimeError("Profiler didn't finish running: leave its block first")
        return self._recording.events()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all calls, in microseconds."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return the sums of all calls of each operator; see `EventList.key_averages`."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """Return all calls as a table; see `EventList.table`."""
        return self.function_events.table(sort_by, row_limit, **options)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all calls."""
        return self.function_events.total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Write a file for chrome://tracing or Perfetto."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks and times for a flame graph; needs `with_stack`."""
        if not self._with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


class _Ranges(Observer):
    """Opens a range of NVTX for every span."""

    def __init__(self, nvtx: Any) -> None:
        self._nvtx = nvtx

    def opened(self, span: Span, given: Sequence[Any]) -> None:
        self._nvtx.RangePush(span.name)

    def closed(self, span: Span, result: Any) -> None:
        self._nvtx.RangePop()


class emit_nvtx:
    """Context manager in which every operator call is an NVTX range for NVIDIA's tools.

    Parameters
    ----------
    enabled
        Whether the context manager is active. Default: True.
    record_shapes
        Accepted and ignored; ranges have the names of operators.

    Raises
    ------
    RuntimeError
        On entering, if there is no CUDA device.
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self._trace: Trace | None = None

    def __enter__(self) -> Self:
        if self.enabled:
            self._trace = Trace(_Ranges(_nvtx()))
            self._trace.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._trace is not None:
            self._trace.__exit__(kind, error, traceback)
            self._trace = None


def _nvtx() -> Any:
    try:
        plugin_manager.load_backend("cuda")
    except PluginError as error:
        raise RuntimeError(f"emit_nvtx needs a CUDA device: {error}") from error
    return import_module("cupy.cuda.nvtx")


publish(__name__)
