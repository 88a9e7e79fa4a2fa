"""The families whose kernels do in one launch what the generic ones do in many."""

from __future__ import annotations

from typing import Final

__all__ = ["FUSED_FAMILIES"]

FUSED_FAMILIES: Final = {
    "pointwise.Arithmetic": "dovetail_cuda.fused_arithmetic.FusedArithmetic",
    "pooling.AveragePooling": "dovetail_cuda.fused_pooling.FusedAveragePooling",
    "normalization.ChannelNormalization": (
        "dovetail_cuda.fused_channels.FusedChannelNormalization"
    ),
    "convolution.Convolutions": "dovetail_cuda.fused_convolution.FusedConvolutions",
    "random.Distributions": "dovetail_cuda.counted_numbers.CountedNumbers",
    "activations.GatedUnits": "dovetail_cuda.fused_activations.FusedGatedUnits",
    "activations.HardActivations": "dovetail_cuda.fused_activations.FusedHardActivations",
    "scattering.IndexedWrites": "dovetail_cuda.fused_indexing.DeviceIndexedWrites",
    "indexing.Indexing": "dovetail_cuda.fused_indexing.DeviceIndexing",
    "indexing.IndexingAlong": "dovetail_cuda.fused_indexing.DeviceIndexingAlong",
    "losses.Likelihood": "dovetail_cuda.fused_likelihood.FusedLikelihood",
    "matmul.MatrixProducts": "dovetail_cuda.half_products.HalfProducts",
    "pooling.MaxPooling": "dovetail_cuda.fused_pooling.FusedMaxPooling",
    "normalization.Normalization": "dovetail_cuda.fused_normalization.FusedNormalization",
    "pointwise.NumberParts": "dovetail_cuda.fused_arithmetic.FusedNumberParts",
    "reductions.Ordering": "dovetail_cuda.fused_order.FusedOrdering",
    "pooling.PooledPlaces": "dovetail_cuda.fused_pooling.FusedPooledPlaces",
    "random.Random": "dovetail_cuda.fused_random.FusedRandom",
    "activations.Rectifiers": "dovetail_cuda.fused_activations.FusedRectifiers",
    "reductions.Reductions": "dovetail_cuda.first_places.FirstPlaces",
    "scattering.ScatterReductions": ("dovetail_cuda.fused_indexing.DeviceScatterReductions"),
    "statistics.Selection": "dovetail_cuda.fused_order.FusedSelection",
    "shapes.Shapes": "dovetail_cuda.device_shapes.DeviceShapes",
    "activations.Sigmoids": "dovetail_cuda.fused_activations.FusedSigmoids",
    "softmax.Softmax": "dovetail_cuda.fused_softmax.FusedSoftmax",
}
"""For the argument `families` of `dovetail_aten.backends.register_backend`."""
