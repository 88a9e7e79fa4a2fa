"""Checks of the shapes of `multi_head_attention_forward`, with PyTorch's messages."""

from __future__ import annotations

from dovetail_aten import Tensor


def require(condition: bool, text: str) -> None:
    """Raise the error that PyTorch raises for arguments of attention. Raises AssertionError unless
    the condition holds.
    """
    if not condition:
        raise AssertionError(text)


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Return whether the operands have a batch.

    Raises
    ------
    AssertionError
        If their dimensions do not agree.
    """
    rank = query.dim()
    require(
        rank in (2, 3),
        "query should be unbatched 2D or batched 3D tensor but received "
        f"{rank}-D query tensor. Add or remove dimensions.",
    )
    operands = f"For {'batched (3-D)' if rank == 3 else 'unbatched (2-D)'} `query`, expected"
    require(
        key.dim() == value.dim() == rank,
        f"{operands} `key` and `value` to be {rank}-D but found "
        f"{key.dim()}-D and {value.dim()}-D tensors respectively",
    )
    if key_padding_mask is not None:
        require(
            key_padding_mask.dim() == rank - 1,
            f"{operands} `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        require(
            attn_mask.dim() in (2, 3),
            f"{operands} `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead",
        )
        if rank == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            require(
                tuple(attn_mask.shape) == expected,
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
            )
    return rank == 3


def check_projections(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_heads: int,
    weights: Tensor | tuple[Tensor | None, ...] | None,
) -> None:
    """Check the shapes of operands and matrices.

    Raises
    ------
    AssertionError
        If sizes differ, or a matrix is missing.
    """
    features = query.shape[-1]
    require(
        features == embed_dim,
        f"was expecting embedding dimension of {embed_dim}, but got {features}",
    )
    require(
        features % num_heads == 0, f"embed_dim {features} not divisible by num_heads {num_heads}"
    )
    if not isinstance(weights, tuple):
        require(
            key.shape == value.shape,
            f"key shape {key.shape} does not match value shape {value.shape}",
        )
        require(weights is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        return
    require(
        key.shape[:2] == value.shape[:2],
        f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
    )
    for letter, weight in zip("qkv", weights, strict=True):
        require(
            weight is not None, f"use_separate_proj_weight is True but {letter}_proj_weight is None"
        )
    for name, each, weight in zip(
        ("query", "key", "value"), (query, key, value), weights, strict=True
    ):
        expected = (features, each.shape[-1])
        if weight is not None:
            require(
                tuple(weight.shape) == expected,
                f"expecting {name} weights shape of {expected}, but got {weight.shape}",
            )


def check_mask(mask: Tensor, heads: int, length: int, keys: int) -> Tensor:
    """Return a mask of three dimensions.

    Raises
    ------
    RuntimeError
        If its shape differs from the shape of the scores.
    """
    expected = (length, keys) if mask.dim() == 2 else (heads, length, keys)
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def check_padding_mask(mask: Tensor, batch: int, keys: int) -> None:
    """Check that a padding mask has an element for every key.

    Raises
    ------
    AssertionError
        If its sizes differ.
    """
    for dim, expected in enumerate((batch, keys)):
        require(
            mask.shape[dim] == expected,
            f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got {mask.shape[dim]}",
        )


def check_static(name: str, static: Tensor, query: Tensor) -> Tensor:
    """Return static keys or values.

    Raises
    ------
    AssertionError
        If they have the wrong number of heads.
    """
    for dim in (0, 2):
        require(
            static.shape[dim] == query.shape[dim],
            f"expecting {name}.size({dim}) of {query.shape[dim]}, but got {static.shape[dim]}",
        )
    return static
