"""Activation functions and softmax, with PyTorch's signatures."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import contiguous_format, dtype, finfo, warn_user

from ... import _nn
from ..functional_arguments import softmax_dim

logsigmoid = _nn.log_sigmoid


@overridable
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``maximum(input, 0)``, in place if ``inplace``."""
    return aten.relu_(input) if inplace else aten.relu(input)


@overridable
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``, in place if ``inplace``."""
    return _nn.silu_(input) if inplace else _nn.silu(input)


@overridable
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return ``input`` where positive, else ``negative_slope * input``, in place if ``inplace``."""
    return (
        _nn.leaky_relu_(input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)
    )


@overridable
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, else ``alpha * (exp(input) - 1)``; ``inplace``:
    written into ``input``.
    """
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


@overridable
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Return ``input`` limited to [min_val, max_val], in place if ``inplace``.

    Raises
    ------
    ValueError
        If ``min_val`` is greater than ``max_val``.
    """
    if min_val > max_val:
        raise ValueError(
            f"min_val cannot be greater than max_val, but got {min_val} and {max_val}. Swap them."
        )
    return (
        _nn.hardtanh_(input, min_val, max_val) if inplace else _nn.hardtanh(input, min_val, max_val)
    )


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
        Omitting it is deprecated: a warning is issued, and the default is 0 for 0, 1 or 3
        dimensions, else 1.
    dtype : dtype, optional
        Cast the input to it first.
    """
    return aten.softmax(input, softmax_dim("softmax", input, dim), dtype=dtype)


@overridable
def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """Return the logarithm of `softmax`, computed stably; arguments as for `softmax`."""
    return aten.log_softmax(input, softmax_dim("log_softmax", input, dim), dtype=dtype)


@overridable
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``max(0, input) + min(0, alpha * (exp(input / alpha) - 1))``, in place if ``inplace``.

    Raises
    ------
    RuntimeError
        If ``alpha`` is 0.
    """
    return aten.celu_(input, alpha) if inplace else aten.celu(input, alpha)


@overridable
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``scale * (max(0, input) + min(0, alpha * (exp(input) - 1)))`` with the ``scale`` and
    ``alpha`` that keep mean 0 and variance 1; with ``inplace``, write it into ``input``.
    """
    return aten.selu_(input) if inplace else aten.selu(input)


@overridable
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(input, 0), 6)``, in place if ``inplace``."""
    return _nn.relu6_(input) if inplace else _nn.relu6(input)


@overridable
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Return ``input`` where it is positive, else ``slope * input``.

    Parameters
    ----------
    input : Tensor
        Floating point, any shape.
    lower, upper : float
        Bounds of the slopes.
    training : bool, default False
        Whether to draw a slope for each element; otherwise the slope is the mean of the bounds.
    inplace : bool, default False
        Write the result into ``input``.

    Raises
    ------
    RuntimeError
        If a bound is not finite, or ``lower`` is greater than ``upper``.
    """
    return (aten.rrelu_ if inplace else aten.rrelu)(input, lower, upper, training)


@overridable
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return ``input`` where above ``threshold``, else ``value``, in place if ``inplace``."""
    if inplace:
        return aten.threshold_(input, threshold, value)
    return aten.threshold(input, threshold, value)


@overridable
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * min(max(input + 3, 0), 6) / 6``, in place if ``inplace``."""
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


@overridable
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(input + 3, 0), 6) / 6``, in place if ``inplace``."""
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


@overridable
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * tanh(softplus(input))``, in place if ``inplace``."""
    return _nn.mish_(input) if inplace else _nn.mish(input)


@overridable
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half of ``input`` along ``dim`` times the sigmoid of the second.

    Raises
    ------
    RuntimeError
        If ``input`` has no dimension, or an odd size along ``dim``.
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


@overridable
def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + |input|)``."""
    return input / (input.abs() + 1)


@overridable
def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``."""
    return input - input.tanh()


@overridable
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """Return `softmax` of ``-input``; arguments as for `softmax`."""
    return aten.softmax(-input, softmax_dim("softmin", input, dim), dtype=dtype)


@overridable
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Draw from the Gumbel-softmax distribution, a softmax of logits with noise (Jang et al. 2016,
    arXiv:1611.01144).

    Parameters
    ----------
    logits : Tensor
        Unnormalised logarithms of probabilities, floating point, any shape.
    tau : float, default 1
        Temperature, greater than 0.
    hard : bool, default False
        Whether the result is one-hot; the gradient is the one of the soft result.
    eps : float
        Deprecated and ignored: any value other than the default warns.
    dim : int, default -1
        Dimension along which the probabilities sum to 1.
    """
    if eps != 1e-10:
        warn_user("`eps` parameter is deprecated and has no effect.")
    arrivals = aten.empty_like(logits, memory_format=contiguous_format).exponential_()
    # Minus the logarithm of an exponential variate is a Gumbel variate; that of 0 is infinite.
    noise = arrivals.clamp(min=finfo(logits.dtype).tiny).log().neg()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return aten.zeros_like(logits).scatter(dim, index, 1.0) - soft.detach() + soft
