"""Floating-point operations of the most expensive operators."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def flops_of(name: str, given: Sequence[Sequence[int]], result: Sequence[int]) -> int:
    """Return the number of multiplications and additions of a call; 0 if unknown.

    Parameters
    ----------
    name
        The operator, ``aten::mm``.
    given
        The shapes of its tensors.
    result
        The shape of the result.
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
