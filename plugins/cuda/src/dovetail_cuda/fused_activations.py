"""Activations and their gradients: one launch each."""

from __future__ import annotations

from typing import Any

from dovetail_aten.array_kernels.rectifiers import Rectifiers
from dovetail_aten.array_kernels.sigmoids import Sigmoids

from .device_code import pointwise

_LOGISTIC = "const W s = 1 / (1 + exp(-v));"
_TANH_GELU = """
const W root = (W)1.5957691216057308;  // 2 sqrt(2 / pi)
const W s = 1 / (1 + exp(-root * v * (1 + (W)0.044715 * v * v)));
"""
_FORWARD = {
    "sigmoid": f"{_LOGISTIC} y = (T)s;",
    "silu": f"{_LOGISTIC} y = (T)(v * s);",
    "gelu": "y = (T)(v * (W)0.5 * (1 + erf(v * (W)0.7071067811865476)));",
    "gelu_tanh": f"{_TANH_GELU} y = (T)(v * s);",
}
_BACKWARD = {
    "sigmoid_backward": "y = (T)(g * v * (1 - v));",
    "tanh_backward": "y = (T)(g * (1 - v * v));",
    "silu_backward": f"{_LOGISTIC} y = (T)(g * s * (1 + v * (1 - s)));",
    "gelu_backward": """
        const W share = (W)0.5 * (1 + erf(v * (W)0.7071067811865476));
        y = (T)(g * (share + v * (W)0.3989422804014327 * exp((W)-0.5 * v * v)));""",
    "gelu_tanh_backward": f"""{_TANH_GELU}
        const W inner = root * (1 + (W)0.134145 * v * v);
        y = (T)(g * s * (1 + v * (1 - s) * inner));""",
    "threshold_backward": "y = v <= WIDE(bound) ? (T)0 : grad;",
}


def _forward(name: str, x: Any) -> Any:
    return pointwise(name, "T x", "T y", f"const W v = WIDE(x); {_FORWARD[name]}")(x)


def _backward(name: str, grad: Any, x: Any) -> Any:
    code = f"const W v = WIDE(x), g = WIDE(grad); {_BACKWARD[name]}"
    return pointwise(name, "T grad, T x", "T y", code)(grad, x)


class FusedSigmoids(Sigmoids):
    """sigmoid, silu and gelu, and the gradient of tanh."""

    def _fit(self, *arrays: Any) -> bool:
        own = arrays[0].dtype
        same = all(each.dtype == own and each.shape == arrays[0].shape for each in arrays)
        return same and own in self.precision.real_floats

    def sigmoid(self, x: Any) -> Any:
        """Return ``1 / (1 + exp(-x))``."""
        return _forward("sigmoid", x) if self._fit(x) else Sigmoids.sigmoid(self, x)

    def sigmoid_backward(self, grad_output: Any, output: Any) -> Any:
        """Return the gradient of sigmoid, from its result."""
        if self._fit(grad_output, output):
            return _backward("sigmoid_backward", grad_output, output)
        return Sigmoids.sigmoid_backward(self, grad_output, output)

    def tanh_backward(self, grad_output: Any, output: Any) -> Any:
        """Return the gradient of tanh, from its result."""
        if self._fit(grad_output, output):
            return _backward("tanh_backward", grad_output, output)
        return Sigmoids.tanh_backward(self, grad_output, output)

    def silu(self, x: Any) -> Any:
        """Return ``x * sigmoid(x)``."""
        return _forward("silu", x) if self._fit(x) else Sigmoids.silu(self, x)

    def silu_backward(self, grad_output: Any, x: Any) -> Any:
        """Return the gradient of `silu`."""
        if self._fit(grad_output, x):
            return _backward("silu_backward", grad_output, x)
        return Sigmoids.silu_backward(self, grad_output, x)

    def exact_gelu(self, x: Any) -> Any:
        """Return x times the normal distribution function."""
        return _forward("gelu", x) if self._fit(x) else Sigmoids.exact_gelu(self, x)

    def gelu(self, x: Any, *, approximate: str = "none") -> Any:
        """Return x times the normal distribution function: exactly, or approximated by a tanh."""
        if not self._fit(x):
            return Sigmoids.gelu(self, x, approximate=approximate)
        return _forward("gelu_tanh" if self._is_tanh(approximate) else "gelu", x)

    def gelu_backward(self, grad_output: Any, x: Any, *, approximate: str = "none") -> Any:
        """Return the gradient of `gelu`."""
        if not self._fit(grad_output, x):
            return Sigmoids.gelu_backward(self, grad_output, x, approximate=approximate)
        name = "gelu_tanh_backward" if self._is_tanh(approximate) else "gelu_backward"
        return _backward(name, grad_output, x)


class FusedRectifiers(Rectifiers):
    """The gradient of relu."""

    def threshold_backward(self, grad_output: Any, x: Any, threshold: Any) -> Any:
        """Return `grad_output` where `x` is above `threshold`, else 0."""
        same = grad_output.dtype == x.dtype and grad_output.shape == x.shape
        if not same or x.dtype not in self.precision.real_floats:
            return Rectifiers.threshold_backward(self, grad_output, x, threshold)
        code = f"const W v = WIDE(x); {_BACKWARD['threshold_backward']}"
        kernel = pointwise("threshold_backward", "T grad, T x, T bound", "T y", code)
        return kernel(grad_output, x, self.numbers.like(x, threshold))
