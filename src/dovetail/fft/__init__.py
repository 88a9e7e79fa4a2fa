"""Discrete Fourier transforms, as ``torch.fft``: through SciPy's pocketfft, which keeps float32."""

from dovetail_aten import fft as _fft
from dovetail_aten.fft import *  # noqa: F403

from ..names.missing import serve_names as _serve_names

__all__: list[str] = []
__all__ += _fft.__all__


_serve_names(__name__, prefix="fft_")
