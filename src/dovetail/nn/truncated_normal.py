"""Sampling from a truncated normal distribution by rejection."""

from __future__ import annotations

import math

import dovetail_aten as aten
from dovetail_aten import Generator, Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import bool as boolean
from dovetail_kernel import warn_user

# Below this share of the normal distribution inside the limits, proposals are drawn uniformly
# between them, of which more are taken.
_LEAST_SHARE = 0.3


@no_grad()
def fill_truncated_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None = None
) -> Tensor:
    """Fill ``tensor``, in place, with draws between ``a`` and ``b``; what falls outside is drawn
    again. PyTorch draws the same numbers in the same order.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )
    if tensor.numel() == 0:
        return tensor
    low, high = (a - mean) / std, (b - mean) / std
    if tensor.is_meta:
        return tensor.normal_(mean, std, generator=generator)
    if _share_below(high) - _share_below(low) > _LEAST_SHARE:
        values = _of_normal_proposals(tensor, mean, std, a, b, generator)
    else:
        values = _of_uniform_proposals(tensor, mean, std, a, b, generator)
    return tensor.copy_(values)


def _share_below(deviations: float) -> float:
    """Return how much of the standard normal distribution lies below."""
    return (1.0 + math.erf(deviations / math.sqrt(2.0))) / 2.0


def _of_normal_proposals(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    low, high = (aten.tensor(limit, dtype=like.dtype).item() for limit in (a, b))
    values = aten.empty_like(like).normal_(mean, std, generator=generator)
    while (outside := (values < low) | (values > high)).any():
        again = aten.empty_like(values).normal_(mean, std, generator=generator)
        values = aten.where(outside, again, values)
    return values


def _of_uniform_proposals(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    # Densities are compared with the greatest between the limits.
    greatest = -0.5 * ((min(max(mean, a), b) - mean) / std) ** 2
    values = aten.empty_like(like)
    rejected = aten.ones(like.shape, dtype=boolean, device=like.device)
    while rejected.any():
        proposals = aten.empty_like(like).uniform_(a, b, generator=generator)
        values = aten.where(rejected, proposals, values)
        density = ((proposals - mean) / std) ** 2 * -0.5 - greatest
        height = aten.empty_like(like).uniform_(generator=generator).log_()
        rejected = rejected & (height > density)
    return values
