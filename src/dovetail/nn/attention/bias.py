"""Causal biases of attention between sequences of different lengths."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, auto
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Device, warn_user
from dovetail_kernel import bool as boolean

from ... import _nn

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner of the score matrix through which the diagonal of a causal bias passes."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal bias that is converted to a mask only if necessary.

    Pass it as ``attn_mask`` to `scaled_dot_product_attention`; no other function accepts it.

    Parameters
    ----------
    variant : CausalVariant
        Position of the diagonal.
    seq_len_q, seq_len_kv : int
        The numbers of queries and of keys.
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        shape = aten.empty((), dtype=boolean).expand((seq_len_q, seq_len_kv))
        made: CausalBias = Tensor._make_subclass(cls, shape)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warn_user(
                "Lower right causal bias leaves the first queries no keys when seq_len_q > "
                "seq_len_kv!"
            )
        return made

    def _materialize(self, device: str | Device | None = None) -> Tensor:
        """Return the mask: True where a query may see a key."""
        offset = 0
        if self.variant is CausalVariant.LOWER_RIGHT:
            offset = self.seq_len_kv - self.seq_len_q
        everything = aten.ones(self.seq_len_q, self.seq_len_kv, dtype=boolean, device=device)
        return everything.tril(diagonal=offset)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., object], types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        if getattr(func, "__name__", "") == "__get__":  # an attribute, such as its shape
            return super().__torch_function__(func, types, args, kwargs or {})
        if func is not _nn.scaled_dot_product_attention:
            name = getattr(func, "__name__", func)
            raise NotImplementedError(
                f"{name}() does not take a CausalBias, only scaled_dot_product_attention does. "
                "Make a mask with dovetail.ones(...).tril()."
            )
        return _attend(*args, **(kwargs or {}))

    # mypy forgets the names of arguments of methods like this one.
    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return repr(self._materialize())


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **options: Any,
) -> Any:
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    if attn_mask.variant is CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv:
        mask, is_causal = None, True
    else:
        mask = attn_mask._materialize(query.device)
    return _nn.scaled_dot_product_attention(
        query, key, value, mask, dropout_p, is_causal, **options
    )


def causal_upper_left(*size: int) -> CausalBias:
    """Return a bias by which query ``i`` attends to keys up to ``i``; ``size`` are the numbers of
    queries and keys.
    """
    return _biased(CausalVariant.UPPER_LEFT, "causal_upper_left", size)


def causal_lower_right(*size: int) -> CausalBias:
    """Return a bias by which the last query attends to all keys, and each earlier query to one key
    fewer; ``size`` are the numbers of queries and keys.
    """
    return _biased(CausalVariant.LOWER_RIGHT, "causal_lower_right", size)


def _biased(variant: CausalVariant, name: str, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)
