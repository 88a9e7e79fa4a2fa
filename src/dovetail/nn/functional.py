"""Functions of neural networks with PyTorch's signatures, each a thin layer over one operator."""

from __future__ import annotations

from collections.abc import Sequence

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import dtype

from .. import _nn
from . import functional_convolution
from .functional_arguments import REDUCTIONS, reduction_code, softmax_dim, warn_if_broadcast
from .functional_convolution import *  # noqa: F403

__all__ = [  # noqa: PLE0604 - names, which ruff does not follow
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "hardtanh",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "prelu",
    "relu",
    "relu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "tanh",
    *functional_convolution.__all__,
]

# The operators themselves, so that calling them costs nothing more.
linear = _nn.linear
gelu = _nn.gelu
softplus = _nn.softplus
logsigmoid = _nn.log_sigmoid
one_hot = _nn.one_hot
pad = _nn.pad
prelu = aten.prelu
sigmoid = aten.sigmoid
tanh = aten.tanh
relu_ = aten.relu_


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


@overridable
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability ``p`` and scale the others by ``1 / (1 - p)``; without
    ``training``: the input.

    Raises
    ------
    ValueError
        If ``p`` is not within [0, 1].
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(
            f"dropout probability has to be between 0 and 1, but got {p}. Pass p in [0, 1]."
        )
    if inplace:
        return input.mul_(aten.dropout(aten.ones_like(input), p, training))
    return aten.dropout(input, p, training)


@overridable
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of ``weight``.

    Parameters
    ----------
    input : Tensor
        Indices: an integer tensor of any shape ``(*)``.
    weight : Tensor
        ``(num_embeddings, embedding_dim)``.
    padding_idx : int, optional
        This row gets no gradient; may be negative.
    max_norm, norm_type : optional
        Renormalising rows in place is not supported.
    scale_grad_by_freq : bool, default False
        Divide a row's gradient by how often its index occurs in ``input``.
    sparse : bool, default False
        Whether the gradient of ``weight`` should be sparse.

    Returns
    -------
    Tensor
        ``(*, embedding_dim)``

    Raises
    ------
    AssertionError
        If ``padding_idx`` is out of range.
    NotImplementedError
        If ``max_norm`` is given.
    """
    if max_norm is not None:
        raise NotImplementedError(
            "embedding with max_norm is not supported. Renormalise weight.data yourself before "
            "the call."
        )
    rows = weight.size(0)
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -rows <= padding_idx < rows:
            raise AssertionError(
                f"Padding_idx must be within num_embeddings, but got {padding_idx} for {rows} rows."
            )
        if padding_idx < 0:
            padding_idx += rows
    return aten.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@overridable
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions to mean 0 and variance 1, then scale by ``weight`` and add
    ``bias``.

    Parameters
    ----------
    input : Tensor
        ``(*, *normalized_shape)``
    normalized_shape : sequence of int
        The last dimensions of the input.
    weight, bias : Tensor, optional
        Of shape ``normalized_shape``.
    eps : float, default 1e-5
        Added to the variance.
    """
    return aten.layer_norm(input, normalized_shape, weight, bias, eps)


@overridable
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy between logits and classes.

    Parameters
    ----------
    input : Tensor
        Logits ``(C)``, ``(N, C)`` or ``(N, C, d1, …)``.
    target : Tensor
        Class indices of shape ``()``, ``(N)`` or ``(N, d1, …)``, or class probabilities of the
        input's shape.
    weight : Tensor, optional
        ``(C)``: the weight of each class.
    ignore_index : int, default -100
        This target contributes nothing.
    reduction : {'mean', 'sum', 'none'}
        'mean' is weighted by ``weight``.
    label_smoothing : float, default 0.0
        Within [0, 1]: how far to mix the targets with the uniform distribution.

    Raises
    ------
    ValueError
        For another reduction.
    RuntimeError
        For shapes that do not fit or a label smoothing out of range.
    """
    code = REDUCTIONS.get(reduction)
    if code is None or size_average is not None or reduce is not None:
        code = reduction_code(reduction, size_average, reduce)
    result: Tensor = _nn.cross_entropy_loss(
        input, target, weight, code, ignore_index, label_smoothing
    )
    return result


@overridable
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log likelihood of classes; ``input`` holds log-probabilities, else as
    `cross_entropy`.
    """
    code = reduction_code(reduction, size_average, reduce)
    operator = _nn.nll_loss if input.dim() <= 2 else _nn.nll_loss_nd
    result: Tensor = operator(input, target, weight, code, ignore_index)
    return result


@overridable
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean (or sum, or each) of ``(input - target) ** 2``; warns if the shapes
    differ.
    """
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    result: Tensor = _nn.mse_loss(input, target, code)
    return result


@overridable
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the mean (or sum, or each) of ``|input - target|``; warns if the shapes differ."""
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    result: Tensor = _nn.l1_loss(input, target, code)
    return result


@overridable
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return the mean (or sum, or each) of a loss that is quadratic up to ``beta`` and linear
    beyond.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; warns if they broadcast.
    reduction : {'mean', 'sum', 'none'}
        How to combine the elements.
    beta : float, default 1.0
        Where ``0.5 * (input - target) ** 2 / beta`` goes over into ``|input - target| - 0.5 *
        beta``. 0: `l1_loss`.
    """
    code = reduction_code(reduction, size_average, reduce)
    warn_if_broadcast(input, target)
    result: Tensor = _nn.smooth_l1_loss(input, target, code, beta)
    return result


@overridable
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross entropy between ``sigmoid(input)`` and probabilities, computed stably.

    Parameters
    ----------
    input, target : Tensor
        Of one shape; targets within [0, 1].
    weight : Tensor, optional
        Multiplies each element's loss; broadcast.
    reduction : {'mean', 'sum', 'none'}
        How to combine the elements.
    pos_weight : Tensor, optional
        Weight of the positive class; broadcast.

    Raises
    ------
    ValueError
        If the shapes differ, or for another reduction.
    """
    code = reduction_code(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()}). "
            "Reshape one of them."
        )
    return aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)
