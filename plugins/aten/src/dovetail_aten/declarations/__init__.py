"""The operators of the base library by family: how they are declared, and their samples.

Nothing here is imported by a program: the code generator reads the declarations, and tests ask for
the samples, with `dovetail_dispatcher.testing.op_infos`.
"""

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
    "pieces",
    "stacks",
    "shapes",
    "matmul",
    "linalg",
    "nn",
    "convolution",
    "pooling",
    "activations",
    "borders",
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
    "sampling",
    "attention",
    "recurrent",
)


def op_infos() -> list[OpInfo]:
    """Return the `OpInfo` of every operator of the base library, or of a selective build of it."""
    found: list[OpInfo] = []
    for family in FAMILIES:
        found += import_module(f".{family}.samples", __name__).OP_INFOS
    return [info for info in found if info.name.partition(".")[0] not in registry.left_out]
