"""Discrete Fourier transforms, as ``torch.fft``: through SciPy's pocketfft, which keeps float32."""

from dovetail_aten import fft as _fft
from dovetail_aten.fft import *  # noqa: F403

__all__: list[str] = []
__all__ += _fft.__all__
