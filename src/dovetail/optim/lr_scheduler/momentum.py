"""Access to the momentum of a group, under either option name."""

from __future__ import annotations

from typing import Any

from ..optimizer import Optimizer


def has_betas(optimizer: Optimizer) -> bool:
    """Say whether the momentum is the first of ``betas``.

    Raises
    ------
    ValueError
        If the optimizer has no momentum.
    """
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled. Pass "
            "cycle_momentum=False."
        )
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], value: float) -> None:
    """Set the momentum of a group."""
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value
