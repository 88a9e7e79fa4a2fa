"""Dropout of elements and of channels, with PyTorch's signatures."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import warn_user


def _check_probability(p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(
            f"dropout probability has to be between 0 and 1, but got {p}. Pass p in [0, 1]."
        )


@overridable
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability ``p`` and scale the others by ``1 / (1 - p)``; without
    ``training``, return the input.

    Raises
    ------
    ValueError
        If ``p`` is not within [0, 1].
    """
    _check_probability(p)
    return (aten.dropout_ if inplace else aten.dropout)(input, p, training)


@overridable
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Set elements to the limit of `selu` with probability ``p``, and keep mean and variance.

    Parameters
    ----------
    input : Tensor
        Floating point, any shape, of mean 0 and variance 1.
    p : float, default 0.5
        Within [0, 1].
    training : bool, default False
        If False, return the input.
    inplace : bool, default False
        Write the result into ``input``.

    Raises
    ------
    ValueError
        If ``p`` is not within [0, 1].
    """
    _check_probability(p)
    return (aten.alpha_dropout_ if inplace else aten.alpha_dropout)(input, p, training)


@overridable
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Like `alpha_dropout`, but for whole channels of an input ``(N, C, *)``."""
    _check_probability(p)
    apply = aten.feature_alpha_dropout_ if inplace else aten.feature_alpha_dropout
    return apply(input, p, training)


def _channels_dropped(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    return (aten.feature_dropout_ if inplace else aten.feature_dropout)(input, p, training)


def _without_batch(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Drop channels of one sample."""
    return _channels_dropped(input.unsqueeze(0), p, training, inplace).squeeze(0)


def _purpose(name: str, spatial: int) -> str:
    return (
        f"Note that {name} exists to provide channel-wise dropout on inputs with {spatial} spatial "
        f"dimension{'s' if spatial > 1 else ''}, a channel dimension, and an optional batch "
        f"dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs)."
    )


def _warn_of_dimensions(input: Tensor, spatial: int) -> None:
    """Warn of an input that has too few or too many dimensions."""
    name, ndim = f"dropout{spatial}d", input.dim()
    if ndim not in (spatial + 1, spatial + 2):
        warn_user(
            f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in "
            "an error in a future release. To retain the behavior and silence this warning, please "
            f"use dropout instead. {_purpose(name, spatial)}"
        )


@overridable
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels with probability ``p`` and scale the others by ``1 / (1 - p)``.

    Parameters
    ----------
    input : Tensor
        ``(N, C, L)`` or ``(C, L)``.
    p : float, default 0.5
        Within [0, 1].
    training : bool, default True
        If False, return the input.
    inplace : bool, default False
        Write the result into ``input``.

    Raises
    ------
    ValueError
        If ``p`` is not within [0, 1].
    RuntimeError
        If the input has another number of dimensions.
    """
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. "
            f"{_purpose('dropout1d', 1)}"
        )
    return (_without_batch if input.dim() == 2 else _channels_dropped)(input, p, training, inplace)


@overridable
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels with probability ``p`` and scale the others by ``1 / (1 - p)``.

    Parameters
    ----------
    input : Tensor
        ``(N, C, H, W)``. Other numbers of dimensions warn; ``(N, C, L)`` is treated as in
        `dropout1d`.
    p, training, inplace
        As for `dropout1d`, with its errors.
    """
    _check_probability(p)
    _warn_of_dimensions(input, 2)
    if input.dim() == 3:
        warn_user(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead."
        )
    return _channels_dropped(input, p, training, inplace)


@overridable
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels with probability ``p`` and scale the others by ``1 / (1 - p)``.

    Parameters
    ----------
    input : Tensor
        ``(N, C, D, H, W)`` or ``(C, D, H, W)``; other dimensions warn.
    p, training, inplace
        As for `dropout1d`, with its errors.
    """
    _check_probability(p)
    _warn_of_dimensions(input, 3)
    return (_without_batch if input.dim() == 4 else _channels_dropped)(input, p, training, inplace)
