"""Time and memory by operator, as ``torch.profiler``: over the traces of the dispatcher, which cost
nothing while none is on.

::

    from dovetail.profiler import profile, record_function

    with profile(record_shapes=True, profile_memory=True) as prof:
        with record_function("forward"):
            loss = model(x).sum()
        loss.backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    prof.export_chrome_trace("step.json")

May import the packages below dovetail, and nothing of it.
"""

import typing as _typing

from ..names.missing import names_of as _names_of
from .annotation import record_function
from .profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """Return True: `profile` is there. Calls are observed in Python, not by Kineto."""
    return True


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)
