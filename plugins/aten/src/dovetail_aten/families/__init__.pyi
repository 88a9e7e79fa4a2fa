from .activations.kernels.gated_units import GatedUnits as GatedUnits
from .activations.kernels.hard_activations import HardActivations as HardActivations
from .activations.kernels.rectifiers import Rectifiers as Rectifiers
from .activations.kernels.sigmoids import Sigmoids as Sigmoids
from .attention.kernels import Attention as Attention
from .attention.kernels import check_attention as check_attention
from .attention.kernels import factor_of as factor_of
from .convolution.kernels.convolution import FEW as FEW
from .convolution.kernels.convolution import Convolutions as Convolutions
from .convolution.kernels.convolution import turned as turned
from .convolution.kernels.patches import Patches as Patches
from .fft.kernels import Fourier as Fourier
from .indexing.kernels.indexing import Indexing as Indexing
from .indexing.kernels.indexing_along import IndexingAlong as IndexingAlong
from .linalg.kernels.factor_checks import check_lu_solve as check_lu_solve
from .linalg.kernels.factor_checks import check_ormqr as check_ormqr
from .linalg.kernels.factor_checks import check_pivots as check_pivots
from .linalg.kernels.factor_checks import check_reflections as check_reflections
from .linalg.kernels.factorizations import Factorizations as Factorizations
from .linalg.kernels.linear_systems import LinearSystems as LinearSystems
from .linalg.kernels.linear_systems import check_cross as check_cross
from .linalg.kernels.matrices import Matrices as Matrices
from .linalg.kernels.matrix_checks import check_old_system as check_old_system
from .linalg.kernels.matrix_checks import check_square as check_square
from .linalg.kernels.matrix_checks import check_trace as check_trace
from .linalg.kernels.matrix_checks import failure as failure
from .linalg.kernels.matrix_checks import refuse_dtypes as refuse_dtypes
from .losses.kernels.likelihood import Likelihood as Likelihood
from .losses.kernels.losses import Losses as Losses
from .matmul.kernels import (
    MatrixProducts as MatrixProducts,
)
from .matmul.kernels import (
    check_bmm as check_bmm,
)
from .matmul.kernels import (
    check_mm as check_mm,
)
from .normalization.kernels.channel_normalization import (
    ChannelNormalization as ChannelNormalization,
)
from .normalization.kernels.channel_normalization import check_batch_norm as check_batch_norm
from .normalization.kernels.channel_normalization import check_group_norm as check_group_norm
from .normalization.kernels.normalization import Normalization as Normalization
from .normalization.kernels.normalization import check_layer_norm as check_layer_norm
from .padding.kernels import Borders as Borders
from .pointwise.kernels.arithmetic import Arithmetic as Arithmetic
from .pointwise.kernels.number_parts import NumberParts as NumberParts
from .pooling.kernels.average_pooling import AveragePooling as AveragePooling
from .pooling.kernels.max_pooling import MaxPooling as MaxPooling
from .pooling.kernels.pooled_places import PooledPlaces as PooledPlaces
from .pooling.kernels.pooling_geometry import check_pooled as check_pooled
from .pooling.kernels.pooling_geometry import pooled_windows as pooled_windows
from .pooling.kernels.segments import Divisors as Divisors
from .pooling.kernels.segments import Runs as Runs
from .random.kernels.distributions import Distributions as Distributions
from .random.kernels.drawing import Drawing as Drawing
from .random.kernels.gamma_numbers import GammaNumbers as GammaNumbers
from .random.kernels.random import Random as Random
from .recurrent.kernels.recurrent_sequences import RecurrentSequences as RecurrentSequences
from .reductions.kernels.ordering import Ordering as Ordering
from .reductions.kernels.reductions import Reductions as Reductions
from .reductions.kernels.running_extrema import RunningExtrema as RunningExtrema
from .reductions.kernels.scans import Scans as Scans
from .scattering.kernels.indexed_writes import IndexedWrites as IndexedWrites
from .scattering.kernels.scatter_reductions import ScatterReductions as ScatterReductions
from .searching.kernels.unique import Distinct as Distinct
from .shapes.kernels import Shapes as Shapes
from .softmax.kernels import Softmax as Softmax
from .split_and_scatter.kernels import Windows as Windows
from .split_and_scatter.kernels import window_count as window_count
from .statistics.kernels.selection import Selection as Selection
from .views.kernels.views import Views as Views
