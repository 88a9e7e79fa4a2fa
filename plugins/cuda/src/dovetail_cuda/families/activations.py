"""Activations and their gradients: one launch each."""

from __future__ import annotations

from typing import Any

from dovetail_aten.families import GatedUnits, HardActivations, Rectifiers, Sigmoids
from dovetail_aten.kernel_support import Family
from dovetail_aten.typing import Array

from ..kernel_support.device_code import pointwise

_LOGISTIC = "const W s = 1 / (1 + exp(-v));"
_TANH_GELU = """
const W root = (W)1.5957691216057308;  // 2 sqrt(2 / pi)
const W s = 1 / (1 + exp(-root * v * (1 + (W)0.044715 * v * v)));
"""
_GATE = """
const W power = exp(v > 20 ? (W)20 : v), square = power * (power + 2);
const W gate = square / (square + 2);
"""
_FORWARD = {
    "sigmoid": f"{_LOGISTIC} y = (T)s;",
    "silu": f"{_LOGISTIC} y = (T)(v * s);",
    "gelu": "y = (T)(v * (W)0.5 * (1 + erf(v * (W)0.7071067811865476)));",
    "gelu_tanh": f"{_TANH_GELU} y = (T)(v * s);",
    "softplus": """
        const W scaled = v * (W)beta;
        y = scaled > (W)threshold ? x : (T)(log1p(exp(scaled)) / (W)beta);""",
    "log_sigmoid": "const W p = exp(-abs(v)); y = (T)((v > 0 ? (W)0 : v) - log1p(p)); of = (T)p;",
    "hardswish": """
        const W up = v + 3;
        y = (T)(v * (up < 0 ? (W)0 : up > 6 ? (W)6 : up) / 6);""",
    "mish": f"{_GATE} y = (T)(v * gate);",
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
    "softplus_backward": """
        const W scaled = v * (W)beta;
        y = scaled > (W)threshold ? grad : (T)(g / (1 + exp(-scaled)));""",
    "log_sigmoid_backward": "y = (T)(g / (1 + exp(v)));",
    "hardswish_backward": """
        y = v <= (W)-3 ? (T)0 : v < (W)3 ? (T)(g * (v / 3 + (W)0.5)) : (T)g;""",
    "mish_backward": f"""{_GATE}
        y = (T)(g * (gate + v * (power / (power + 1)) * (1 - gate * gate)));""",
    "threshold_backward": "y = v <= WIDE(bound) ? (T)0 : grad;",
}


def _forward(name: str, x: Array, *more: float, names: str = "", results: str = "T y") -> Any:
    code = f"const W v = WIDE(x); {_FORWARD[name]}"
    return pointwise(name, f"T x{names}", results, code)(x, *more)


def _backward(name: str, grad: Array, x: Array, *more: float, names: str = "") -> Any:
    code = f"const W v = WIDE(x), g = WIDE(grad); {_BACKWARD[name]}"
    return pointwise(name, f"T grad, T x{names}", "T y", code)(grad, x, *more)


_SOFTPLUS = ", float64 beta, float64 threshold"


class _OfOneDtype(Family):
    def _fit(self, *arrays: Any) -> bool:
        """Return whether the arrays are floats of one dtype and shape."""
        own = arrays[0].dtype
        same = all([each.dtype == own and each.shape == arrays[0].shape for each in arrays])
        return same and own in self.precision.real_floats


