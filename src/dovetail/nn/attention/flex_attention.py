"""Names of PyTorch's compiled attention with functions of scores; calling them is refused."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["create_block_mask", "create_mask", "flex_attention"]

_REASON = (
    "{} is made by a compiler in PyTorch, and is not in Dovetail. Pass a mask or a bias as "
    "attn_mask to nn.functional.scaled_dot_product_attention, or compute scores with matmul and "
    "softmax."
)


def flex_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse with NotImplementedError: there is no compiler."""
    raise NotImplementedError(_REASON.format("flex_attention"))


def create_block_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse with NotImplementedError: only `flex_attention` takes such a mask."""
    raise NotImplementedError(_REASON.format("create_block_mask"))


def create_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse with NotImplementedError: only `flex_attention` takes such a mask."""
    raise NotImplementedError(_REASON.format("create_mask"))
