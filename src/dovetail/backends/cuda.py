"""The switches of ``torch.backends.cuda`` that programs set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

__all__ = ["is_built", "matmul"]

matmul: Final = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
"""Whether products may be computed with less precision: CuPy's own settings decide."""


def is_built() -> bool:
    """Return whether the CUDA plugin is installed; `dovetail.cuda.is_available` also asks for a
    device.
    """
    from importlib.util import find_spec

    return find_spec("dovetail_cuda") is not None
