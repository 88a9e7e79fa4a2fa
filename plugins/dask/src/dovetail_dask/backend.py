"""The registration of the backend: which kernels its operators have."""

from __future__ import annotations

from typing import Final

from dovetail_aten._generated.array_kernels import OPERATORS
from dovetail_aten.backends import KernelTable, register_backend

from . import chunked
from .arrays import DaskArrays
from .chunked import OneTask
from .families import convolution, ordering, pointwise
from .namespace import Namespace

__all__ = ["register"]

GENERIC: Final = (
    "pointwise.Comparison",
    "reductions.Reductions",
    "reductions.Norms",
    "reductions.Scans",
    "softmax.Softmax",
    "matmul.MatrixProducts",
    "views.Views",
    "views.MemoryViews",
    "shapes.Shapes",
    "indexing.Indexing",
    "indexing.IndexingAlong",
    "scattering.IndexedWrites",
    "creation.Creation",
    "random.Random",
    "random.Distributions",
    "losses.Losses",
    "losses.Likelihood",
    "normalization.Normalization",
    "normalization.ChannelNormalization",
)
"""Families whose kernels, written for any array namespace, go chunk by chunk on Dask's."""


def register() -> None:
    """Register the device ``dask``."""
    register_backend(
        "dask",
        Namespace(),
        DaskArrays,
        kernels=[
            _one_task_each,
            pointwise.define,
            chunked.define,
            convolution.define,
            ordering.define,
        ],
        families={
            family: f"dovetail_dask.families.array_kernels.{name}"
            for family, name in (
                ("indexing.Indexing", "ChunkedIndexing"),
                ("shapes.Shapes", "ChunkedShapes"),
                ("softmax.Softmax", "ChunkedSoftmax"),
            )
        },
    )


def _one_task_each(_xp: object, kernel: KernelTable, _capabilities: object) -> None:
    """Let one task compute each operator of the other families, if nothing better follows."""
    for family, names in OPERATORS.items():
        if family not in GENERIC:
            for name in names:
                kernel(name, OneTask(name))
