"""Layers of transformers: attention and a network of two linear maps, each with normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from ... import functional as F
from ..activation.multihead_attention import MultiheadAttention
from ..dropout import Dropout
from ..linear import Linear
from ..module import Module
from ..normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


class _TransformerLayer(Module):
    """One or two attentions and a network of two linear maps, each with normalisation."""

    _attentions: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        made: Any = {"bias": bias, "device": device, "dtype": dtype}
        attention: Any = {"dropout": dropout, "batch_first": batch_first, **made}
        for name in self._attentions:
            self.add_module(name, MultiheadAttention(d_model, nhead, **attention))
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        blocks = range(1, len(self._attentions) + 2)
        for place in blocks:
            self.add_module(f"norm{place}", LayerNorm(d_model, eps=layer_norm_eps, **made))
        for place in blocks:
            self.add_module(f"dropout{place}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        found = _attended(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal)
        result: Tensor = self.dropout1(found)
        return result

    def _fed_forward(self, x: Tensor, dropout: Module) -> Tensor:
        result: Tensor = dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return result


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention, then ``linear2(activation(linear1(x)))``, each with a residual connection and
    normalisation.

    Parameters
    ----------
    d_model : int
        Features ``E`` of input and output.
    nhead : int
        Heads of attention; divides ``d_model``.
    dim_feedforward : int, default 2048
        Features between both linear layers.
    dropout : float, default 0.1
        Dropout probability of attention weights and results in training.
    activation : {'relu', 'gelu'} or callable, default relu
        Activation between both linear layers.
    layer_norm_eps : float, default 1e-5
        Epsilon of the normalisations.
    batch_first : bool, default False
        Whether tensors are ``(N, L, E)`` instead of ``(L, N, E)``.
    norm_first : bool, default False
        Whether to normalise before each block instead of after it.
    bias : bool, default True
        Whether linear maps and normalisations have biases.
    device, dtype : optional
        Device and dtype of the parameters; default: the default device and dtype.

    Raises
    ------
    RuntimeError
        For an unknown activation.
    """

    _attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the output of the layer, of the shape of the input.

        Parameters
        ----------
        src : Tensor
            ``(L, N, E)``, ``(N, L, E)`` with ``batch_first``, or ``(L, E)``.
        src_mask, src_key_padding_mask, is_causal : optional
            As ``attn_mask``, ``key_padding_mask`` and ``is_causal`` in `MultiheadAttention`.
        """
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        result: Tensor = self.norm2(x + self._ff_block(x))
        return result

    def _ff_block(self, x: Tensor) -> Tensor:
        return self._fed_forward(x, self.dropout2)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to the encoder output, then ``linear2(activation(linear1(x)))``,
    each with a residual connection and normalisation.

    Parameters
    ----------
    d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first
        As for `TransformerEncoderLayer`.
    bias, device, dtype
        As for `TransformerEncoderLayer`.

    Raises
    ------
    RuntimeError
        For an unknown activation.
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the output of the layer, of the shape of the input.

        Parameters
        ----------
        tgt : Tensor
            ``(T, N, E)``, ``(N, T, E)`` with ``batch_first``, or ``(T, E)``.
        memory : Tensor
            Output of the encoder, ``(S, N, E)`` likewise.
        tgt_mask, tgt_key_padding_mask, tgt_is_causal : optional
            As ``attn_mask``, ``key_padding_mask`` and ``is_causal`` in `MultiheadAttention`, for
            self-attention.
        memory_mask, memory_key_padding_mask, memory_is_causal : optional
            The same for attention to the memory.
        """
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        result: Tensor = self.norm3(x + self._ff_block(x))
        return result

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        found = _attended(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal)
        result: Tensor = self.dropout2(found)
        return result

    def _ff_block(self, x: Tensor) -> Tensor:
        return self._fed_forward(x, self.dropout3)


def _attended(
    attention: Module,
    x: Tensor,
    keys: Tensor,
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    is_causal: bool,
) -> Tensor:
    """Return what attention finds for `x` among `keys`."""
    found: Tensor
    found, _ = attention(
        x,
        keys,
        keys,
        attn_mask=attn_mask,
        key_padding_mask=key_padding_mask,
        is_causal=is_causal,
        need_weights=False,
    )
    return found


def _get_activation_fn(activation: Activation) -> Any:
    """Return the function of a name.

    Raises
    ------
    RuntimeError
        For any other name.
    """
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)
