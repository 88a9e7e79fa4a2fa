"""Functions on the parameters of a model and their gradients, as ``torch.nn.utils``; what most
programs don't use loads when first asked for.

May import `module`, `parameter`, `containers` and `init` of `nn`, and the packages below.
"""

import typing as _typing

from .clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

if _typing.TYPE_CHECKING:
    from . import parametrizations, parametrize, rnn

_SUBMODULES = ("parametrizations", "parametrize", "rnn")

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> _typing.Any:
        from importlib import import_module

        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
