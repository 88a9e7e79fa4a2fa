"""The families whose kernels do in one launch what the generic ones do in many."""

from __future__ import annotations

from typing import Final

__all__ = ["FUSED_FAMILIES"]

FUSED_FAMILIES: Final = {
    "arithmetic.Arithmetic": "dovetail_cuda.fused_arithmetic.FusedArithmetic",
    "distributions.Distributions": "dovetail_cuda.counted_numbers.CountedNumbers",
    "indexed_writes.IndexedWrites": "dovetail_cuda.fused_indexing.DeviceIndexedWrites",
    "indexing.Indexing": "dovetail_cuda.fused_indexing.DeviceIndexing",
    "indexing_along.IndexingAlong": "dovetail_cuda.fused_indexing.DeviceIndexingAlong",
    "likelihood.Likelihood": "dovetail_cuda.fused_likelihood.FusedLikelihood",
    "normalization.Normalization": "dovetail_cuda.fused_normalization.FusedNormalization",
    "number_parts.NumberParts": "dovetail_cuda.fused_arithmetic.FusedNumberParts",
    "random.Random": "dovetail_cuda.fused_random.FusedRandom",
    "rectifiers.Rectifiers": "dovetail_cuda.fused_activations.FusedRectifiers",
    "shapes.Shapes": "dovetail_cuda.device_shapes.DeviceShapes",
    "sigmoids.Sigmoids": "dovetail_cuda.fused_activations.FusedSigmoids",
    "softmax.Softmax": "dovetail_cuda.fused_softmax.FusedSoftmax",
}
"""For the argument `families` of `dovetail_aten.backends.register_backend`."""
