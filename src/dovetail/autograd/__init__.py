"""Automatic differentiation, as ``torch.autograd``."""

import typing as _typing
from importlib import import_module as _import_module

from dovetail_aten import Tensor
from dovetail_autograd import (
    Function,
    GradcheckError,
    backward,
    detect_anomaly,
    enable_grad,
    grad,
    gradcheck,
    gradgradcheck,
    graph,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)

from . import function

if _typing.TYPE_CHECKING:
    from . import forward_ad, functional

Variable = Tensor
"""The old name for a Tensor."""

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def __getattr__(name: str) -> _typing.Any:
    if name in ("forward_ad", "functional"):  # imported when first asked for
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
