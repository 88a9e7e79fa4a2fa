"""Lists of profiler events, as in ``torch.autograd.profiler_util``."""

from ..profiler.event_list import EventList
from ..profiler.events import FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]
