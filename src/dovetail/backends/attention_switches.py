"""Settings of attention kernels, as in ``torch.backends.cuda``: they are stored and ignored. Use
`nn.attention.sdpa_kernel` to restrict kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
