"""Functions on the parameters of a model and their gradients, as ``torch.nn.utils``; what most
programs don't use loads when first asked for.

May import `module`, `parameter`, `containers`, `convolution` and `functional` of `nn`, and the
packages below.
"""

import typing as _typing

from ...names.missing import names_of as _names_of
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
    from . import parametrizations, parametrize, rnn, stateless
    from . import prune as prune
    from .fusion import (
        fuse_conv_bn_eval,
        fuse_conv_bn_weights,
        fuse_linear_bn_eval,
        fuse_linear_bn_weights,
    )
    from .init import skip_init
    from .memory_format import (
        convert_conv2d_weight_memory_format,
        convert_conv3d_weight_memory_format,
    )

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    _MODULE_OF = {
        "convert_conv2d_weight_memory_format": "memory_format",
        "convert_conv3d_weight_memory_format": "memory_format",
        "fuse_conv_bn_eval": "fusion",
        "fuse_conv_bn_weights": "fusion",
        "fuse_linear_bn_eval": "fusion",
        "fuse_linear_bn_weights": "fusion",
        "skip_init": "init",
    }
    __getattr__ = _names_of(
        __name__,
        (
            "fusion",
            "init",
            "memory_format",
            "parametrizations",
            "parametrize",
            "prune",
            "rnn",
            "stateless",
        ),
        {name: f"{__name__}.{module}" for name, module in _MODULE_OF.items()},
    )
