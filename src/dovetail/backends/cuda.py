"""The settings of ``torch.backends.cuda``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from dovetail_aten.front_end import matmul_precision

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


# -- kernels of attention: settings that are stored and ignored; see `nn.attention` ----------------

_switches = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True, "reduction": False}


def _switch(
    set_name: str, get_name: str, switch: str, reason: str = "there is a single attention kernel"
) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    """Return the functions that store a setting and return it."""

    def store(enabled: bool) -> None:
        _switches[switch] = bool(enabled)

    def stored() -> bool:
        return _switches[switch]

    store.__name__ = store.__qualname__ = set_name
    store.__doc__ = f"Store the setting and ignore it: {reason}."
    stored.__name__ = stored.__qualname__ = get_name
    stored.__doc__ = f"Return the value set by `{set_name}`; {_switches[switch]} by default."
    return store, stored


enable_flash_sdp, flash_sdp_enabled = _switch("enable_flash_sdp", "flash_sdp_enabled", "flash")
enable_math_sdp, math_sdp_enabled = _switch("enable_math_sdp", "math_sdp_enabled", "math")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch(
    "enable_mem_efficient_sdp", "mem_efficient_sdp_enabled", "mem_efficient"
)
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("enable_cudnn_sdp", "cudnn_sdp_enabled", "cudnn")
allow_fp16_bf16_reduction_math_sdp, fp16_bf16_reduction_math_sdp_allowed = _switch(
    "allow_fp16_bf16_reduction_math_sdp",
    "fp16_bf16_reduction_math_sdp_allowed",
    "reduction",
    "sums of half precision are always float32",
)


def is_flash_attention_available() -> bool:
    """Return False: there is no such kernel for CUDA."""
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, bool]]:
    """Set four settings inside a block. Deprecated: use `nn.attention.sdpa_kernel`."""
    before = dict(_switches)
    try:
        _switches.update(
            flash=bool(enable_flash),
            math=bool(enable_math),
            mem_efficient=bool(enable_mem_efficient),
            cudnn=bool(enable_cudnn),
        )
        yield {}
    finally:
        _switches.update(before)
