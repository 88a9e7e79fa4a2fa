"""Steps of optimizers, of all elements of a parameter in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from .collection import Collection


def add_optimizers(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`."""
    real = m.real
    one = real(1)

    @loop(">f1 f1 >f1 >f1 f f f f f f")
    def adam(p, g, mean, squares, decay, shrink, beta1, beta2, eps, size):
        # `size` is that of the step and `eps` what is added to the root, both with the bias taken
        # out.
        for i in range(p.size):
            value = p[i] * shrink
            grad = g[i] + value * decay
            a = mean[i] + (grad - mean[i]) * (one - beta1)
            b = squares[i] * beta2 + (grad * grad) * (one - beta2)
            mean[i] = a
            squares[i] = b
            p[i] = value - size * (a / (np.sqrt(b) + eps))


__all__ = ["add_optimizers"]
