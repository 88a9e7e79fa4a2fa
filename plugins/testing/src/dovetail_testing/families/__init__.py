"""Samples of the base library's operators, by the families that declare the operators."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from dovetail_dispatcher.table import registry

if TYPE_CHECKING:
    from dovetail_dispatcher.testing import OpInfo

FAMILIES: Final = (
    "pointwise",
    "special",
    "fft",
    "reductions",
    "views",
    "split_and_scatter",
    "stack_and_tile",
    "shapes",
    "matmul",
    "linalg",
    "softmax",
    "convolution",
    "pooling",
    "activations",
    "padding",
    "distances",
    "dropouts",
    "losses",
    "ctc",
    "margin_losses",
    "normalization",
    "indexing",
    "scattering",
    "embeddings",
    "creation",
    "random",
    "searching",
    "statistics",
    "interpolation",
    "attention",
    "recurrent",
)


def op_infos() -> list[OpInfo]:
    """Return the `OpInfo` of every operator of the base library, or of a selective build of it."""
    found: list[OpInfo] = []
    for family in FAMILIES:
        found += import_module(f".{family}.samples", __name__).OP_INFOS
    return [info for info in found if info.name.partition(".")[0] not in registry.left_out]
