"""Fourier transforms of short pieces of a signal, and the way back."""

from __future__ import annotations

from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import int64, warn_user, warn_user_once

from ....typing import Tensor
from .fft import BY_ROOT, BY_SIZE, UNSCALED

_LEAST_SUM = 1e-11
"""What the windows that overlap must sum up to for a signal to be found again."""


def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Return the transforms of pieces of `n_fft` values that begin `hop_length` apart, each times
    `window`: a matrix of frequencies and pieces.
    """
    if window is None:
        _warn_of_window("It is known to cause spectral leakage: give hann_window(n_fft) instead")
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = self.dtype.is_complex or (window is not None and window.dtype.is_complex)
    _check_return_complex(is_complex, return_complex)
    if center and align_to_window is not None:
        raise RuntimeError(
            "stft align_to_window should only be set when center = false. Leave it out."
        )
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise RuntimeError(
            "stft expected a tensor of floating point or complex values, got "
            f"{self.dtype.scalar_name}. Convert it."
        )
    if self.ndim not in (1, 2):
        raise RuntimeError(
            f"stft expected a 1D or 2D tensor, got one of {self.ndim} dimensions. Reshape it."
        )
    signal = self if self.ndim == 2 else F.unsqueeze(self, 0)
    if center:
        signal = _padded(signal, n_fft // 2, n_fft // 2, pad_mode)
    elif align_to_window:
        before = (n_fft - length) // 2
        signal = F.constant_pad_nd(signal, [before, n_fft - length - before])
    _check_pieces("stft", signal.shape[1], n_fft, hop, length, window)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError(
            "Cannot have onesided output if window or input is complex. Give onesided=False."
        )
    pieces = F.unfold(signal, 1, n_fft, hop)
    full = _full_window(self, window, n_fft, length)
    if full is not None:
        pieces = F.mul(pieces, full)
    divided = BY_ROOT if normalized else UNSCALED
    if pieces.dtype.is_complex:
        made = F._fft_c2c(pieces, [2], divided, True)
    else:
        made = F._fft_r2c(pieces, [2], divided, onesided)
    made = F.transpose(made, 1, 2)
    made = made if self.ndim == 2 else F.squeeze(made, 0)
    return (
        made if return_complex or (return_complex is None and is_complex) else F.view_as_real(made)
    )


def _warn_of_window(remedy: str) -> None:
    """Issue the warning of a transform without a window, once per process."""
    warn_user_once(
        f"A window was not provided. A rectangular window will be applied. {remedy}, or "
        "ones(n_fft) for the rectangular one."
    )


def stft_uncentered(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Return `stft` of the signal as it is, without values before it and behind it."""
    return stft(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        False,
        "constant",
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """Return the signal whose `stft` is nearest to `self`: the pieces times `window` put together,
    divided by the sum of the squares of the windows.
    """
    if window is None:
        _warn_of_window("Give the window that stft had, which makes the inversion lossless")
    hop = n_fft // 4 if hop_length is None else hop_length
    own_length = n_fft if win_length is None else win_length
    onesided = _check_spectrum(self, n_fft, onesided)
    if not 0 < hop <= own_length:
        raise RuntimeError(
            f"istft expected 0 < hop_length <= win_length, got {hop} and {own_length}."
        )
    _check_pieces("istft", n_fft, n_fft, hop, own_length, window)
    if return_complex and onesided:
        raise RuntimeError(
            "Cannot have onesided output if window or input is complex. Give onesided=False."
        )
    if not return_complex and window is not None and window.dtype.is_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False.")
    spectrum = F.transpose(self if self.ndim == 3 else F.unsqueeze(self, 0), 1, 2)
    divided = BY_ROOT if normalized else BY_SIZE
    if return_complex:
        pieces = F._fft_c2c(spectrum, [2], divided, False)
    else:
        half = spectrum if onesided else F.narrow(spectrum, 2, 0, n_fft // 2 + 1)
        pieces = F._fft_c2r(half, [2], divided, n_fft)
    full = _full_window(pieces, window, n_fft, own_length)
    if full is None:
        full = _ones(self, n_fft)
    signal, sums, behind = _put_together(pieces, full, n_fft, hop, center, length)
    signal = F.div(signal, sums)
    if behind > 0:
        warn_user(
            "The length of signal is shorter than the length parameter. Result is being padded "
            "with zeros in the tail. Please check your center and hop_length settings."
        )
        signal = F.constant_pad_nd(signal, [0, behind])
    return signal if self.ndim == 3 else F.squeeze(signal, 0)


def _put_together(
    pieces: Tensor, window: Tensor, n_fft: int, hop: int, center: bool, length: int | None
) -> tuple[Any, Any, int]:
    """Return the sum of the pieces where they lie, that of the squares of the windows, and how many
    values of `length` lie behind both.
    """
    batch, count = pieces.shape[0], pieces.shape[1]
    whole = n_fft + hop * (count - 1)
    places = _places(pieces, n_fft, hop, count)
    weighted = F.reshape(F.mul(pieces, window), (batch, count * n_fft))
    signal = F.index_add(F.new_zeros(weighted, (batch, whole)), 1, places, weighted)
    squares = F.reshape(F.expand(F.mul(window, window), (count, n_fft)), (count * n_fft,))
    sums = F.index_add(F.new_zeros(squares, (whole,)), 0, places, squares)
    start = n_fft // 2 if center else 0
    end = whole - start if length is None else start + length
    size = min(end, whole) - start
    signal, sums = F.narrow(signal, 1, start, size), F.narrow(sums, 0, start, size)
    if sums.device.type != "meta":
        least = F.item(F.min(F.abs(sums)))
        if not least > _LEAST_SUM:
            raise RuntimeError(
                f"istft window overlap add min: {least:g}. Windows that overlap everywhere are "
                "needed: give a shorter hop_length, or another window."
            )
    return signal, sums, end - whole


def _places(like: Any, n_fft: int, hop: int, count: int) -> Any:
    """Return the places of all values of the pieces in the signal, one piece after another."""
    options = {"dtype": int64, "device": like.device}
    begin = F.mul(F.arange(0, count, 1, **options), hop)
    within = F.arange(0, n_fft, 1, **options)
    return F.reshape(F.add(F.unsqueeze(begin, 1), within), (count * n_fft,))


def _full_window(like: Tensor, window: Tensor | None, n_fft: int, length: int) -> Any:
    """Return the window with zeros on both sides, so that it has `n_fft` values; None if it is all
    ones.
    """
    if window is None:
        if length == n_fft:
            return None
        window = _ones(like, length)
    before = (n_fft - length) // 2
    if length < n_fft:
        window = F.constant_pad_nd(window, [before, n_fft - length - before])
    return window


def _ones(like: Tensor, length: int) -> Any:
    """Return a window of ones; not from `like`, which may be a batch."""
    return F.ones((length,), dtype=like.dtype.to_real(), device=like.device)


def _padded(signal: Tensor, before: int, behind: int, mode: str) -> Any:
    """Return a batch of signals with values before and behind them."""
    if mode == "constant":
        return F.constant_pad_nd(signal, [before, behind])
    extended = F.pad(F.unsqueeze(signal, 0), [before, behind], mode)
    return F.squeeze(extended, 0)


def _check_return_complex(is_complex: bool, return_complex: bool | None) -> None:
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will "
            "further require that return_complex=True in a future PyTorch release."
        )
    if return_complex is False:
        warn_user_once(
            "stft with return_complex=False is deprecated. Use view_as_real on the complex result."
        )


def _check_pieces(
    name: str, size: int, n_fft: int, hop: int, length: int, window: Tensor | None
) -> None:
    if not 0 < n_fft <= size:
        raise RuntimeError(f"{name} expected 0 < n_fft <= {size}, but got n_fft={n_fft}.")
    if hop <= 0:
        raise RuntimeError(f"{name} expected hop_length > 0, but got hop_length={hop}.")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name} expected 0 < win_length <= n_fft, but got win_length={length}.")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{name} expected a 1D window tensor of size equal to win_length={length}, but got "
            f"window with size {list(window.shape)}."
        )


def _check_spectrum(self: Any, n_fft: int, onesided: bool | None) -> bool:
    """Return whether a spectrum has the frequencies that are not negative alone."""
    if not self.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True. Make one with view_as_complex."
        )
    if not self.numel():
        raise RuntimeError("istft input tensor cannot be empty. Give a spectrum.")
    if self.ndim not in (2, 3):
        raise RuntimeError(
            f"istft expected a tensor with 2 or 3 dimensions, got {self.ndim}. Reshape it."
        )
    size = self.shape[-2]
    if onesided is None:
        onesided = size != n_fft
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if size != wanted:
        raise RuntimeError(
            f"istft expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft / 2 + 1 when onesided=True, or n_fft when onesided=False, {wanted}, but "
            f"got {size}."
        )
    return onesided
