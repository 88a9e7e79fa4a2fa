"""The activations as modules with a learnable parameter."""

from __future__ import annotations

import dovetail
from dovetail import Tensor, nn


class Squareplus(nn.Module):
    """Squareplus, a smooth rectifier: (x + sqrt(x² + b)) / 2.

    Parameters
    ----------
    b
        Initial value, at least 0, of what sets how wide the bend at zero is; 0 gives ReLU. The
        learnable parameter is its square root, so that b cannot become negative.

    Shape
    -----
    Any shape in, the same shape out.

    Raises
    ------
    ValueError
        If `b` is negative.
    """

    def __init__(self, b: float = 4.0) -> None:
        if b < 0:
            raise ValueError(
                f"b must not be negative, but is {b}: squareplus takes the root of x² + b."
            )
        super().__init__()
        self.root = nn.Parameter(dovetail.tensor(b**0.5))

    @property
    def b(self) -> Tensor:
        """The value of b now, a 0-d tensor."""
        return self.root * self.root

    def forward(self, x: Tensor) -> Tensor:
        """Return the activation of `x`."""
        result: Tensor = dovetail.ops.activations.squareplus(x, self.b)
        return result

    def extra_repr(self) -> str:
        """Return what ``repr`` shows inside the brackets."""
        return f"b={self.b.item():.3g}"


class Snake(nn.Module):
    """Snake, an activation that can learn periodic functions: x + sin²(a x) / a.

    Parameters
    ----------
    a
        Initial value of the learnable frequency; must not be zero.

    Shape
    -----
    Any shape in, the same shape out.

    Raises
    ------
    ValueError
        If `a` is zero.
    """

    def __init__(self, a: float = 1.0) -> None:
        if a == 0:
            raise ValueError(
                "a must not be zero: snake divides by it. The published initial values lie in 0.2 "
                "to 50."
            )
        super().__init__()
        self.a = nn.Parameter(dovetail.tensor(float(a)))

    def forward(self, x: Tensor) -> Tensor:
        """Return the activation of `x`."""
        result: Tensor = dovetail.ops.activations.snake(x, self.a)
        return result

    def extra_repr(self) -> str:
        """Return what ``repr`` shows inside the brackets."""
        return f"a={self.a.item():.3g}"
