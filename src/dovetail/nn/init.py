"""Initial values of parameters; every function fills a tensor in place, without recording a graph,
and returns it. The old names without a trailing ``_`` warn.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import dovetail_aten as aten
from dovetail_aten import Generator, Tensor
from dovetail_autograd import no_grad
from dovetail_dispatcher import ops, overridable
from dovetail_kernel import publish, warn_user

from .gains import _calculate_correct_fan, _calculate_fan_in_and_fan_out, calculate_gain
from .truncated_normal import fill_truncated_normal as _no_grad_trunc_normal_

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]


@no_grad()
def _no_grad_uniform_(
    tensor: Tensor, a: float, b: float, generator: Generator | None = None
) -> Tensor:
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def _no_grad_normal_(
    tensor: Tensor, mean: float, std: float, generator: Generator | None = None
) -> Tensor:
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    return tensor.fill_(val)


@no_grad()
def _no_grad_zero_(tensor: Tensor) -> Tensor:
    return tensor.zero_()


@overridable
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with values drawn uniformly from [a, b)."""
    return _no_grad_uniform_(tensor, a, b, generator=generator)


@overridable
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill the tensor with values drawn from the normal distribution."""
    return _no_grad_normal_(tensor, mean, std, generator=generator)


@overridable
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill the tensor with ``val``."""
    return _no_grad_fill_(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill the tensor with ones."""
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill the tensor with zeros."""
    return _no_grad_zero_(tensor)


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill the tensor uniformly within ``± gain * sqrt(6 / (fan_in + fan_out))``.

    Parameters
    ----------
    tensor : Tensor
        At least 2-dimensional, ``(out, in, *kernel)``.
    gain : float, default 1.0
        The factor, as returned by `calculate_gain`.
    generator : Generator, optional
        Source of random numbers.

    Raises
    ------
    ValueError
        For fewer than 2 dimensions.
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with normally distributed values with ``std = gain * sqrt(2 / (fan_in +
    fan_out))``.

    Parameters
    ----------
    tensor, gain, generator
        As for `xavier_uniform_`, with the same errors.
    """
    return normal_(
        tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator
    )


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if 0 in tensor.shape:
        warn_user("Initializing zero-element tensors is a no-op")
        return True
    return False


@overridable
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill the tensor uniformly within ``± gain * sqrt(3 / fan)``.

    Parameters
    ----------
    tensor : Tensor
        At least 2-dimensional, ``(out, in, *kernel)``.
    a : float, default 0
        The negative slope of 'leaky_relu'.
    mode : {'fan_in', 'fan_out'}
        'fan_in' keeps the variance in the forward pass, 'fan_out' in the backward pass.
    nonlinearity : str, default 'leaky_relu'
        As in `calculate_gain`.
    generator : Generator, optional
        Source of random numbers.

    Raises
    ------
    ValueError
        For fewer than 2 dimensions, or an unknown mode or nonlinearity.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill the tensor with normally distributed values with ``std = gain / sqrt(fan)``; arguments
    and errors as in `kaiming_uniform_`.
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill the tensor with values drawn from the normal distribution truncated to ``[a, b]``.

    Parameters
    ----------
    tensor : Tensor
        Any shape, floating point.
    mean, std : float
        Mean and standard deviation of the distribution before truncation.
    a, b : float, default -2.0, 2.0
        The smallest and the greatest value.
    generator : Generator, optional
        Source of random numbers.

    Raises
    ------
    RuntimeError
        If ``a`` is greater than ``b``.
    """
    return _no_grad_trunc_normal_(tensor, mean, std, a, b, generator)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: ones on the diagonal, zeros elsewhere.

    Raises
    ------
    ValueError
        If ``tensor`` does not have 2 dimensions.
    """
    _check_dimensions(tensor, (2,), "2")
    return tensor.copy_(aten.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes as many channels as possible unchanged.

    Parameters
    ----------
    tensor : Tensor
        Shape ``(out, in, *kernel)`` with one to three kernel dimensions.
    groups : int, default 1
        The number of groups; divides ``out``.

    Raises
    ------
    ValueError
        For other numbers of dimensions, or if ``groups`` does not divide ``out``.
    """
    _check_dimensions(tensor, (3, 4, 5), "3, 4, or 5")
    outputs, inputs, *kernel = tensor.shape
    if groups < 1 or outputs % groups:
        raise ValueError(
            f"dim 0 must be divisible by groups, but {outputs} is not by {groups}. Pass the groups "
            "of the convolution."
        )
    centre = tuple(size // 2 for size in kernel)
    own = outputs // groups
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(own, inputs)):
            tensor[(group * own + channel, channel, *centre)] = 1
    return tensor


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill the tensor with a random orthogonal matrix times ``gain``; all dimensions after the
    first are flattened.

    Parameters
    ----------
    tensor : Tensor
        At least 2-dimensional. The rows are orthonormal if there are at most as many rows as
        columns; otherwise the columns are.
    gain : float, default 1
        The factor.
    generator : Generator, optional
        Source of random numbers.

    Raises
    ------
    ValueError
        For fewer than 2 dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError(
            "Only tensors with 2 or more dimensions are supported, but this one has "
            f"{tensor.dim()}. Use normal_ or uniform_."
        )
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    q, r = ops.aten.linalg_qr(drawn.t() if rows < columns else drawn)
    # Of all signs that columns can have, those that make the distribution uniform.
    q = q * r.diagonal().sgn()
    tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
    return tensor.mul_(gain)


@no_grad()
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill a matrix with values drawn from a normal distribution around 0, and zeros.

    Parameters
    ----------
    tensor : Tensor
        Shape ``(rows, columns)``.
    sparsity : float
        The fraction of each column that is zero, rounded up to whole rows.
    std : float, default 0.01
        The standard deviation.
    generator : Generator, optional
        Source of random numbers.

    Raises
    ------
    ValueError
        If ``tensor`` does not have 2 dimensions.
    """
    _check_dimensions(tensor, (2,), "2")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    shuffled: Any = aten.randperm
    for column in range(columns):
        tensor[shuffled(rows, generator=generator)[:zeros], column] = 0
    return tensor


def _check_dimensions(tensor: Tensor, allowed: tuple[int, ...], listed: str) -> None:
    if tensor.dim() not in allowed:
        raise ValueError(
            f"Only tensors with {listed} dimensions are supported, but this one has "
            f"{tensor.dim()}. Give it another shape."
        )


P = ParamSpec("P")
R = TypeVar("R")


def _make_deprecate(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function under its old name, which warns."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def deprecated(*args: P.args, **kwargs: P.kwargs) -> R:
        warn_user(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"`{new}` under its old name; warns."
    return deprecated


uniform = _make_deprecate(uniform_)
normal = _make_deprecate(normal_)
constant = _make_deprecate(constant_)
eye = _make_deprecate(eye_)
dirac = _make_deprecate(dirac_)
xavier_uniform = _make_deprecate(xavier_uniform_)
xavier_normal = _make_deprecate(xavier_normal_)
kaiming_uniform = _make_deprecate(kaiming_uniform_)
kaiming_normal = _make_deprecate(kaiming_normal_)
orthogonal = _make_deprecate(orthogonal_)
sparse = _make_deprecate(sparse_)

publish(__name__)
