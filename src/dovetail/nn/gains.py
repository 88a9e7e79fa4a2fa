"""Gains of nonlinearities, and fan-in and fan-out, for the initial values of weights."""

from __future__ import annotations

import math

from dovetail_aten import Tensor

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
    )
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
        return 1
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


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode.lower() == "fan_in" else fan_out
