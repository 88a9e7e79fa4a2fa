"""Samples of reductions, scans and sorts."""

from __future__ import annotations

from typing import Final

from dovetail_dispatcher.testing import OpInfo

from . import order_samples, reduction_samples

OP_INFOS: Final[list[OpInfo]] = [*reduction_samples.OP_INFOS, *order_samples.OP_INFOS]
