"""Discrete Fourier transforms, as ``torch.fft``: through SciPy's pocketfft, which keeps float32."""

import typing as _typing

from dovetail_aten import fft as _fft
from dovetail_aten.fft import *  # noqa: F403

from ..names.missing import names_of as _names_of

__all__: list[str] = []
__all__ += _fft.__all__


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, prefix="fft_")
