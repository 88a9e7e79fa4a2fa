"""The same operators in the style of `custom_op`: one function each, its schema read off the
annotations.

Where ``operators.py`` tells NumPy and CuPy what to do with arrays, these are written with Tensor
operations, so they run on every backend as they are; for the CPU, snake has a kernel of its own.
The namespace is ``activations_custom``, so that both can be used side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dovetail
from dovetail import Tensor
from dovetail.library import custom_op, hookimpl, register_op_infos

from . import operators

if TYPE_CHECKING:
    from dovetail.testing import OpInfo


@hookimpl
def dovetail_load() -> None:
    """Say where the samples are: importing this module has registered the operators."""
    register_op_infos("activations_custom", load_op_infos)


def load_op_infos() -> list[OpInfo]:
    """Return the samples of the operators; they are imported when a test asks for them."""
    from .op_infos import op_infos

    return op_infos("activations_custom")


@custom_op("activations_custom::squareplus", mutates_args=())
def squareplus(x: Tensor, b: Tensor) -> Tensor:
    """Return (x + sqrt(x² + b)) / 2, elementwise; `b` broadcasts against `x`."""
    return (x + (x * x + b).sqrt()) * 0.5


@custom_op("activations_custom::snake", mutates_args=())
def snake(x: Tensor, a: Tensor) -> Tensor:
    """Return x + sin²(a x) / a, elementwise; `a` broadcasts against `x` and must not be zero."""
    sine = (x * a).sin()
    return x + sine * sine / a


@snake.register_kernel("cpu")
def _(x: Tensor, a: Tensor) -> Tensor:
    return dovetail.asarray(operators.snake_cpu(x.detach().numpy(), a.detach().numpy()))


@squareplus.register_fake
@snake.register_fake
def _(x: Tensor, parameter: Tensor) -> Tensor:
    dtype = dovetail.result_type(x, parameter)
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = dovetail.get_default_dtype()  # what roots and sines of integers have
    return x.new_empty(dovetail.broadcast_shapes(x.shape, parameter.shape), dtype=dtype)


def _save_inputs(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


squareplus.register_autograd(operators.squareplus_backward, setup_context=_save_inputs)
snake.register_autograd(operators.snake_backward, setup_context=_save_inputs)
