"""Activation functions and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .covering import over
from .dense_arrays import DOUBLE, SINGLE, elementwise, loops_for, run_over_lines

_ONE_PASS = 0.25
"""Nanoseconds an element in loops that are bound by the memory."""


def _of_elements(name: str, *, least: int, cost: float = 1.0) -> None:
    """Put a loop without further arguments over the operator that has its name."""

    def large(below: Any, *arrays: Any, out: Any = None) -> Any:
        made = elementwise(name, arrays, (), cost, out)
        return below(*arrays) if made is None else made

    large.__name__ = large.__qualname__ = name
    large.__doc__ = f"Return `{name}` of every element."
    over(name, least=least, writes=True)(large)


for _name, _least, _cost in (
    ("sigmoid", 1024, 0.8),
    ("sigmoid_backward", 1024, _ONE_PASS),
    ("tanh_backward", 1024, _ONE_PASS),
    ("silu", 1024, 0.8),
    ("silu_backward", 256, 1.0),
    ("mish", 256, 1.0),
    ("mish_backward", 256, 1.2),
    ("hardswish", 256, _ONE_PASS),
    ("hardswish_backward", 256, _ONE_PASS),
    ("hardsigmoid", 256, _ONE_PASS),
    ("hardsigmoid_backward", 256, _ONE_PASS),
):
    _of_elements(_name, least=_least, cost=_cost)


@over("gelu", least=256, writes=True)
def gelu(below: Any, x: Any, *, approximate: str = "none", out: Any = None) -> Any:
    """Return x times the normal distribution function, or its approximation by a tanh."""
    made = None
    if approximate in ("none", "tanh"):
        made = elementwise("gelu" if approximate == "none" else "gelu_tanh", (x,), out=out)
    return below(x, approximate=approximate) if made is None else made


@over("gelu_backward", least=256)
def gelu_backward(below: Any, grad_output: Any, x: Any, *, approximate: str = "none") -> Any:
    """Return the gradient of `gelu`."""
    made = None
    if approximate in ("none", "tanh"):
        name = "gelu_backward" if approximate == "none" else "gelu_tanh_backward"
        made = elementwise(name, (grad_output, x), cost=1.5)
    return below(grad_output, x, approximate=approximate) if made is None else made


@over("relu", least=1 << 16, writes=True)
def relu(below: Any, x: Any, out: Any = None) -> Any:
    """Return ``max(x, 0)``."""
    made = elementwise("relu", (x,), cost=_ONE_PASS, out=out)
    return below(x) if made is None else made


@over("threshold_backward", least=256)
def threshold_backward(below: Any, grad_output: Any, x: Any, threshold: Any) -> Any:
    """Return the gradient of `relu` and of `threshold`."""
    made = elementwise("threshold_backward", (grad_output, x), (threshold,), _ONE_PASS)
    return below(grad_output, x, threshold) if made is None else made


@over("hardtanh", least=1 << 16, writes=True)
def hardtanh(below: Any, x: Any, min_val: Any = -1, max_val: Any = 1, out: Any = None) -> Any:
    """Return ``min(max(x, min_val), max_val)``."""
    made = None
    if min_val <= max_val:
        made = elementwise("clamp", (x,), (min_val, max_val), _ONE_PASS, out)
    return below(x, min_val, max_val) if made is None else made


@over("clamp", least=1 << 16)
def clamp(below: Any, x: Any, min: Any = None, max: Any = None) -> Any:
    """Return ``min(max(x, min), max)``."""
    made = None
    if isinstance(min, (int, float)) and isinstance(max, (int, float)) and min <= max:
        made = elementwise("clamp", (x,), (min, max), _ONE_PASS)
    return below(x, min, max) if made is None else made


@over("hardtanh_backward", least=256)
def hardtanh_backward(below: Any, grad_output: Any, x: Any, min_val: Any, max_val: Any) -> Any:
    """Return the gradient of `hardtanh`."""
    made = elementwise("hardtanh_backward", (grad_output, x), (min_val, max_val), _ONE_PASS)
    return below(grad_output, x, min_val, max_val) if made is None else made


@over("leaky_relu", least=256, writes=True)
def leaky_relu(below: Any, x: Any, negative_slope: Any = 0.01, out: Any = None) -> Any:
    """Return `x` where it is positive, else ``negative_slope * x``."""
    made = elementwise("leaky_relu", (x,), (negative_slope,), _ONE_PASS, out)
    return below(x, negative_slope) if made is None else made


@over("leaky_relu_backward", least=256)
def leaky_relu_backward(
    below: Any, grad_output: Any, x: Any, negative_slope: Any, self_is_result: bool
) -> Any:
    """Return the gradient of `leaky_relu`."""
    made = None
    if not self_is_result:
        made = elementwise("leaky_relu_backward", (grad_output, x), (negative_slope,), _ONE_PASS)
    if made is None:
        return below(grad_output, x, negative_slope, self_is_result)
    return made


@over("softplus", least=256)
def softplus(below: Any, x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    """Return ``log(1 + exp(beta * x)) / beta``, and `x` where ``beta * x`` is above `threshold`."""
    made = elementwise("softplus", (x,), (beta, threshold), 1.7) if beta > 0 else None
    return below(x, beta, threshold) if made is None else made


@over("softplus_backward", least=256)
def softplus_backward(below: Any, grad_output: Any, x: Any, beta: Any, threshold: Any) -> Any:
    """Return the gradient of `softplus`."""
    made = elementwise("softplus_backward", (grad_output, x), (beta, threshold), 1.2)
    return below(grad_output, x, beta, threshold) if made is None else made


@over("log_sigmoid_forward", least=256)
def log_sigmoid_forward(below: Any, x: Any) -> Any:
    """Return ``log(sigmoid(x))``, and ``exp(-abs(x))``."""
    if x.dtype not in (SINGLE, DOUBLE) or not (x.flags.c_contiguous and x.flags.aligned):
        return below(x)
    out, buffer = np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype)
    lines = [buffer.reshape(-1), x.reshape(-1)]
    run_over_lines(loops_for(x.dtype).log_sigmoid, out.reshape(-1), lines, (), 1.9)
    return out, buffer


@over("log_sigmoid_backward", least=1024, counted=1)
def log_sigmoid_backward(below: Any, grad_output: Any, x: Any, buffer: Any) -> Any:
    """Return the gradient of `log_sigmoid_forward`."""
    made = elementwise("log_sigmoid_backward", (grad_output, x))
    return below(grad_output, x, buffer) if made is None else made


@over("elu", least=256, writes=True)
def elu(
    below: Any, x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1, out: Any = None
) -> Any:
    """Return ``scale * x``, and ``scale * alpha * (exp(input_scale * x) - 1)`` of the negative."""
    made = elementwise("elu", (x,), (alpha * scale, input_scale, scale), 1.2, out)
    return below(x, alpha, scale, input_scale) if made is None else made


@over("celu", least=256, writes=True)
def celu(below: Any, x: Any, alpha: Any = 1.0, out: Any = None) -> Any:
    """Return `x`, and ``alpha * (exp(x / alpha) - 1)`` of the negative."""
    made = elementwise("elu", (x,), (alpha, 1 / alpha, 1), 1.2, out) if alpha else None
    return below(x, alpha) if made is None else made


@over("elu_backward", least=256)
def elu_backward(
    below: Any,
    grad_output: Any,
    alpha: Any,
    scale: Any,
    input_scale: Any,
    is_result: bool,
    self_or_result: Any,
) -> Any:
    """Return the gradient of `elu`, from its input or its result."""
    made = None
    if not is_result or alpha >= 0:
        name = "elu_backward_of_result" if is_result else "elu_backward"
        arrays = (grad_output, self_or_result)
        made = elementwise(name, arrays, (alpha * scale, input_scale, scale), 1.2)
    if made is None:
        return below(grad_output, alpha, scale, input_scale, is_result, self_or_result)
    return made
