"""Transformers: stacks of encoder and decoder layers."""

from __future__ import annotations

import copy
import math
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from ... import functional as F
from ... import init
from ..container import ModuleList
from ..module import Module
from ..normalization import LayerNorm
from .transformer_layers import Activation, TransformerDecoderLayer, TransformerEncoderLayer


class TransformerEncoder(Module):
    """A sequence of copies of an encoder layer.

    Parameters
    ----------
    encoder_layer : Module
        The layer to copy, including its initial values.
    num_layers : int
        Number of layers.
    norm : Module, optional
        Normalises the output of the last layer.
    enable_nested_tensor, mask_check : bool, default True
        Accepted and ignored: in PyTorch, they allow skipping padding in evaluation mode. Here
        padding is computed like all other elements.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return the output of the layers, of the shape of the input.

        Parameters
        ----------
        src, mask, src_key_padding_mask, is_causal
            As in `TransformerEncoderLayer`; ``mask`` is its ``src_mask``.
        """
        output = src
        for layer in self.layers:
            output = layer(
                output,
                src_mask=mask,
                src_key_padding_mask=src_key_padding_mask,
                is_causal=bool(is_causal),
            )
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """A sequence of copies of a decoder layer.

    Parameters
    ----------
    decoder_layer : Module
        The layer to copy, including its initial values.
    num_layers : int
        Number of layers.
    norm : Module, optional
        Normalises the output of the last layer.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the output of the layers, of the shape of the input.

        Parameters
        ----------
        tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
            As in `TransformerDecoderLayer`.
        tgt_is_causal, memory_is_causal
            As in `TransformerDecoderLayer`.
        """
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder, and a decoder that attends to its output.

    Parameters
    ----------
    d_model : int, default 512
        Features ``E``.
    nhead : int, default 8
        Heads of attention; divides ``d_model``.
    num_encoder_layers, num_decoder_layers : int, default 6
        Number of layers.
    dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias
        As for `TransformerEncoderLayer`.
    custom_encoder, custom_decoder : Module, optional
        Replacements for encoder and decoder.
    device, dtype : optional
        Device and dtype of the parameters; matrices are initialised by `init.xavier_uniform_`.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made: Any = {"bias": bias, "device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation)
        kind: Any = {
            "layer_norm_eps": layer_norm_eps,
            "batch_first": batch_first,
            "norm_first": norm_first,
            **made,
        }
        if custom_encoder is None:
            custom_encoder = TransformerEncoder(
                TransformerEncoderLayer(*layer, **kind),
                num_encoder_layers,
                LayerNorm(d_model, eps=layer_norm_eps, **made),
            )
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(
                TransformerDecoderLayer(*layer, **kind),
                num_decoder_layers,
                LayerNorm(d_model, eps=layer_norm_eps, **made),
            )
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        """Draw new initial values of all matrices."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return the output of the decoder, of the shape of ``tgt``.

        Parameters
        ----------
        src, tgt : Tensor
            ``(S, N, E)`` and ``(T, N, E)``, ``(N, S, E)`` and ``(N, T, E)`` with ``batch_first``,
            or without ``N``.
        src_mask, src_key_padding_mask, src_is_causal : optional
            As in `TransformerEncoder`.
        tgt_mask, tgt_key_padding_mask, tgt_is_causal : optional
            As in `TransformerDecoder`.
        memory_mask, memory_key_padding_mask, memory_is_causal : optional
            As in `TransformerDecoder`.

        Raises
        ------
        RuntimeError
            If batch sizes or features are incompatible.
        """
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        output: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return output

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the mask ``(sz, sz)``: minus infinity where a query comes before a key, else 0.

        Parameters
        ----------
        sz : int
            Length of the sequence.
        device, dtype : optional
            Of the mask; default: the default device and dtype.
        """
        return aten.full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])
