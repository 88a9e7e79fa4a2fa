"""Timing of statements and tables of the results, as in ``torch.utils.benchmark``.

::

    from dovetail.utils import benchmark

    timer = benchmark.Timer("x @ x", globals={"x": dovetail.rand(64, 64)}, sub_label="64")
    print(timer.blocked_autorange())
"""

from dovetail_kernel import publish

from .compare import Compare
from .measurement import Measurement, TaskSpec
from .timer import Timer, timer
from .units import ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = [
    "Compare",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]

publish(__name__)
