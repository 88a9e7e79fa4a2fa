"""The operators: schema, array kernel, shape rule, derivative, and for snake a CUDA kernel.

The array kernels take and return the backend's own arrays (`Library.array_impl`): nothing of
Dovetail is in the way between the call and NumPy. NumPy's functions hand over to the library whose
arrays they are given, so one kernel, at the key for all backends, is enough. The derivatives are
written with Tensor operations, so they run on every backend too and can be differentiated again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dovetail
from dovetail import Tensor
from dovetail.library import Library, register_autograd, register_fake

library = Library("activations", "DEF")


def register() -> None:
    """Register everything. Called once, by the plugin."""
    library.define("squareplus(Tensor x, Tensor b) -> Tensor")
    library.array_impl("squareplus", squareplus_cpu, "CompositeExplicitAutograd")
    register_fake("activations::squareplus", _broadcast_shape, lib=library)
    register_autograd(
        "activations::squareplus", squareplus_backward, setup_context=_save_inputs, lib=library
    )

    library.define("snake(Tensor x, Tensor a) -> Tensor")
    library.array_impl("snake", snake_cpu, "CompositeExplicitAutograd")
    library.array_impl("snake", snake_cuda, "CUDA")
    register_fake("activations::snake", _broadcast_shape, lib=library)
    register_autograd("activations::snake", snake_backward, setup_context=_save_inputs, lib=library)


def squareplus_cpu(x: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return (x + sqrt(x² + b)) / 2, elementwise; `b` broadcasts against `x`."""
    _refuse_integers(x)
    result: NDArray[Any] = np.sqrt(x * x + b)
    result += x
    result *= x.dtype.type(0.5)
    return result


def squareplus_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients for `x` and `b`: (1 + x / r) / 2 and 1 / (4 r), with r = sqrt(x² +
    b).
    """
    x, b = ctx.saved_tensors
    r = (x * x + b).sqrt()
    return grad * ((x / r + 1) * 0.5).conj(), grad / (r * 4).conj()


def snake_cpu(x: NDArray[Any], a: NDArray[Any]) -> NDArray[Any]:
    """Return x + sin²(a x) / a, elementwise; `a` broadcasts against `x` and must not be zero."""
    _refuse_integers(x)
    sine = np.sin(a * x)
    result: NDArray[Any] = x + sine * sine / a
    return result


def _refuse_integers(x: NDArray[Any]) -> None:
    """Refuse integers: they would give another dtype than that of `x`, which the shape rule
    promises.
    """
    if not np.issubdtype(x.dtype, np.inexact):
        raise TypeError(f"x must be floating point, but is {x.dtype}. Convert it: x.float().")


def snake_cuda(x: Any, a: Any) -> Any:
    """Return the same on CuPy arrays, in one pass over memory."""
    _refuse_integers(x)
    return _snake_kernel()(x, a)


@cache
def _snake_kernel() -> Any:
    """Compile the CUDA kernel when it is first needed: importing this module needs no GPU and no
    CuPy.
    """
    import cupy

    return cupy.ElementwiseKernel(
        "T x, T a", "T y", "T s = sin(a * x); y = x + s * s / a", "dovetail_activations_snake"
    )


def snake_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients for `x` and `a`: 1 + sin(2 a x) and x sin(2 a x) / a - sin²(a x) /
    a².
    """
    x, a = ctx.saved_tensors
    double = (x * a * 2).sin()
    sine = (x * a).sin()
    of_a = x * double / a - sine * sine / (a * a)
    return grad * (double + 1).conj(), grad * of_a.conj()


def _save_inputs(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _broadcast_shape(x: Tensor, parameter: Tensor) -> Tensor:
    """Return an empty tensor of the result's shape and dtype."""
    return x.new_empty(dovetail.broadcast_shapes(x.shape, parameter.shape))
