"""The families of array kernels together: the table of all kernels for a namespace, and its
registration for a backend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from dovetail_dispatcher.table import registry

from .arithmetic import Arithmetic
from .average_pooling import AveragePooling
from .capabilities import Capabilities
from .channel_normalization import ChannelNormalization
from .choices import Choices
from .comparison import Comparison
from .complex_parts import ComplexParts
from .convolution import Convolutions
from .creation import Creation
from .ctc import Alignments
from .distinct import Distinct
from .distributions import Distributions
from .factorizations import Factorizations
from .family import Family
from .fft import Fourier
from .fractional_pooling import FractionalPooling
from .gated_units import GatedUnits
from .hard_activations import HardActivations
from .histograms import Histograms
from .indexed_writes import IndexedWrites
from .indexing import Indexing
from .indexing_along import IndexingAlong
from .likelihood import Likelihood
from .linear_systems import LinearSystems
from .losses import Losses
from .matmul import MatrixProducts
from .max_pooling import MaxPooling
from .memory_views import MemoryViews
from .namespace_functions import define_namespace_functions
from .namespace_names import with_names
from .normalization import Normalization
from .norms import Norms
from .number_parts import NumberParts
from .ordering import Ordering
from .patches import Patches
from .pointwise import Pointwise
from .polynomials import Polynomials
from .pooled_places import PooledPlaces
from .random import Random
from .rectifiers import Rectifiers
from .reductions import Reductions
from .running_extrema import RunningExtrema
from .scans import Scans
from .scatter_reductions import ScatterReductions
from .searching import Searching
from .selection import Selection
from .shapes import Shapes
from .shuffles import Shuffles
from .sigmoids import Sigmoids
from .softmax import Softmax
from .special import Special
from .spectra import Spectra
from .table import KernelTable
from .triangles import Triangles
from .upsampling import Upsampling
from .views import Views
from .windows import Windows

__all__ = [
    "FAMILIES",
    "Define",
    "array_kernel_table",
    "register_array_kernels",
]

Define = Callable[[Any, KernelTable, Capabilities], None]
"""What defines kernels in a table: ``define(xp, kernel, capabilities)``, as `Family.define`."""

FAMILIES: Final[tuple[type[Family], ...]] = (
    Arithmetic,
    Pointwise,
    NumberParts,
    Special,
    Polynomials,
    Fourier,
    Choices,
    Comparison,
    Reductions,
    Norms,
    Scans,
    RunningExtrema,
    Ordering,
    Selection,
    Distinct,
    Searching,
    Triangles,
    Histograms,
    MatrixProducts,
    Factorizations,
    LinearSystems,
    Spectra,
    Views,
    MemoryViews,
    Windows,
    Shapes,
    Indexing,
    IndexingAlong,
    IndexedWrites,
    ScatterReductions,
    Creation,
    ComplexParts,
    Random,
    Distributions,
    Rectifiers,
    Sigmoids,
    HardActivations,
    GatedUnits,
    Softmax,
    Losses,
    Likelihood,
    Alignments,
    Normalization,
    ChannelNormalization,
    Convolutions,
    AveragePooling,
    MaxPooling,
    FractionalPooling,
    PooledPlaces,
    Patches,
    Shuffles,
    Upsampling,
)


class ArrayLibrary(Protocol):
    """What kernels are registered on: a `dovetail_dispatcher.Library` of aten and a backend's."""

    def array_impl(
        self,
        op_name: str,
        fn: Callable[..., Any],
        *,
        fast_path: Callable[..., Any] | None = None,
        out_function: Callable[..., Any] | None = None,
        general_out_function: Callable[..., Any] | None = None,
    ) -> None: ...


def array_kernel_table(
    xp: Any, capabilities: Capabilities, more: Sequence[Define] = ()
) -> KernelTable:
    """Return the array kernels for an array namespace.

    Parameters
    ----------
    xp
        A namespace with NumPy's names, such as `numpy` or `cupy`.
    capabilities
        What the backend supplies beyond it.
    more
        Functions ``define(xp, kernel, capabilities)`` that run afterwards; what they define takes
        the place of the generic kernel.
    """
    table = KernelTable()
    define_namespace_functions(xp, table, capabilities)
    names = with_names(xp)
    for family in FAMILIES:
        family.define(names, table, capabilities)
    for define in more:
        define(xp, table, capabilities)
    return table


def register_array_kernels(m: ArrayLibrary, table: KernelTable) -> None:
    """Register the array kernels of a table on ``Library("aten", "IMPL", "CPU")`` or that of
    another backend's key; those of operators that a selective build leaves out are not needed.
    """
    for name, kernel in table.kernels.items():
        if f"aten::{name.partition('.')[0]}" in registry.left_out:
            continue
        m.array_impl(
            name,
            kernel.fn,
            fast_path=kernel.fast_path,
            out_function=kernel.out_function,
            general_out_function=kernel.general_out_function,
        )
