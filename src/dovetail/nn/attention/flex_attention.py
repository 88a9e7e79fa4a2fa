"""Names of PyTorch's compiled attention; calling them raises NotImplementedError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn

from dovetail_aten import Tensor
from dovetail_kernel import bool as bool_

__all__ = [
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE: Final = 128

_REASON = (
    "{} is made by a compiler in PyTorch, and is not in Dovetail. Pass a mask or a bias as "
    "attn_mask to nn.functional.scaled_dot_product_attention, or compute scores with matmul and "
    "softmax."
)


class AuxRequest(NamedTuple):
    """Additional results to request from `flex_attention`.

    Attributes
    ----------
    lse, max_scores
        Whether to return the log-sum-exp and the maximum of the scores.
    """

    lse: bool = False
    max_scores: bool = False


def flex_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there is no compiler."""
    raise NotImplementedError(_REASON.format("flex_attention"))


def create_block_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: only `flex_attention` accepts such a mask."""
    raise NotImplementedError(_REASON.format("create_block_mask"))


def create_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: only `flex_attention` accepts such a mask."""
    raise NotImplementedError(_REASON.format("create_mask"))


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Return True: no key is masked."""
    seen: Tensor = batch.new_ones((), dtype=bool_)
    return seen


class BlockMask:
    """PyTorch's class of block masks, for ``isinstance`` only: the constructor raises
    NotImplementedError.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (128, 128),
        mask_mod: Callable[..., object] = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        dq_kv_order_spt: bool | None = None,
    ) -> None:
        raise NotImplementedError(_REASON.format("BlockMask"))


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mask function that is True where all mask functions are. Raises RuntimeError if an
    argument is not a function.
    """
    return _joined(mask_mods, True)


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mask function that is True where any mask function is. Raises RuntimeError if an
    argument is not a function.
    """
    return _joined(mask_mods, False)


def _joined(mask_mods: tuple[Callable[..., object], ...], every: bool) -> Callable[..., Any]:
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def joined(b: Any, h: object, q_idx: object, kv_idx: object) -> Any:
        found = b.new_full((), every, dtype=bool_)
        for each in mask_mods:
            here = each(b, h, q_idx, kv_idx)
            found = found & here if every else found | here
        return found

    return joined
