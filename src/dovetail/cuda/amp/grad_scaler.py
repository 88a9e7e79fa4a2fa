"""The old `GradScaler` of CUDA."""

from __future__ import annotations

from dovetail_kernel import warn_user

from ... import amp

__all__ = ["GradScaler"]


class GradScaler(amp.GradScaler):
    """`amp.GradScaler` on CUDA devices.

    .. deprecated:: PyTorch 2.4
        Use ``amp.GradScaler("cuda", ...)``.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_user(
            "`dovetail.cuda.amp.GradScaler(args...)` is deprecated. "
            "Please use `dovetail.amp.GradScaler('cuda', args...)` instead.",
            FutureWarning,
        )
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
