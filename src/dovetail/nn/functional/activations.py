"""Activation functions and softmax, with PyTorch's signatures."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import dtype

from ... import _nn
from ..functional_arguments import softmax_dim

__all__ = [
    "elu",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "relu",
    "silu",
    "softmax",
]


@overridable
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``maximum(input, 0)``; ``inplace``: written into ``input``."""
    return aten.relu_(input) if inplace else aten.relu(input)


@overridable
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``; ``inplace``: written into ``input``."""
    result: Tensor = _nn.silu_(input) if inplace else _nn.silu(input)
    return result


@overridable
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, else ``negative_slope * input``; ``inplace``: written
    into ``input``.
    """
    result: Tensor = (
        _nn.leaky_relu_(input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)
    )
    return result


@overridable
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, else ``alpha * (exp(input) - 1)``; ``inplace``:
    written into ``input``.
    """
    result: Tensor = _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)
    return result


@overridable
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return ``input`` limited to [min_val, max_val]; ``inplace``: written into ``input``.

    Raises
    ------
    ValueError
        If ``min_val`` is greater than ``max_val``.
    """
    if min_val > max_val:
        raise ValueError(
            f"min_val cannot be greater than max_val, but got {min_val} and {max_val}. Swap them."
        )
    result: Tensor = (
        _nn.hardtanh_(input, min_val, max_val) if inplace else _nn.hardtanh(input, min_val, max_val)
    )
    return result


@overridable
def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """Return ``exp(input)`` normalised to sum 1 over ``dim``.

    Parameters
    ----------
    input : Tensor
        Floating point, any shape.
    dim : int
        Leaving it out is deprecated: it warns and chooses 0 for 0, 1 or 3 dimensions, else 1.
    dtype : dtype, optional
        Cast the input to it first.
    """
    return aten.softmax(input, softmax_dim("softmax", input, dim, _stacklevel), dtype=dtype)


@overridable
def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """Return the logarithm of `softmax`, computed stably; arguments as there."""
    return aten.log_softmax(input, softmax_dim("log_softmax", input, dim, _stacklevel), dtype=dtype)
