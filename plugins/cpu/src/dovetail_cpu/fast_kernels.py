"""The kernels that NumPy computes faster than the generic ones, which they take the place of.

Each class derives from the generic family. A method calls the generic kernel by its class, where
``super()`` would cost as much as a tenth of a small operation; what a method needs often is bound
to a name of the module.
"""

from __future__ import annotations

from typing import Final

from dovetail_aten.array_kernels import Define

from .fast_activations import FastRectifiers, FastSigmoids
from .fast_arithmetic import FastArithmetic
from .fast_indexing import FastIndexing, FastOrdering, FastShapes
from .fast_likelihood import FastLikelihood
from .fast_matmul import FastMatrixProducts
from .fast_normalization import FastNormalization
from .fast_reductions import FastReductions
from .fast_scans import FastRunningExtrema, FastScans, FastSelection
from .fast_softmax import FastSoftmax
from .fast_views import FastViews
from .fast_windows import FastConvolutions, FastPatches
from .seeded_random import SeededDistributions, SeededGammaNumbers, SeededRandom

__all__ = ["FAST_FAMILIES"]

FAST_FAMILIES: Final[tuple[Define, ...]] = (
    FastArithmetic.define,
    FastReductions.define,
    FastScans.define,
    FastRunningExtrema.define,
    FastSelection.define,
    FastOrdering.define,
    FastMatrixProducts.define,
    FastViews.define,
    FastShapes.define,
    FastIndexing.define,
    FastRectifiers.define,
    FastSigmoids.define,
    FastSoftmax.define,
    FastLikelihood.define,
    FastNormalization.define,
    FastConvolutions.define,
    FastPatches.define,
    SeededRandom.define,
    SeededDistributions.define,
    SeededGammaNumbers.define,
)
"""For the argument `kernels` of `dovetail_aten.backends.register_backend`."""
