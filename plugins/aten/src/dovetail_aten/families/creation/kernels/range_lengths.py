"""How long ranges are and which bounds they take, for kernels on data and on the meta device
alike.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from dovetail_kernel import dtype, int64, scalar_dtype

from ....kernel_support.dims import check_size


def range_length(start: Any, end: Any, step: Any, wanted: dtype) -> int:
    """Return how many numbers of dtype `wanted` ``arange(start, end, step)`` gives.

    As in PyTorch, bounds and step are cut to whole numbers before for int64, and for other integers
    only after. Raises ValueError if nothing is left of the step, and RuntimeError if no memory
    holds so many.
    """
    if wanted is int64:
        start, end, step = int(start), int(end), int(step)
        if not step:
            raise ValueError(
                "step must be nonzero, but nothing is left of it among int64. Give a whole number."
            )
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        length: int = max(-((start - end) // step), 0)
    else:
        length = max(ceil((end - start) / step), 0)
    # Places are counted in int64 or double precision, whatever the dtype.
    return check_size((length,), max(wanted.itemsize, 8))[0]


def check_bounds(function: str, start: int, end: int, wanted: dtype) -> None:
    """Raise an error for complex bounds of real numbers. Raises RuntimeError with PyTorch's
    message.
    """
    if not wanted.is_complex and (isinstance(start, complex) or isinstance(end, complex)):
        raise RuntimeError(
            f"torch.{function}(): inferred dtype {scalar_dtype(3).scalar_name} can't be safely "
            "cast to passed dtype "
            f"{wanted.scalar_name}. Give real bounds, or a complex dtype."
        )
