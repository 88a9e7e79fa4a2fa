"""More activation functions as modules: piecewise, random, gated, and softmax of channels."""

from __future__ import annotations

from dovetail_aten import Tensor
from dovetail_kernel import warn_user

from ... import functional as F
from ..module import Module
from .common_activations import _AlongDim, _InPlace, _inplace_text, _OfAlpha


class SELU(_InPlace):
    """The function `functional.selu`, in place if ``inplace``."""

    _function = "selu"


class Mish(_InPlace):
    """The function `functional.mish`, in place if ``inplace``."""

    _function = "mish"


class Hardswish(_InPlace):
    """The function `functional.hardswish`, in place if ``inplace``."""

    _function = "hardswish"

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_InPlace):
    """The function `functional.hardsigmoid`, in place if ``inplace``."""

    _function = "hardsigmoid"

    def extra_repr(self) -> str:
        return ""


class Hardtanh(Module):
    """The input limited to ``[min_val, max_val]``, in place if ``inplace``.

    ``min_value`` and ``max_value`` are deprecated names of these arguments.

    Raises
    ------
    AssertionError
        If ``max_val`` is not greater than ``min_val``.
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            _warn_of_name("min_value", "min_val")
            min_val = min_value
        if max_value is not None:
            _warn_of_name("max_value", "max_val")
            max_val = max_value
        if not max_val > min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + _inplace_text(self.inplace)


def _warn_of_name(old: str, new: str) -> None:
    warn_user(f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning)


class ReLU6(Hardtanh):
    """The input limited to ``[0, 6]``, in place if ``inplace``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class CELU(_OfAlpha):
    """The function `functional.celu`, in place if ``inplace``."""

    _function = "celu"


class Threshold(Module):
    """The input where it is greater than ``threshold``, else ``value``; ``inplace``: written into
    the input.
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + _inplace_text(self.inplace)


class RReLU(Module):
    """``input`` where positive, else ``slope * input``, in place if ``inplace``.

    In training, slopes are random numbers between ``lower`` and ``upper``.
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + _inplace_text(self.inplace)


class GLU(Module):
    """The first half of the input along ``dim`` times the sigmoid of the second."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """0 if ``|input|`` is at most ``lambd``, else the input."""

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """The input moved towards 0 by ``lambd``, stopping at 0."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Softsign(Module):
    """``input / (1 + |input|)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``input - tanh(input)``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softmin(_AlongDim):
    """`Softmax` of the negative input; omitting ``dim`` is deprecated."""

    _function = "softmin"


class Softmax2d(Module):
    """`Softmax` over the channels of ``(N, C, H, W)`` or ``(C, H, W)``."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3)
