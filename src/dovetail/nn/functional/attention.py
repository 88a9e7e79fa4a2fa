"""Attention of several heads, with PyTorch's signature."""

from __future__ import annotations

import math
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

from .. import functional as F
from .attention_inputs import _canonical_mask, _in_projection, _in_projection_packed, _none_or_dtype
from .attention_shapes import (
    _mha_shape_check,
    check_mask,
    check_padding_mask,
    check_projections,
    check_static,
)


@overridable
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return multi-head attention on projections of queries, keys and values.

    Each head computes ``softmax(q @ k.T / sqrt(E / num_heads) + mask) @ v``.

    Parameters
    ----------
    query : Tensor
        ``(L, N, E)``, or ``(L, E)`` without a batch.
    key, value : Tensor
        ``(S, N, E)``, or ``(S, E)``; with ``use_separate_proj_weight``, the features may differ.
    embed_dim_to_check : int
        ``E``.
    num_heads : int
        Divides ``E``.
    in_proj_weight : Tensor, optional
        ``(3 * E, E)``: the stacked projections of queries, keys and values.
    in_proj_bias : Tensor, optional
        ``(3 * E,)``
    bias_k, bias_v : Tensor, optional
        ``(1, 1, E)``: an additional key and value.
    add_zero_attn : bool
        Whether to append a key and a value of zeros.
    dropout_p : float
        Probability of dropping an attention weight if ``training``.
    out_proj_weight, out_proj_bias : Tensor
        ``(E, E)`` and ``(E,)``; the bias may be None.
    training : bool, default True
        Whether to apply dropout.
    key_padding_mask : Tensor, optional
        ``(N, S)`` or ``(S,)``: True to ignore a key, or numbers to add to the scores.
    need_weights : bool, default True
        Whether to return the attention weights.
    attn_mask : Tensor, optional
        ``(L, S)`` or ``(N * num_heads, L, S)``: True where a query ignores a key, or numbers to add
        to the scores.
    use_separate_proj_weight : bool, default False
        Whether the next three arguments replace ``in_proj_weight``.
    q_proj_weight, k_proj_weight, v_proj_weight : Tensor, optional
        ``(E, E)``, ``(E, features of the key)`` and ``(E, features of the value)``.
    static_k, static_v : Tensor, optional
        ``(N * num_heads, S, E / num_heads)``: replace the projected keys and values.
    average_attn_weights : bool, default True
        Whether to average the returned weights over the heads.
    is_causal : bool, default False
        A hint that ``attn_mask``, which is required, is the causal mask.

    Returns
    -------
    Tensor
        Tensor of the shape of ``query``.
    Tensor or None
        The weights ``(N, L, S)``, or ``(N, num_heads, L, S)`` per head; without ``N`` for an input
        without a batch.

    Raises
    ------
    AssertionError
        If shapes or dtypes are incompatible.
    RuntimeError
        If ``attn_mask`` has the wrong shape, or is missing with ``is_causal``.
    """
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        is_self, is_shared = query is key, key is value
        query = query.unsqueeze(1)
        key = query if is_self else key.unsqueeze(1)
        value = key if is_shared else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    separate: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
    weights: Any = separate if use_separate_proj_weight else in_proj_weight
    check_projections(query, key, value, embed_dim_to_check, num_heads, weights)
    length, batch, embed_dim = query.shape
    own, of_mask = query.dtype, _none_or_dtype(attn_mask)
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", of_mask, "attn_mask", own
    )
    # The hint stands for the mask where nothing else needs the mask.
    is_causal = is_causal and key_padding_mask is None and not need_weights
    mask = None if is_causal else _canonical_mask(attn_mask, "attn_mask", None, "", own, False)
    if mask is not None:
        mask = check_mask(mask, batch * num_heads, length, key.shape[0])
    if use_separate_proj_weight:
        biases: Any = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        query, key, value = _in_projection(query, key, value, *separate, *biases)
    else:
        query, key, value = _in_projection_packed(query, key, value, weights, in_proj_bias)
    more = 0
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            kind = "key" if static_k is not None else "value"
            raise AssertionError(f"bias cannot be added to static {kind}. Leave one of them out.")
        key = aten.cat([key, bias_k.repeat(1, batch, 1)])
        value = aten.cat([value, bias_v.repeat(1, batch, 1)])
        more += 1
    elif bias_k is not None or bias_v is not None:
        given, missing = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{given} is set but {missing} is None. Pass both.")
    heads = batch * num_heads
    head_dim = embed_dim // num_heads
    query = _by_heads(query, heads, head_dim)
    key, value = (
        _by_heads(each, heads, head_dim) if static is None else check_static(name, static, query)
        for name, each, static in (("static_k", key, static_k), ("static_v", value, static_v))
    )
    if add_zero_attn:
        zeros = (heads, 1, query.shape[-1])
        key = aten.cat([key, key.new_zeros(zeros)], 1)
        value = aten.cat([value, value.new_zeros(zeros)], 1)
        more += 1
    sizes = batch, num_heads
    mask = _joint_mask(_padded(mask, more), _padded(key_padding_mask, more), key, sizes)
    if not training:
        dropout_p = 0.0
    if need_weights:
        found, shares = _with_weights(query, key, value, mask, dropout_p)
    else:
        found = _without_weights(query, key, value, mask, dropout_p, is_causal, sizes)
    found = found.transpose(0, 1).reshape(length * batch, embed_dim)
    output = F.linear(found, out_proj_weight, out_proj_bias)
    output = output.view(length, batch, output.shape[1])
    if not is_batched:
        output = output.squeeze(1)
    if not need_weights:
        return output, None
    shares = shares.view(batch, num_heads, length, key.shape[1])
    if average_attn_weights:
        shares = shares.mean(1)
    return output, shares if is_batched else shares.squeeze(0)


def _by_heads(tensor: Tensor, heads: int, head_dim: int) -> Tensor:
    """Return ``(length, batch, features)`` as ``(heads, length, features of a head)``."""
    return tensor.contiguous().view(tensor.shape[0], heads, head_dim).transpose(0, 1)


def _padded(mask: Tensor | None, more: int) -> Tensor | None:
    """Return a mask for more keys, which it leaves in."""
    return mask if mask is None or not more else F.pad(mask, [0, more])


def _joint_mask(
    mask: Tensor | None, padding: Tensor | None, key: Tensor, sizes: tuple[int, int]
) -> Tensor | None:
    """Return what is added to scores ``(heads, L, S)``, by both masks; `sizes`: of the batch, and
    heads of a sample.
    """
    if padding is None:
        return mask
    batch, num_heads = sizes
    heads, length = key.shape[:2]
    check_padding_mask(padding, batch, length)
    by_heads = padding.view(batch, 1, 1, length).expand(-1, num_heads, -1, -1)
    by_heads = by_heads.reshape(heads, 1, length)
    return by_heads if mask is None else mask + by_heads


def _with_weights(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """Return what heads find, and their weights."""
    query = query * (1 / math.sqrt(query.shape[-1]))
    if mask is None:
        scores = aten.bmm(query, key.transpose(-2, -1))
    else:
        scores = aten.baddbmm(mask, query, key.transpose(-2, -1))
    shares = F.softmax(scores, -1)
    if dropout_p > 0:
        shares = F.dropout(shares, dropout_p)
    return aten.bmm(shares, value), shares


def _without_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    sizes: tuple[int, int],
) -> Tensor:
    """Return what heads find; `sizes`: of the batch, and heads of a sample."""
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.view(*sizes, *mask.shape[1:])
    query, key, value = (each.view(*sizes, *each.shape[1:]) for each in (query, key, value))
    found = F.scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal)
    return found.flatten(0, 1)
