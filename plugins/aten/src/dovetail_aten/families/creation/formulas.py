"""Derivatives of complex numbers made of real ones."""

from __future__ import annotations

from typing import Any

from ...typing import Namespace, TensorLike


def real_part(k: Namespace, grad: TensorLike) -> Any:
    """Return the real part of a complex gradient."""
    return k.select(k.view_as_real(grad), -1, 0)


def imaginary_part(k: Namespace, grad: TensorLike) -> Any:
    """Return the imaginary part of a complex gradient."""
    return k.select(k.view_as_real(grad), -1, 1)


def polar_abs_backward(k: Namespace, grad: TensorLike, angle: object) -> Any:
    """Return the gradient of the length: the part of `grad` in the direction of the angle."""
    return k.add(
        k.mul(real_part(k, grad), k.cos(angle)), k.mul(imaginary_part(k, grad), k.sin(angle))
    )
