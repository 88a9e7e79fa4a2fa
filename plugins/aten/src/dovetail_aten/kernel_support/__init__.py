"""What the array kernels of the families stand on, and their tables. Array kernels are written
once against an array namespace; every backend registers them for itself.

They are methods of classes that hold the namespace: see `Family`. They never
write to an argument, never use ``out=`` or item assignment, give optional arguments of the
namespace's functions by keyword, and return new arrays unless their operator is a view. What a
namespace does not offer that way comes from the backend's `Capabilities`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

from .capabilities import Capabilities
from .dims import check_size, wrap_dim, wrap_dims
from .family import Family, never_warns, operator, rounds_once, widened
from .geometry.broadcasting import broadcast_shapes
from .geometry.memory_layout import contiguous_strides
from .namespace_names import with_names
from .operands import Numbers, Precision
from .table import ArrayKernel, Function, KernelTable

if TYPE_CHECKING:
    from .argsort import Sorted
    from .checks.margin_checks import check_classes, check_labels, check_pdist, out_of_range
    from .checks.product_checks import check_expandable
    from .cumulative import Running
    from .families import (
        FAMILIES,
        Define,
        array_kernel_table,
        expect_family,
        family_class,
        register_array_kernels,
    )
    from .geometry.border_geometry import bordered_shape, bordered_sizes, sources_of
    from .geometry.view_bounds import extent, repeats_places
    from .geometry.window_geometry import Window
    from .loss_reductions import MEAN, NONE, SUM

__all__ = [
    "FAMILIES",
    "MEAN",
    "NONE",
    "SUM",
    "ArrayKernel",
    "Capabilities",
    "Define",
    "Family",
    "Function",
    "KernelTable",
    "Numbers",
    "Precision",
    "Running",
    "Sorted",
    "Window",
    "array_kernel_table",
    "bordered_shape",
    "bordered_sizes",
    "broadcast_shapes",
    "check_classes",
    "check_expandable",
    "check_labels",
    "check_pdist",
    "check_size",
    "contiguous_strides",
    "expect_family",
    "extent",
    "family_class",
    "never_warns",
    "operator",
    "out_of_range",
    "register_array_kernels",
    "repeats_places",
    "rounds_once",
    "sources_of",
    "widened",
    "with_names",
    "wrap_dim",
    "wrap_dims",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "argsort": ("Sorted",),
        "checks.margin_checks": (
            "check_classes",
            "check_labels",
            "check_pdist",
            "out_of_range",
        ),
        "checks.product_checks": ("check_expandable",),
        "cumulative": ("Running",),
        "geometry.border_geometry": (
            "bordered_shape",
            "bordered_sizes",
            "sources_of",
        ),
        "geometry.view_bounds": (
            "extent",
            "repeats_places",
        ),
        "geometry.window_geometry": ("Window",),
        "loss_reductions": (
            "MEAN",
            "NONE",
            "SUM",
        ),
        "families": (
            "FAMILIES",
            "Define",
            "array_kernel_table",
            "expect_family",
            "family_class",
            "register_array_kernels",
        ),
    },
)
