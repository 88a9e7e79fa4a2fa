"""Settings of attention kernels, as in ``torch.backends.cuda``: they are stored and ignored. Use
`nn.attention.sdpa_kernel` to restrict kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_switches = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True, "reduction": False}


def enable_flash_sdp(enabled: bool) -> None:
    """Store the setting and ignore it: there is a single attention kernel."""
    _switches["flash"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """Return the value set by `enable_flash_sdp`; True by default."""
    return _switches["flash"]


def enable_math_sdp(enabled: bool) -> None:
    """Store the setting and ignore it, as `enable_flash_sdp`."""
    _switches["math"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Return the value set by `enable_math_sdp`; True by default."""
    return _switches["math"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Store the setting and ignore it, as `enable_flash_sdp`."""
    _switches["mem_efficient"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Return the value set by `enable_mem_efficient_sdp`; True by default."""
    return _switches["mem_efficient"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Store the setting and ignore it, as `enable_flash_sdp`."""
    _switches["cudnn"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Return the value set by `enable_cudnn_sdp`; True by default."""
    return _switches["cudnn"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Store the setting, as `enable_flash_sdp`: sums of half precision are always float32."""
    _switches["reduction"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return the value set by `allow_fp16_bf16_reduction_math_sdp`; False by default."""
    return _switches["reduction"]


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
