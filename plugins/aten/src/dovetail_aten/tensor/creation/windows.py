"""Windows and frequencies of signals: functions that make tensors, with ``requires_grad``, which
the operators do not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail_kernel import Layout

from ..._generated import functions as F
from ...typing import Tensor
from .factory import finished

if TYPE_CHECKING:
    from dovetail_kernel import DeviceLike


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Hann window, ``0.5 - 0.5 cos(2 pi k / (n - 1))``.

    Parameters
    ----------
    window_length
        The number of values.
    periodic
        Whether the window is one period of a periodic window; then n is ``window_length + 1``.
        Default: True.
    dtype, layout, device, pin_memory
        As for `zeros`; a real floating-point dtype.
    requires_grad
        Whether the result requires grad.

    Returns
    -------
    Tensor
        Of shape ``(window_length,)``.

    Raises
    ------
    RuntimeError
        For a negative length, or another dtype.
    """
    options = _options(dtype, layout, device, pin_memory)
    return _finished(F.hann_window(window_length, periodic, **options), pin_memory, requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Hamming window, ``alpha - beta cos(2 pi k / (n - 1))``. Parameters and errors are
    those of `hann_window`.
    """
    options = _options(dtype, layout, device, pin_memory)
    made = F.hamming_window(window_length, periodic, alpha, beta, **options)
    return _finished(made, pin_memory, requires_grad)


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Bartlett window, ``1 - abs(2 k / (n - 1) - 1)``. Parameters and errors are those
    of `hann_window`.
    """
    options = _options(dtype, layout, device, pin_memory)
    return _finished(
        F.bartlett_window(window_length, periodic, **options), pin_memory, requires_grad
    )


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Blackman window, ``0.42 - 0.5 cos(2 pi k / (n - 1)) + 0.08 cos(4 pi k / (n -
    1))``. Parameters and errors are those of `hann_window`.
    """
    options = _options(dtype, layout, device, pin_memory)
    return _finished(
        F.blackman_window(window_length, periodic, **options), pin_memory, requires_grad
    )


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the Kaiser window, ``i0(beta sqrt(1 - (2 k / (n - 1) - 1) ** 2)) / i0(beta)``.
    Parameters and errors are those of `hann_window`.
    """
    options = _options(dtype, layout, device, pin_memory)
    made = F.kaiser_window(window_length, periodic, beta, **options)
    return _finished(made, pin_memory, requires_grad)


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies of the transform of `n` values with spacing `d`, in its order: ``[0,
    1, ..., (n - 1) // 2, -(n // 2), ..., -1] / (d n)``.

    Raises
    ------
    RuntimeError
        For a negative `n`.
    """
    options = _options(dtype, layout, device, None)
    return finished(F.fft_fftfreq(n, d, **options), requires_grad, out, "fft_fftfreq")


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies of the transform of `n` real values with spacing `d`: ``[0, 1, ..., n
    // 2] / (d n)``.

    Raises
    ------
    RuntimeError
        For a negative `n`.
    """
    options = _options(dtype, layout, device, None)
    return finished(F.fft_rfftfreq(n, d, **options), requires_grad, out, "fft_rfftfreq")


def _options(
    dtype: object, layout: Layout | None, device: DeviceLike | None, pin_memory: object
) -> dict[str, Any]:
    return {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}


def _finished(made: Any, pin_memory: bool | None, requires_grad: bool) -> Tensor:
    return finished(made.pin_memory() if pin_memory else made, requires_grad, None)
