"""`profile`: records the operator calls of a program, or of chosen steps of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path
from typing import Any, Self

from dovetail_dispatcher import Annotation
from dovetail_kernel import warn_user

from .event_list import EventList
from .recording import Recording
from .schedules import ProfilerAction, schedule

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class ProfilerActivity(Enum):
    """Activities that can be requested."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """Return the supported activities: the CPU."""
    return {ProfilerActivity.CPU}


class profile:
    """Context manager that records operator calls, forward and backward, with time and memory.

    Parameters
    ----------
    activities
        What to record. Activities other than the CPU are ignored with a warning; for an
        asynchronous device, the launch time is measured. Default: the CPU.
    schedule
        A function from the step number to the action, as returned by `schedule`. Default: record
        all steps.
    on_trace_ready
        Called with the profile after each recording period. Default: none.
    record_shapes
        Whether to record the arguments of calls. Default: False.
    profile_memory
        Whether to count the memory of the tensors that calls make and free. Default: False.
    with_stack
        Whether to record the program's stack for each call. Default: False.
    with_flops
        Whether to estimate floating-point operations of matrix products, convolutions, and
        elementwise sums and products. Default: False.
    with_modules, experimental_config, execution_trace_observer, custom_trace_id_callback, \
post_processing_timeout_s
        Accepted and ignored.
    acc_events
        Whether `events` includes all recording periods instead of only the last. Default: False.
    use_cuda
        The old name of an activity; True warns.

    Raises
    ------
    AssertionError
        If no activity is left.

    Notes
    -----
    While recording, backward uses the formulas over tensors, and every call takes some microseconds
    more, which are excluded from the times. There is no overhead before and after.

    Examples
    --------
    ::

        with profile(schedule=schedule(wait=1, warmup=1, active=3)) as prof:
            for batch in batches:
                train(batch)
                prof.step()
        print(prof.key_averages().table(sort_by="self_cpu_time_total"))
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., object] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: object = None,
        execution_trace_observer: object = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = _measured(activities, use_cuda)
        self.schedule = schedule if schedule is not None else _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._metadata: dict[str, Any] = {}
        self._recording: Recording | None = None
        self._finished: list[Recording] = []
        self._step: Annotation | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the first step."""
        self.current_action = self.schedule(self.step_num)
        if self.current_action in _RECORDING:
            self._record()
        self._begin_step()

    def stop(self) -> None:
        """End the last step, and the profile."""
        self._end_step()
        if self._recording is not None:
            self._save()

    def step(self) -> None:
        """End a step and begin the next."""
        self._end_step()
        done = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if self._recording is not None and (
            done is ProfilerAction.RECORD_AND_SAVE or self.current_action not in _RECORDING
        ):
            self._save()
        if self._recording is None and self.current_action in _RECORDING:
            self._record()
        self._begin_step()

    def events(self) -> EventList:
        """Return an event for every call, each before those inside.

        Raises
        ------
        AssertionError
            If nothing is recorded yet.
        """
        if not self._finished:
            raise AssertionError(
                "Profiler must be initialized before accessing events: enter it, and leave it, or "
                "pass a step that is recorded"
            )
        chosen = self._finished if self.acc_events else self._finished[-1:]
        return EventList(
            [event for recording in chosen for event in recording.events()],
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
        )

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return the sums of all calls of each operator; see `EventList.key_averages`."""
        return self.events().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write a file for chrome://tracing, Perfetto or TensorBoard.

        Parameters
        ----------
        path
            The file; compressed if it ends in ``.gz``.

        Raises
        ------
        AssertionError
            If nothing is recorded yet.
        """
        self.events().export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks and times for a flame graph; see `EventList.export_stacks`.

        Raises
        ------
        AssertionError
            If the profiler was created without `with_stack`.
        """
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the exported files."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add JSON data to the exported files."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Add JSON data to the exported files."""
        self.add_metadata_json(key, value)

    def _record(self) -> None:
        self._recording = Recording(
            shapes=self.record_shapes,
            memory=self.profile_memory,
            flops=self.with_flops,
            stack=self.with_stack,
        )
        self._recording.start()

    def _save(self) -> None:
        assert self._recording is not None
        self._recording.stop()
        self._finished = [*self._finished * self.acc_events, self._recording]
        self._recording = None
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _begin_step(self) -> None:
        if self.record_steps and self._recording is not None:
            self._step = Annotation(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """Return a handler that writes each recording period to a folder for TensorBoard's plugin.

    Parameters
    ----------
    dir_name
        The folder, which is created if necessary.
    worker_name
        Prefix of the files. Default: host and process.
    use_gzip
        Whether to compress them. Default: False.
    use_python_export
        Accepted and ignored.
    """

    def handler(prof: profile) -> None:
        import os
        import socket
        import time

        Path(dir_name).mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * use_gzip}"
        prof.export_chrome_trace(str(Path(dir_name) / name))

    return handler


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def _measured(
    activities: Iterable[ProfilerActivity] | None, use_cuda: bool | None
) -> set[ProfilerActivity]:
    """Return which of the activities are measured."""
    wanted = supported_activities() if activities is None else set(activities)
    if use_cuda:
        wanted.add(ProfilerActivity.CUDA)
    others = sorted([each.name for each in wanted - supported_activities()])
    if others:
        warn_user(
            f"{' and '.join(others)} cannot be profiled: of operators on such a device the time of "
            "the launch is measured. Call synchronize() of the device where times are compared."
        )
    measured = wanted & supported_activities()
    if not measured:
        raise AssertionError("No valid profiler activities found. Add ProfilerActivity.CPU.")
    return measured
