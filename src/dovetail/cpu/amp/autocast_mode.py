"""The old `autocast` of the CPU."""

from __future__ import annotations

from dovetail_kernel import bfloat16, warn_user
from dovetail_kernel import dtype as _dtype

from ... import amp

__all__ = ["autocast"]


class autocast(amp.autocast):
    """`amp.autocast` on the CPU.

    .. deprecated:: PyTorch 2.4
        Use ``amp.autocast("cpu", ...)``.
    """

    def __init__(
        self, enabled: bool = True, dtype: _dtype = bfloat16, cache_enabled: bool = True
    ) -> None:
        warn_user(
            "`dovetail.cpu.amp.autocast(args...)` is deprecated. "
            "Please use `dovetail.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
