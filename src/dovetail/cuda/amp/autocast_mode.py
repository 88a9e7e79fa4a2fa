"""The old `autocast` of CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import dtype as _dtype
from dovetail_kernel import float16, warn_user

from ... import amp

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`amp.autocast` on CUDA devices.

    .. deprecated:: PyTorch 2.4
        Use ``amp.autocast("cuda", ...)``.
    """

    def __init__(
        self, enabled: bool = True, dtype: _dtype = float16, cache_enabled: bool = True
    ) -> None:
        warn_user(
            "`dovetail.cuda.amp.autocast(args...)` is deprecated. "
            "Please use `dovetail.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(
    fwd: Callable[..., object] | None = None, *, cast_inputs: _dtype | None = None
) -> Callable[..., Any]:
    """Decorate the ``forward`` of an `autograd.Function`: `amp.custom_fwd` for CUDA devices."""
    _warn("custom_fwd")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., object]) -> Callable[..., Any]:
    """Decorate the ``backward`` of an `autograd.Function`: `amp.custom_bwd` for CUDA devices."""
    _warn("custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")


def _warn(name: str) -> None:
    warn_user(
        f"`dovetail.cuda.amp.{name}(args...)` is deprecated. Please use "
        f"`dovetail.amp.{name}(args..., device_type='cuda')` instead.",
        FutureWarning,
    )
