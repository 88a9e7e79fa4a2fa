"""The kernels that NumPy computes faster than the generic ones, which they take the place of."""

from __future__ import annotations

from typing import Final

from dovetail_aten.array_kernels import Define

from . import (
    fast_activations,
    fast_arithmetic,
    fast_indexing,
    fast_losses,
    fast_matmul,
    fast_normalization,
    fast_reductions,
    fast_softmax,
    fast_views,
)

__all__ = ["FAST_FAMILIES"]

FAST_FAMILIES: Final[tuple[Define, ...]] = (
    fast_arithmetic.define,
    fast_reductions.define,
    fast_matmul.define,
    fast_activations.define,
    fast_softmax.define,
    fast_normalization.define,
    fast_indexing.define,
    fast_losses.define,
    fast_views.define,
)
"""For the last argument of `dovetail_aten.array_kernels.register_array_kernels`."""
