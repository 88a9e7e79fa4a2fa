"""The switches of ``torch.backends.cuda`` that programs set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from .attention_switches import (
    allow_fp16_bf16_reduction_math_sdp,
    cudnn_sdp_enabled,
    enable_cudnn_sdp,
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    fp16_bf16_reduction_math_sdp_allowed,
    is_flash_attention_available,
    math_sdp_enabled,
    mem_efficient_sdp_enabled,
    sdp_kernel,
)

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]

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
