"""`make_tensor`: random tensors of any dtype, drawn from the default generator."""

from __future__ import annotations

from math import ceil, isnan, prod
from typing import Any, Final

from dovetail_aten import Tensor, empty
from dovetail_aten.front_end import functions
from dovetail_kernel import Device, MemoryFormat, finfo, iinfo, warn_user
from dovetail_kernel import bool as bool_
from dovetail_kernel import dtype as DType

_HALF_WIDTH: Final = 9


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: str | Device,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Return a tensor of random numbers; equal seeds give PyTorch's numbers.

    Parameters
    ----------
    *shape
        The shape, as numbers or as one sequence.
    dtype, device
        Of the tensor.
    low, high
        Interval of the values (of both parts for complex dtypes), without the upper end, clipped to
        the range of the dtype. Default: -9 and 9 for floating point and complex dtypes, -9 and 10
        for integers, 0 and 10 for unsigned ones, 0 and 2 for booleans.
    requires_grad
        Whether it requires grad. Default: False.
    noncontiguous
        Whether the tensor is non-contiguous, with a step of 2 in memory, if it has two or more
        elements. Default: False.
    exclude_zero
        Whether to replace zeros by the smallest positive value: 1 for integers, True for booleans,
        the smallest normal number otherwise. Default: False.
    memory_format
        Memory format.

    Raises
    ------
    ValueError
        For an empty interval, an interval outside the range of the dtype, NaN as a bound,
        `requires_grad` with integers or booleans, or both `noncontiguous` and `memory_format`.
    TypeError
        If `dtype` is not a dtype.
    """
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if not isinstance(dtype, DType):
        raise TypeError(
            f"The requested dtype '{dtype}' is not supported by dovetail.testing.make_tensor(). "
            "Give a dtype, as dovetail.float32."
        )
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype}"
        )
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    spread = noncontiguous and prod(sizes) > 1
    if spread:
        sizes[-1] *= 2
    least, most = _interval(dtype, low, high)
    made: Any = empty(sizes, dtype=dtype, device=device)
    if inexact:
        parts: Any = functions.view_as_real(made) if dtype.is_complex else made
        if most - least > finfo(dtype).max:  # more than uniform_ takes
            parts.uniform_(least / 2, most / 2).mul_(2)
        else:
            parts.uniform_(least, most)
    else:
        made = functions.randint(int(least), int(most), sizes, dtype=dtype, device=device)
    if exclude_zero:
        made[made == 0] = finfo(dtype).tiny if inexact else 1
    if spread:
        made = made[..., 1::2]
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    result: Tensor = made.requires_grad_(requires_grad)
    return result


def _interval(dtype: DType, low: float | None, high: float | None) -> tuple[float, float]:
    """Return where values lie, cut to what the dtype can hold."""
    inexact = dtype.is_floating_point or dtype.is_complex
    usual: tuple[float, float]
    limits: tuple[float, float]
    if dtype is bool_:
        usual, limits = (0, 2), (0, 2)
    elif inexact:
        usual, limits = (-_HALF_WIDTH, _HALF_WIDTH), (finfo(dtype).min, finfo(dtype).max)
    else:
        usual = (-_HALF_WIDTH, _HALF_WIDTH + 1)
        limits = iinfo(dtype).min, iinfo(dtype).max + (iinfo(dtype).bits < 64)
    least, most = usual[0] if low is None else low, usual[1] if high is None else high
    if isnan(least) or isnan(most):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if least == most and inexact:
        warn_user(
            "Passing `low==high` to `dovetail.testing.make_tensor` for floating or complex types "
            "is deprecated. Use `dovetail.full(...)` instead.",
            FutureWarning,
        )
    elif least >= most:
        raise ValueError(f"`low` must be less than `high`, but got {least} >= {most}")
    elif least >= limits[1] or most < limits[0]:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{least}, {most}), but {dtype} "
            f"only supports [{limits[0]}, {limits[1]})"
        )
    least, most = max(least, limits[0]), min(most, limits[1])
    return (least, most) if inexact else (ceil(least), ceil(most))
