"""Windows and frequencies of signals: functions that make tensors, with ``requires_grad``, which
the operators do not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from ..._generated import functions as F
from ...calling.signatures import FACTORY_OPTIONS, FactoryOptions, shown_plainly
from ...typing import Tensor
from .factory import finished


@shown_plainly(**FACTORY_OPTIONS)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    requires_grad: bool = False,
    **options: Unpack[FactoryOptions],
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
    return _window(F.hann_window, (window_length, periodic), options, requires_grad)


@shown_plainly(**FACTORY_OPTIONS)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    requires_grad: bool = False,
    **options: Unpack[FactoryOptions],
) -> Tensor:
    """Return the Hamming window, ``alpha - beta cos(2 pi k / (n - 1))``. Parameters and errors are
    those of `hann_window`.
    """
    return _window(F.hamming_window, (window_length, periodic, alpha, beta), options, requires_grad)


@shown_plainly(**FACTORY_OPTIONS)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    requires_grad: bool = False,
    **options: Unpack[FactoryOptions],
) -> Tensor:
    """Return the Bartlett window, ``1 - abs(2 k / (n - 1) - 1)``. Parameters and errors are those
    of `hann_window`.
    """
    return _window(F.bartlett_window, (window_length, periodic), options, requires_grad)


@shown_plainly(**FACTORY_OPTIONS)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    requires_grad: bool = False,
    **options: Unpack[FactoryOptions],
) -> Tensor:
    """Return the Blackman window, ``0.42 - 0.5 cos(2 pi k / (n - 1)) + 0.08 cos(4 pi k / (n -
    1))``. Parameters and errors are those of `hann_window`.
    """
    return _window(F.blackman_window, (window_length, periodic), options, requires_grad)


@shown_plainly(**FACTORY_OPTIONS)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    requires_grad: bool = False,
    **options: Unpack[FactoryOptions],
) -> Tensor:
    """Return the Kaiser window, ``i0(beta sqrt(1 - (2 k / (n - 1) - 1) ** 2)) / i0(beta)``.
    Parameters and errors are those of `hann_window`.
    """
    return _window(F.kaiser_window, (window_length, periodic, beta), options, requires_grad)


@shown_plainly(dtype=None, layout=None, device=None)
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    requires_grad: bool = False,
    **options: Unpack[FactoryOptions],
) -> Tensor:
    """Return the frequencies of the transform of `n` values with spacing `d`, in its order: ``[0,
    1, ..., (n - 1) // 2, -(n // 2), ..., -1] / (d n)``.

    Raises
    ------
    RuntimeError
        For a negative `n`.
    """
    return finished(F.fft_fftfreq(n, d, **options), requires_grad, out, "fft_fftfreq")


@shown_plainly(dtype=None, layout=None, device=None)
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    requires_grad: bool = False,
    **options: Unpack[FactoryOptions],
) -> Tensor:
    """Return the frequencies of the transform of `n` real values with spacing `d`: ``[0, 1, ..., n
    // 2] / (d n)``.

    Raises
    ------
    RuntimeError
        For a negative `n`.
    """
    return finished(F.fft_rfftfreq(n, d, **options), requires_grad, out, "fft_rfftfreq")


def _window(
    function: Callable[..., Any], arguments: tuple[object, ...], options: Any, requires_grad: bool
) -> Tensor:
    made = function(*arguments, **options)
    made = made.pin_memory() if options.get("pin_memory") else made
    return finished(made, requires_grad, None)
