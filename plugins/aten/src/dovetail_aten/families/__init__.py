"""The operators of the base library, by family: a folder has all of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

if TYPE_CHECKING:
    from .activations.kernels.gated_units import GatedUnits
    from .activations.kernels.hard_activations import HardActivations
    from .activations.kernels.rectifiers import Rectifiers
    from .activations.kernels.sigmoids import Sigmoids
    from .attention.kernels import Attention, check_attention, factor_of
    from .convolution.kernels.convolution import FEW, Convolutions, turned
    from .convolution.kernels.patches import Patches
    from .fft.kernels import Fourier
    from .indexing.kernels.indexing import Indexing
    from .indexing.kernels.indexing_along import IndexingAlong
    from .linalg.kernels.factor_checks import (
        check_lu_solve,
        check_ormqr,
        check_pivots,
        check_reflections,
    )
    from .linalg.kernels.factorizations import Factorizations
    from .linalg.kernels.linear_systems import LinearSystems, check_cross
    from .linalg.kernels.matrices import Matrices
    from .linalg.kernels.matrix_checks import (
        check_old_system,
        check_square,
        check_trace,
        failure,
        refuse_dtypes,
    )
    from .losses.kernels.likelihood import Likelihood
    from .losses.kernels.losses import Losses
    from .matmul.kernels import MatrixProducts
    from .normalization.kernels.channel_normalization import (
        ChannelNormalization,
        check_batch_norm,
        check_group_norm,
    )
    from .normalization.kernels.normalization import Normalization, check_layer_norm
    from .padding.kernels import Borders
    from .pointwise.kernels.arithmetic import Arithmetic
    from .pointwise.kernels.number_parts import NumberParts
    from .pooling.kernels.average_pooling import AveragePooling
    from .pooling.kernels.max_pooling import MaxPooling
    from .pooling.kernels.pooled_places import PooledPlaces
    from .pooling.kernels.pooling_geometry import check_pooled, pooled_windows
    from .pooling.kernels.segments import Divisors, Runs
    from .random.kernels.distributions import Distributions
    from .random.kernels.drawing import Drawing
    from .random.kernels.gamma_numbers import GammaNumbers
    from .random.kernels.random import Random
    from .recurrent.kernels.recurrent_sequences import RecurrentSequences
    from .reductions.kernels.ordering import Ordering
    from .reductions.kernels.reductions import Reductions
    from .reductions.kernels.running_extrema import RunningExtrema
    from .reductions.kernels.scans import Scans
    from .scattering.kernels.indexed_writes import IndexedWrites
    from .scattering.kernels.scatter_reductions import ScatterReductions
    from .searching.kernels.unique import Distinct
    from .shapes.kernels import Shapes
    from .softmax.kernels import Softmax
    from .split_and_scatter.kernels import Windows, window_count
    from .statistics.kernels.selection import Selection
    from .views.kernels.views import Views

__all__ = [
    "FEW",
    "Arithmetic",
    "Attention",
    "AveragePooling",
    "Borders",
    "ChannelNormalization",
    "Convolutions",
    "Distinct",
    "Distributions",
    "Divisors",
    "Drawing",
    "Factorizations",
    "Fourier",
    "GammaNumbers",
    "GatedUnits",
    "HardActivations",
    "IndexedWrites",
    "Indexing",
    "IndexingAlong",
    "Likelihood",
    "LinearSystems",
    "Losses",
    "Matrices",
    "MatrixProducts",
    "MaxPooling",
    "Normalization",
    "NumberParts",
    "Ordering",
    "Patches",
    "PooledPlaces",
    "Random",
    "Rectifiers",
    "RecurrentSequences",
    "Reductions",
    "RunningExtrema",
    "Runs",
    "Scans",
    "ScatterReductions",
    "Selection",
    "Shapes",
    "Sigmoids",
    "Softmax",
    "Views",
    "Windows",
    "check_attention",
    "check_batch_norm",
    "check_cross",
    "check_group_norm",
    "check_layer_norm",
    "check_lu_solve",
    "check_old_system",
    "check_ormqr",
    "check_pivots",
    "check_pooled",
    "check_reflections",
    "check_square",
    "check_trace",
    "factor_of",
    "failure",
    "pooled_windows",
    "refuse_dtypes",
    "turned",
    "window_count",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "activations.kernels.gated_units": ("GatedUnits",),
        "activations.kernels.hard_activations": ("HardActivations",),
        "activations.kernels.rectifiers": ("Rectifiers",),
        "activations.kernels.sigmoids": ("Sigmoids",),
        "attention.kernels": (
            "Attention",
            "check_attention",
            "factor_of",
        ),
        "convolution.kernels.convolution": (
            "Convolutions",
            "FEW",
            "turned",
        ),
        "convolution.kernels.patches": ("Patches",),
        "fft.kernels": ("Fourier",),
        "indexing.kernels.indexing": ("Indexing",),
        "indexing.kernels.indexing_along": ("IndexingAlong",),
        "linalg.kernels.factor_checks": (
            "check_lu_solve",
            "check_ormqr",
            "check_pivots",
            "check_reflections",
        ),
        "linalg.kernels.factorizations": ("Factorizations",),
        "linalg.kernels.linear_systems": (
            "LinearSystems",
            "check_cross",
        ),
        "linalg.kernels.matrices": ("Matrices",),
        "linalg.kernels.matrix_checks": (
            "check_old_system",
            "check_square",
            "check_trace",
            "failure",
            "refuse_dtypes",
        ),
        "losses.kernels.likelihood": ("Likelihood",),
        "losses.kernels.losses": ("Losses",),
        "matmul.kernels": ("MatrixProducts",),
        "normalization.kernels.channel_normalization": (
            "ChannelNormalization",
            "check_batch_norm",
            "check_group_norm",
        ),
        "normalization.kernels.normalization": (
            "Normalization",
            "check_layer_norm",
        ),
        "padding.kernels": ("Borders",),
        "pointwise.kernels.arithmetic": ("Arithmetic",),
        "pointwise.kernels.number_parts": ("NumberParts",),
        "pooling.kernels.average_pooling": ("AveragePooling",),
        "pooling.kernels.max_pooling": ("MaxPooling",),
        "pooling.kernels.pooled_places": ("PooledPlaces",),
        "pooling.kernels.pooling_geometry": (
            "check_pooled",
            "pooled_windows",
        ),
        "pooling.kernels.segments": (
            "Divisors",
            "Runs",
        ),
        "random.kernels.distributions": ("Distributions",),
        "random.kernels.drawing": ("Drawing",),
        "random.kernels.gamma_numbers": ("GammaNumbers",),
        "random.kernels.random": ("Random",),
        "recurrent.kernels.recurrent_sequences": ("RecurrentSequences",),
        "reductions.kernels.ordering": ("Ordering",),
        "reductions.kernels.reductions": ("Reductions",),
        "reductions.kernels.running_extrema": ("RunningExtrema",),
        "reductions.kernels.scans": ("Scans",),
        "scattering.kernels.indexed_writes": ("IndexedWrites",),
        "scattering.kernels.scatter_reductions": ("ScatterReductions",),
        "searching.kernels.unique": ("Distinct",),
        "shapes.kernels": ("Shapes",),
        "softmax.kernels": ("Softmax",),
        "split_and_scatter.kernels": (
            "Windows",
            "window_count",
        ),
        "statistics.kernels.selection": ("Selection",),
        "views.kernels.views": ("Views",),
    },
)
