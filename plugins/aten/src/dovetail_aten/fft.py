"""The Fourier transforms that are not functions at the top."""

from ._generated import fft as _generated
from ._generated.fft import *  # noqa: F403
from .tensor.creation.windows import fftfreq, rfftfreq

__all__ = ["fftfreq", "rfftfreq"]
__all__ += _generated.__all__
