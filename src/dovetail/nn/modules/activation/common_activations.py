"""Activation functions as modules; they are elementwise unless stated otherwise."""

from __future__ import annotations

from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from ... import functional as F
from ... import init
from ...parameter import Parameter
from ..module import Module


class _InPlace(Module):
    """A function of the input alone, which may be written into it: ``inplace``."""

    _function: ClassVar[str]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(F, self._function)(input, self.inplace)
        return result

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class _OfAlpha(Module):
    """A function with a factor ``alpha``, in place if ``inplace``."""

    _function: ClassVar[str]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(F, self._function)(input, self.alpha, self.inplace)
        return result

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{_inplace_text(self.inplace)}"


class _AlongDim(Module):
    """A function along a dimension."""

    _function: ClassVar[str]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = getattr(F, self._function)(input, self.dim)
        return result

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


def _inplace_text(inplace: bool) -> str:
    """Return the end of an `extra_repr`."""
    return ", inplace=True" if inplace else ""


class ReLU(_InPlace):
    """``maximum(input, 0)``, in place if ``inplace``."""

    _function = "relu"


class PReLU(Module):
    """``input`` where positive, else ``weight * input``, with learned slopes.

    Parameters
    ----------
    num_parameters : int, default 1
        1, or the number of channels (dimension 1 of the input).
    init : float, default 0.25
        The initial slopes.
    device, dtype : optional
        Of the parameter.
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(aten.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to ``init``."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Sigmoid(Module):
    """``1 / (1 + exp(-input))``."""

    def forward(self, input: Tensor) -> Tensor:
        return aten.sigmoid(input)


class LogSigmoid(Module):
    """``log(sigmoid(input))``, computed stably."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return aten.tanh(input)


class GELU(Module):
    """``input * Φ(input)``; ``approximate`` is 'none' or 'tanh'."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class SiLU(_InPlace):
    """``input * sigmoid(input)``, in place if ``inplace``."""

    _function = "silu"


class LeakyReLU(Module):
    """``input`` where positive, else ``negative_slope * input``; ``inplace``: written into the
    input.
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{_inplace_text(self.inplace)}"


class ELU(_OfAlpha):
    """``input`` where positive, else ``alpha * (exp(input) - 1)``; ``inplace``: written into the
    input.
    """

    _function = "elu"


class Softplus(Module):
    """``log(1 + exp(beta * input)) / beta``; the input itself where ``beta * input`` exceeds
    ``threshold``.
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(_AlongDim):
    """``exp(input)`` normalised to sum 1 over ``dim``; omitting ``dim`` is deprecated."""

    _function = "softmax"


class LogSoftmax(_AlongDim):
    """The logarithm of `Softmax`, computed stably."""

    _function = "log_softmax"
