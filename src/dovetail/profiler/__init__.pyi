from .annotation import record_function as record_function
from .profiler import ProfilerActivity as ProfilerActivity
from .profiler import profile as profile
from .profiler import supported_activities as supported_activities
from .profiler import tensorboard_trace_handler as tensorboard_trace_handler
from .schedules import ProfilerAction as ProfilerAction
from .schedules import schedule as schedule

def kineto_available() -> bool: ...
