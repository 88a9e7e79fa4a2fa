"""Attention of several heads as a module."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from ... import functional as F
from ... import init
from ...parameter import Parameter
from ..linear import NonDynamicallyQuantizableLinear
from ..module import Module


class MultiheadAttention(Module):
    """Multi-head attention: each head computes ``softmax(q @ k.T / sqrt(E / num_heads) + mask) @
    v`` on projections of queries, keys and values, and the concatenated results are projected.

    Parameters
    ----------
    embed_dim : int
        ``E``: features of queries and of the output.
    num_heads : int
        Divides ``E``.
    dropout : float, default 0.0
        Probability of dropping an attention weight in training.
    bias : bool, default True
        Whether projections have biases.
    add_bias_kv : bool, default False
        Whether to append a learned key and a learned value.
    add_zero_attn : bool, default False
        Whether to append a key and a value of zeros.
    kdim, vdim : int, optional
        Features of keys and of values. Default: ``E``.
    batch_first : bool, default False
        Whether tensors are ``(N, L, E)`` instead of ``(L, N, E)``.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.

    Attributes
    ----------
    in_proj_weight : Parameter or None
        ``(3 * E, E)``: the stacked projections of queries, keys and values.
    q_proj_weight, k_proj_weight, v_proj_weight : Parameter or None
        ``(E, E)``, ``(E, kdim)`` and ``(E, vdim)``; used instead of ``in_proj_weight`` unless
        ``kdim`` and ``vdim`` are both ``E``.
    in_proj_bias : Parameter or None
        ``(3 * E,)``, initially zeros.
    bias_k, bias_v : Parameter or None
        ``(1, 1, E)``
    out_proj : Linear
        From ``E`` to ``E``.

    Raises
    ------
    ValueError
        If a number is not greater than 0.
    AssertionError
        If ``num_heads`` does not divide ``embed_dim``.
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, but {embed_dim} is not by {num_heads}."
            )
        made: Any = {"device": device, "dtype": dtype}
        whole = {"in_proj_weight": (3 * embed_dim, embed_dim)}
        parts = {
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
        }
        own, absent = (whole, parts) if self._qkv_same_embed_dim else (parts, whole)
        for name, shape in own.items():
            self.register_parameter(name, Parameter(aten.empty(shape, **made)))
        for name in absent:
            self.register_parameter(name, None)
        self.register_parameter(
            "in_proj_bias", Parameter(aten.empty(3 * embed_dim, **made)) if bias else None
        )
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **made)
        for name in ("bias_k", "bias_v"):
            if add_bias_kv:
                self.register_parameter(name, Parameter(aten.empty((1, 1, embed_dim), **made)))
            else:
                setattr(self, name, None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw new initial values of all but the last projection's weight."""
        weights = [self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        for weight in weights:
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for more in (self.bias_k, self.bias_v):
            if more is not None:
                init.xavier_normal_(more)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the attention output, and the attention weights.

        Parameters
        ----------
        query : Tensor
            ``(L, N, E)``, ``(N, L, E)`` with ``batch_first``, or ``(L, E)``.
        key, value : Tensor
            ``(S, N, kdim)`` and ``(S, N, vdim)``, likewise.
        key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal
            As in `functional.multi_head_attention_forward`.

        Returns
        -------
        Tensor
            Tensor of the shape of ``query``.
        Tensor or None
            The weights ``(N, L, S)``, or ``(N, num_heads, L, S)`` per head; None if
            ``need_weights`` is False.

        Raises
        ------
        AssertionError, RuntimeError
            If shapes or dtypes are incompatible.
        """
        turns = self.batch_first and query.dim() == 3
        if turns:
            is_self, is_shared = query is key, key is value
            query = query.transpose(0, 1)
            key = query if is_self else key.transpose(0, 1)
            value = key if is_shared else value.transpose(0, 1)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(0, 1) if turns else output, weights
