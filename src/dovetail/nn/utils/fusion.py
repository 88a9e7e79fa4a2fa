"""Fusing batch normalisation in evaluation mode with the preceding layer."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import dovetail_aten as aten
from dovetail_aten import Tensor

from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

M = TypeVar("M", bound=Module)


def _check_evaluation(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call eval() on both modules.")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(
            "bn.running_mean and bn.running_var must not be None. Train with "
            "track_running_stats=True."
        )


def fuse_conv_bn_eval(conv: M, bn: Module, transpose: bool = False) -> M:
    """Return a convolution that is equivalent to ``conv`` followed by ``bn``.

    Parameters
    ----------
    conv : Module
        A convolution in evaluation mode; not modified.
    bn : Module
        A batch normalisation in evaluation mode with running statistics.
    transpose : bool, default False
        Whether ``conv`` is a transposed convolution, with one group.

    Returns
    -------
    Module
        A copy of ``conv`` with new weights.

    Raises
    ------
    AssertionError
        In training mode, or without running statistics.
    ValueError
        If a transposed convolution has groups.
    """
    _check_evaluation(conv, bn)
    fused = copy.deepcopy(conv)
    norm: Any = bn
    if transpose and fused.groups != 1:
        raise ValueError(
            f"a transposed convolution of {fused.groups} groups can't be fused, only one of 1. "
            "Keep both modules."
        )
    return _fused(fused, norm, transpose)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return the weight and the bias of a convolution fused with the following batch normalisation.

    Parameters
    ----------
    conv_w, conv_b : Tensor
        Weight and bias of the convolution; None: no bias.
    bn_rm, bn_rv : Tensor
        The running mean and variance, shape ``(channels,)``.
    bn_eps : float
        Value added to the variance.
    bn_w, bn_b : Tensor, optional
        Weight and bias of the normalisation; default: 1 and 0.
    transpose : bool, default False
        Whether the convolution is transposed.
    """
    weight_dtype = conv_w.dtype
    bias_dtype = weight_dtype if conv_b is None else conv_b.dtype
    bias = aten.zeros_like(bn_rm) if conv_b is None else conv_b
    scale = (bn_rv + bn_eps).rsqrt()
    if bn_w is not None:
        scale = bn_w * scale
    shift = aten.zeros_like(bn_rm) if bn_b is None else bn_b
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    fused_weight = (conv_w * scale.reshape(shape)).to(dtype=weight_dtype)
    fused_bias = ((bias - bn_rm) * scale + shift).to(dtype=bias_dtype)
    return (
        Parameter(fused_weight.detach(), conv_w.requires_grad),
        Parameter(fused_bias.detach(), bias.requires_grad),
    )


def fuse_linear_bn_eval(linear: M, bn: Module) -> M:
    """Return a linear layer that is equivalent to ``linear`` followed by ``bn``.

    Parameters
    ----------
    linear : Module
        A linear layer in evaluation mode; not modified.
    bn : Module
        A batch normalisation in evaluation mode with running statistics, with the same number of
        features, or one.

    Returns
    -------
    Module
        A copy of ``linear`` with new weights.

    Raises
    ------
    AssertionError
        In training mode, without running statistics, or if the numbers of features differ.
    """
    fused = copy.deepcopy(linear)
    norm: Any = bn
    _check_evaluation(fused, norm)
    if norm.num_features not in (fused.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={fused.out_features} and bn.num_features={norm.num_features}"
        )
    return _fused(fused, norm)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return the weight and the bias of a linear layer fused with the following batch
    normalisation; arguments as in `fuse_conv_bn_weights`.
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(layer: M, norm: Any, transpose: bool = False) -> M:
    """Give a layer the weights of itself followed by a normalisation."""
    own: Any = layer
    statistics = norm.running_mean, norm.running_var, norm.eps
    own.weight, own.bias = fuse_conv_bn_weights(
        own.weight, own.bias, *statistics, norm.weight, norm.bias, transpose
    )
    return layer
