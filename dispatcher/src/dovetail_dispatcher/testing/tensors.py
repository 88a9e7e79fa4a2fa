"""Tensors with made-up values for samples: the same at every call, and all different."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from dovetail_kernel import Device, dtype, float32, int64
from dovetail_kernel import bool as bool_
from dovetail_kernel.types import INT

from ..sockets import TENSOR_FUNCTION

LOW: Final = -1.4
HIGH: Final = 1.6
"""Where floating point values lie: on both sides of zero, and of one and minus one."""

INTEGER_LOW: Final = -3
INTEGER_HIGH: Final = 6

_GOLDEN: Final = 0.6180339887498949
_SILVER: Final = 0.4142135623730951


class TensorMaker:
    """Factory of tensors with different values each: ``make(2, 3)`` or ``make((2, 3))``.

    Parameters
    ----------
    device, dtype, requires_grad
        Properties of the tensors; only floating-point and complex ones require grad.
    low, high
        Interval of the values, without the upper end. Default: -1.4 and 1.6; for integers, -3 and
        6, with 0 instead of negative values for unsigned dtypes.
    """

    def __init__(
        self,
        *,
        device: Device | None = None,
        dtype: dtype = float32,
        requires_grad: bool = False,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        self.device = device
        self.dtype = dtype
        self.requires_grad = requires_grad
        self.low = low
        self.high = high
        self._count = 0

    def __call__(
        self,
        *shape: Any,
        dtype: dtype | None = None,
        low: float | None = None,
        high: float | None = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """Return a tensor; what is not given is as for all."""
        if len(shape) == 1 and not isinstance(shape[0], int):
            shape = tuple(shape[0])
        self._count += 1
        return sample_tensor(
            shape,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device,
            low=self.low if low is None else low,
            high=self.high if high is None else high,
            requires_grad=self.requires_grad if requires_grad is None else requires_grad,
            seed=self._count,
        )

    def values(self, values: object, dtype: dtype | None = None) -> Any:
        """Return a tensor of given values that does not require grad, for indices, masks or
        weights.
        """
        return _made(values, self.dtype if dtype is None else dtype, self.device)


def sample_tensor(
    shape: Sequence[int],
    *,
    dtype: dtype,
    device: Device | None = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    seed: int = 1,
) -> Any:
    """Return a tensor with reproducible pseudorandom values.

    Parameters
    ----------
    shape
        Its shape.
    dtype
        Its dtype.
    device
        Default: the default device.
    low, high
        Interval of the values (of both parts for complex dtypes), without the upper end. Default:
        as for `TensorMaker`.
    requires_grad
        Whether it requires grad, if it is floating point or complex. Default: False.
    seed
        Different numbers give different values. Default: 1.

    Raises
    ------
    RuntimeError
        If no base library has registered its tensor factory.
    """
    count = prod(shape)
    values: list[Any]
    if dtype is bool_:
        values = [place < 0.5 for place in _places(count, seed)]
    elif dtype.is_floating_point or dtype.is_complex:
        least, most = LOW if low is None else low, HIGH if high is None else high
        values = [least + (most - least) * place for place in _places(count, seed)]
        if dtype.is_complex:
            imaginary = _places(count, seed + 0.5)
            values = [
                complex(real, least + (most - least) * place)
                for real, place in zip(values, imaginary, strict=True)
            ]
    else:
        first = int(INTEGER_LOW if low is None else low)
        last = int(INTEGER_HIGH if high is None else high)
        if not dtype.is_signed:
            first = max(first, 0)
        values = [first + int((last - first) * place) for place in _places(count, seed)]
    made = _made(values, dtype, device).reshape(tuple(shape)).detach()
    if requires_grad and (dtype.is_floating_point or dtype.is_complex):
        made.requires_grad_()
    return made


def _places(count: int, seed: float) -> list[float]:
    """Return different numbers between 0 and 1, spread evenly and in no order."""
    return [(_GOLDEN * (place + 1) + _SILVER * seed) % 1 for place in range(count)]


def _made(values: object, dtype: dtype, device: Device | None) -> Any:
    tensor = TENSOR_FUNCTION.plug
    if tensor is None:
        raise RuntimeError(
            "no library has said how tensors are made. Import dovetail, or install dovetail-aten."
        )
    if dtype.category == INT and not dtype.is_signed:  # which refuse negative floats
        return tensor(values, dtype=int64, device=device).to(dtype)
    return tensor(values, dtype=dtype, device=device)
