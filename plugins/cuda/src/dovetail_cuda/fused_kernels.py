"""The families whose kernels do in one launch what the generic ones do in many."""

from __future__ import annotations

from typing import Final

__all__ = ["FUSED_FAMILIES"]

FUSED_FAMILIES: Final = {
    "arithmetic.Arithmetic": "dovetail_cuda.fused_arithmetic.FusedArithmetic",
    "average_pooling.AveragePooling": "dovetail_cuda.fused_pooling.FusedAveragePooling",
    "channel_normalization.ChannelNormalization": (
        "dovetail_cuda.fused_channels.FusedChannelNormalization"
    ),
    "convolution.Convolutions": "dovetail_cuda.fused_convolution.FusedConvolutions",
    "distributions.Distributions": "dovetail_cuda.counted_numbers.CountedNumbers",
    "gated_units.GatedUnits": "dovetail_cuda.fused_activations.FusedGatedUnits",
    "hard_activations.HardActivations": "dovetail_cuda.fused_activations.FusedHardActivations",
    "indexed_writes.IndexedWrites": "dovetail_cuda.fused_indexing.DeviceIndexedWrites",
    "indexing.Indexing": "dovetail_cuda.fused_indexing.DeviceIndexing",
    "indexing_along.IndexingAlong": "dovetail_cuda.fused_indexing.DeviceIndexingAlong",
    "likelihood.Likelihood": "dovetail_cuda.fused_likelihood.FusedLikelihood",
    "matmul.MatrixProducts": "dovetail_cuda.half_products.HalfProducts",
    "max_pooling.MaxPooling": "dovetail_cuda.fused_pooling.FusedMaxPooling",
    "normalization.Normalization": "dovetail_cuda.fused_normalization.FusedNormalization",
    "number_parts.NumberParts": "dovetail_cuda.fused_arithmetic.FusedNumberParts",
    "ordering.Ordering": "dovetail_cuda.fused_order.FusedOrdering",
    "pooled_places.PooledPlaces": "dovetail_cuda.fused_pooling.FusedPooledPlaces",
    "random.Random": "dovetail_cuda.fused_random.FusedRandom",
    "rectifiers.Rectifiers": "dovetail_cuda.fused_activations.FusedRectifiers",
    "reductions.Reductions": "dovetail_cuda.first_places.FirstPlaces",
    "scatter_reductions.ScatterReductions": (
        "dovetail_cuda.fused_indexing.DeviceScatterReductions"
    ),
    "selection.Selection": "dovetail_cuda.fused_order.FusedSelection",
    "shapes.Shapes": "dovetail_cuda.device_shapes.DeviceShapes",
    "sigmoids.Sigmoids": "dovetail_cuda.fused_activations.FusedSigmoids",
    "softmax.Softmax": "dovetail_cuda.fused_softmax.FusedSoftmax",
}
"""For the argument `families` of `dovetail_aten.backends.register_backend`."""
