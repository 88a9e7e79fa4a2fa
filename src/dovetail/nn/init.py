"""Initial values of parameters; every function fills a tensor in place, without recording a graph,
and returns it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dovetail_aten import Generator, Tensor
from dovetail_autograd import no_grad
from dovetail_dispatcher import overridable

if TYPE_CHECKING:
    from dovetail_aten import Generator

__all__ = [
    "calculate_gain",
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = {
    *(
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
    ),
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended gain for a nonlinearity.

    Parameters
    ----------
    nonlinearity : str
        'linear', 'conv1d' … 'conv_transpose3d', 'sigmoid' (1), 'tanh' (5/3), 'relu' (√2),
        'leaky_relu', 'selu' (3/4).
    param : float, optional
        The negative slope of 'leaky_relu', default 0.01.

    Raises
    ------
    ValueError
        For an unknown nonlinearity or a negative slope that is not a number.
    """
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {slope} not a valid number. Pass an int or a float.")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    known = ", ".join(sorted(_LINEAR | {"tanh", "relu", "leaky_relu", "selu"}))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}. Use one of: {known}.")


@no_grad()
def _unrecorded(method: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    return method(*args, **kwargs)


@overridable
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn uniformly from [a, b)."""
    return _unrecorded(tensor.uniform_, a, b, generator=generator)


@overridable
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with values drawn from the normal distribution."""
    return _unrecorded(tensor.normal_, mean, std, generator=generator)


@overridable
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with ``val``."""
    return _unrecorded(tensor.fill_, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, "
            f"but this one has shape {tuple(tensor.shape)}. Use uniform_ or normal_ with your own "
            "bounds."
        )
    outputs, inputs, *kernel = tensor.shape
    receptive_field = math.prod(kernel)
    return inputs * receptive_field, outputs * receptive_field


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill uniformly within ``± gain * sqrt(6 / (fan_in + fan_out))``; ``tensor`` has at least 2
    dimensions.
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill normally with ``std = gain * sqrt(2 / (fan_in + fan_out))``; ``tensor`` has at least 2
    dimensions.
    """
    return normal_(
        tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator
    )


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fans = _calculate_fan_in_and_fan_out(tensor)
    fan = fans[0] if mode.lower() == "fan_in" else fans[1]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


@overridable
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill uniformly within ``± gain * sqrt(3 / fan)``.

    Parameters
    ----------
    tensor : Tensor
        At least 2-dimensional, ``(out, in, *kernel)``.
    a : float, default 0
        The negative slope of 'leaky_relu'.
    mode : {'fan_in', 'fan_out'}
        Which fan to use: keep the variance of forward, or of backward.
    nonlinearity : str, default 'leaky_relu'
        As in `calculate_gain`.
    generator : Generator, optional
        Source of random numbers.

    Raises
    ------
    ValueError
        For fewer than 2 dimensions, an unknown mode or nonlinearity.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill normally with ``std = gain / sqrt(fan)``; arguments and errors as in
    `kaiming_uniform_`.
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)