class FusedSigmoids(_OfOneDtype, Sigmoids):
    """sigmoid, silu, gelu, softplus and the logarithm of sigmoid, and the gradient of tanh."""

    def sigmoid(self, x: Array) -> Any:
        """Return ``1 / (1 + exp(-x))``."""
        return _forward("sigmoid", x) if self._fit(x) else Sigmoids.sigmoid(self, x)

    def sigmoid_backward(self, grad_output: Array, output: Array) -> Any:
        """Return the gradient of sigmoid, from its result."""
        if self._fit(grad_output, output):
            return _backward("sigmoid_backward", grad_output, output)
        return Sigmoids.sigmoid_backward(self, grad_output, output)

    def tanh_backward(self, grad_output: Array, output: Array) -> Any:
        """Return the gradient of tanh, from its result."""
        if self._fit(grad_output, output):
            return _backward("tanh_backward", grad_output, output)
        return Sigmoids.tanh_backward(self, grad_output, output)

    def silu(self, x: Array) -> Any:
        """Return ``x * sigmoid(x)``."""
        return _forward("silu", x) if self._fit(x) else Sigmoids.silu(self, x)

    def silu_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of `silu`."""
        if self._fit(grad_output, x):
            return _backward("silu_backward", grad_output, x)
        return Sigmoids.silu_backward(self, grad_output, x)

    def exact_gelu(self, x: Array) -> Any:
        """Return x times the normal distribution function."""
        return _forward("gelu", x) if self._fit(x) else Sigmoids.exact_gelu(self, x)

    def gelu(self, x: Array, *, approximate: str = "none") -> Any:
        """Return x times the normal distribution function: exactly, or approximated by a tanh."""
        if not self._fit(x):
            return Sigmoids.gelu(self, x, approximate=approximate)
        return _forward("gelu_tanh" if self._is_tanh(approximate) else "gelu", x)

    def gelu_backward(self, grad_output: Array, x: Array, *, approximate: str = "none") -> Any:
        """Return the gradient of `gelu`."""
        if not self._fit(grad_output, x):
            return Sigmoids.gelu_backward(self, grad_output, x, approximate=approximate)
        name = "gelu_tanh_backward" if self._is_tanh(approximate) else "gelu_backward"
        return _backward(name, grad_output, x)

    def softplus(self, x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
        """Return ``log(1 + exp(beta * x)) / beta``, and `x` where ``beta * x`` is above
        `threshold`.
        """
        if not self._fit(x):
            return Sigmoids.softplus(self, x, beta, threshold)
        return _forward("softplus", x, float(beta), float(threshold), names=_SOFTPLUS)

    def softplus_backward(self, grad_output: Array, x: Array, beta: Any, threshold: Any) -> Any:
        """Return the gradient of `softplus`."""
        if not self._fit(grad_output, x):
            return Sigmoids.softplus_backward(self, grad_output, x, beta, threshold)
        numbers = float(beta), float(threshold)
        return _backward("softplus_backward", grad_output, x, *numbers, names=_SOFTPLUS)

    def log_sigmoid_forward(self, x: Array) -> tuple[Any, Any]:
        """Return ``log(sigmoid(x))``, and ``exp(-abs(x))``."""
        if not self._fit(x):
            return Sigmoids.log_sigmoid_forward(self, x)
        result, power = _forward("log_sigmoid", x, results="T y, T of")
        return result, power

    def log_sigmoid_backward(self, grad_output: Array, x: Array, buffer: object) -> Any:
        """Return the gradient of log_sigmoid."""
        if not self._fit(grad_output, x):
            return Sigmoids.log_sigmoid_backward(self, grad_output, x, buffer)
        return _backward("log_sigmoid_backward", grad_output, x)


class FusedGatedUnits(_OfOneDtype, GatedUnits):
    """mish."""

    def mish(self, x: Array) -> Any:
        """Return ``x * tanh(softplus(x))``."""
        return _forward("mish", x) if self._fit(x) else GatedUnits.mish(self, x)

    def mish_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of `mish`."""
        if not self._fit(grad_output, x):
            return GatedUnits.mish_backward(self, grad_output, x)
        return _backward("mish_backward", grad_output, x)


class FusedHardActivations(_OfOneDtype, HardActivations):
    """hardswish."""

    def hardswish(self, x: Array) -> Any:
        """Return ``x * min(max(x + 3, 0), 6) / 6``."""
        return _forward("hardswish", x) if self._fit(x) else HardActivations.hardswish(self, x)

    def hardswish_backward(self, grad_output: Array, x: Array) -> Any:
        """Return the gradient of `hardswish`."""
        if not self._fit(grad_output, x):
            return HardActivations.hardswish_backward(self, grad_output, x)
        return _backward("hardswish_backward", grad_output, x)


class FusedRectifiers(Rectifiers):
    """The gradient of relu."""

    def threshold_backward(self, grad_output: Array, x: Array, threshold: Any) -> Any:
        """Return `grad_output` where `x` is above `threshold`, else 0."""
        same = grad_output.dtype == x.dtype and grad_output.shape == x.shape
        if not same or x.dtype not in self.precision.real_floats:
            return Rectifiers.threshold_backward(self, grad_output, x, threshold)
        code = f"const W v = WIDE(x); {_BACKWARD['threshold_backward']}"
        kernel = pointwise("threshold_backward", "T grad, T x, T bound", "T y", code)
        return kernel(grad_output, x, self.numbers.like(x, threshold))
