"""Automatic differentiation, as ``torch.autograd``: what `dovetail_autograd` offers.

May import the packages below.
"""

import typing as _typing

from dovetail_autograd import (
    Function,
    backward,
    detect_anomaly,
    enable_grad,
    grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
    set_multithreading_enabled,
)

from ..names.missing import names_of as _names_of
from . import function, grad_mode, graph
from .gradcheck import GradcheckError, gradcheck, gradgradcheck  # a module, and its function
from .variable import Variable

if _typing.TYPE_CHECKING:
    from . import anomaly_mode, engine, forward_ad, functional, profiler, profiler_util

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "engine",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(
        __name__,
        (
            *("anomaly_mode", "engine", "forward_ad", "functional", "profiler"),
            "profiler_util",
        ),
    )
