"""Floating point operations of the operators that most of the time goes to."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def flops_of(name: str, given: Sequence[Sequence[int]], result: Sequence[int]) -> int:
    """Return how many multiplications and additions a call makes; 0 if that is not known.

    Parameters
    ----------
    name
        The operator, ``aten::mm``.
    given
        The shapes of its tensors.
    result
        The shape of what it returned.
    """
    match name.removeprefix("aten::"):
        case "mm" | "bmm":
            return 2 * prod(result) * given[0][-1]
        case "addmm" | "baddbmm" | "addmv" | "addbmm":
            return 2 * prod(result) * given[1][-1]
        case "conv1d" | "conv2d" | "conv3d":
            return 2 * prod(result) * prod(given[1][1:])
        case "_scaled_dot_product_flash_attention_for_cpu":
            (*lead, width), keys = given[0], given[1][-2]
            return 2 * prod(lead) * keys * (width + given[2][-1])
        case "add" | "mul":
            return prod(result)
    return 0
