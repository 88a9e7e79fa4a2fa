"""Dispatch keys, sets of them, and the dispatch state of the running task.

May import `devices` and what lies below.
"""

from .guard import SettingGuard
from .interception import NOT_PLAIN, PYTHON_DISPATCH, PYTHON_KEYS, is_used, without_python
from .state import (
    AUTOGRAD_KEYS,
    STATE,
    StateGuard,
    Transition,
    below_ad_inplace_or_view,
    below_autograd,
    functions_as_they_are,
    grad_mode_off,
    grad_mode_on,
    inference_mode_off,
    inference_mode_on,
    inside_recorded,
    inside_transform,
    intern_state,
    known_state,
    outside_inference_mode,
    tracing_off,
    tracing_on,
)

__all__ = [
    "AUTOGRAD_KEYS",
    "NOT_PLAIN",
    "PYTHON_DISPATCH",
    "PYTHON_KEYS",
    "STATE",
    "SettingGuard",
    "StateGuard",
    "Transition",
    "below_ad_inplace_or_view",
    "below_autograd",
    "functions_as_they_are",
    "grad_mode_off",
    "grad_mode_on",
    "inference_mode_off",
    "inference_mode_on",
    "inside_recorded",
    "inside_transform",
    "intern_state",
    "is_used",
    "known_state",
    "outside_inference_mode",
    "tracing_off",
    "tracing_on",
    "without_python",
]
