"""The families whose kernels are NumPy's own here: each class derives from the generic family."""

from __future__ import annotations

from typing import Any, Final

from dovetail_aten.kernel_support import KernelTable, expect_family
from dovetail_aten.typing import Namespace

FAST_FAMILIES: Final = {
    "reductions.Scans": "dovetail_cpu.kernels.scans.FastScans",
    "reductions.RunningExtrema": "dovetail_cpu.kernels.scans.FastRunningExtrema",
    "statistics.Selection": "dovetail_cpu.kernels.scans.FastSelection",
    "normalization.ChannelNormalization": "dovetail_cpu.kernels.scans.WideChannels",
    "matmul.MatrixProducts": "dovetail_cpu.kernels.matmul.FastMatrixProducts",
    "linalg.Factorizations": "dovetail_cpu.kernels.matrices.FastFactorizations",
    "recurrent.RecurrentSequences": "dovetail_cpu.kernels.recurrence.OneThreadSequences",
    "convolution.Convolutions": "dovetail_cpu.kernels.convolution.FastConvolutions",
    "convolution.Patches": "dovetail_cpu.functions.patches.FastPatches",
    "random.Random": "dovetail_cpu.random.seeded_random.SeededRandom",
    "random.Distributions": "dovetail_cpu.random.seeded_random.SeededDistributions",
    "random.GammaNumbers": "dovetail_cpu.random.seeded_random.SeededGammaNumbers",
}
"""For the argument `families` of `dovetail_aten.backends.register_backend`."""

WHOLE_COMPOSITES: Final = {
    "dovetail_cpu.kernels.lapack_solutions.LapackSolutions": (
        "cholesky_inverse",
        "cholesky_solve",
        "linalg_householder_product",
        "linalg_lu_solve",
        "ormqr",
    )
}
"""Families of kernels of operators that are composites elsewhere, with these operators."""


def define_whole_composites(xp: Namespace, kernel: KernelTable, capabilities: Any) -> None:
    """Let a table have the kernels of composites that are computed at once here."""
    for family, operators in WHOLE_COMPOSITES.items():
        expect_family(kernel, family, operators, xp, capabilities)
