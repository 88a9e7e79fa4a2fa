"""The families whose kernels do in one launch what the generic ones do in many."""

from __future__ import annotations

from typing import Final

FUSED_FAMILIES: Final = {
    "pointwise.Arithmetic": "dovetail_cuda.families.pointwise.FusedArithmetic",
    "pooling.AveragePooling": "dovetail_cuda.families.pooling.FusedAveragePooling",
    "normalization.ChannelNormalization": (
        "dovetail_cuda.families.normalization.channels.FusedChannelNormalization"
    ),
    "convolution.Convolutions": "dovetail_cuda.families.convolution.FusedConvolutions",
    "random.Distributions": "dovetail_cuda.families.random.counted_numbers.CountedNumbers",
    "activations.GatedUnits": "dovetail_cuda.families.activations.FusedGatedUnits",
    "activations.HardActivations": "dovetail_cuda.families.activations.FusedHardActivations",
    "scattering.IndexedWrites": "dovetail_cuda.families.indexing.DeviceIndexedWrites",
    "indexing.Indexing": "dovetail_cuda.families.indexing.DeviceIndexing",
    "indexing.IndexingAlong": "dovetail_cuda.families.indexing.DeviceIndexingAlong",
    "losses.Likelihood": "dovetail_cuda.families.losses.FusedLikelihood",
    "matmul.MatrixProducts": "dovetail_cuda.families.matmul.HalfProducts",
    "pooling.MaxPooling": "dovetail_cuda.families.pooling.FusedMaxPooling",
    "normalization.Normalization": "dovetail_cuda.families.normalization.layers.FusedNormalization",
    "pointwise.NumberParts": "dovetail_cuda.families.pointwise.FusedNumberParts",
    "reductions.Ordering": "dovetail_cuda.families.reductions.order.FusedOrdering",
    "pooling.PooledPlaces": "dovetail_cuda.families.pooling.FusedPooledPlaces",
    "random.Random": "dovetail_cuda.families.random.dropout.FusedRandom",
    "activations.Rectifiers": "dovetail_cuda.families.activations.FusedRectifiers",
    "reductions.Reductions": "dovetail_cuda.families.reductions.extremes.FirstPlaces",
    "scattering.ScatterReductions": ("dovetail_cuda.families.indexing.DeviceScatterReductions"),
    "statistics.Selection": "dovetail_cuda.families.reductions.order.FusedSelection",
    "shapes.Shapes": "dovetail_cuda.families.shapes.DeviceShapes",
    "activations.Sigmoids": "dovetail_cuda.families.activations.FusedSigmoids",
    "softmax.Softmax": "dovetail_cuda.families.softmax.FusedSoftmax",
}
"""For the argument `families` of `dovetail_aten.backends.register_backend`."""
