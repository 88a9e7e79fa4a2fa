"""The settings of ``torch.backends.cuda``."""

from __future__ import annotations

from typing import Final

from dovetail_aten.front_end import matmul_precision

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


class Products:
    """How products of matrices may be computed; what is not TF32 is noted, and nothing follows.

    Attributes
    ----------
    allow_fp16_reduced_precision_reduction, allow_bf16_reduced_precision_reduction
        Whether sums may be half precision. cuBLAS is asked for float32.
    allow_fp16_accumulation
        The same.
    """

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether factors of float32 may be rounded to TF32: what
        `dovetail.set_float32_matmul_precision` says, too.
        """
        return matmul_precision.get_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        matmul_precision.allow_tf32(bool(allowed))

    @property
    def fp32_precision(self) -> str:
        """The same in other words: "tf32", or "none", which is float32 as it is."""
        return "tf32" if self.allow_tf32 else "none"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        if precision not in ("none", "ieee", "tf32"):
            raise RuntimeError(
                f"Invalid precision for backend cuda: {precision!r}. Give 'ieee' or 'tf32'."
            )
        matmul_precision.allow_tf32(precision == "tf32")


matmul: Final = Products()
"""How products of matrices may be computed on CUDA devices."""


def is_built() -> bool:
    """Return whether the CUDA plugin is installed; `dovetail.cuda.is_available` also asks for a
    device.
    """
    from importlib.util import find_spec

    return find_spec("dovetail_cuda") is not None
