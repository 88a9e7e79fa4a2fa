"""Compares the results of a fake with real ones: structure, device, rank, sizes and dtypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_kernel import TensorBase

from ...table.operator import Operator

Limits = Mapping[tuple[int, int], tuple[int, int | None]]
"""By a size that depends on data, as two runs of a fake had it: the least and greatest that it may
be.
"""


def compare_results(
    op: Operator,
    real: Sequence[Any],
    fake: Sequence[Any],
    again: Sequence[Any],
    limits: Limits,
    what: str,
) -> None:
    """Compare real results with those of a fake.

    Parameters
    ----------
    fake, again
        The results of two runs of the fake. Where they differ, a size depends on data.
    limits
        What is known of such sizes.
    what
        What is compared, for the error.

    Raises
    ------
    RuntimeError
        Naming the first difference.
    """

    def fail(problem: str) -> RuntimeError:
        return RuntimeError(
            f"When comparing {what} of {op.handle} on meta tensors and real tensors, found "
            f"mismatched tensor metadata: {problem} Correct the fake kernel (register_fake), or "
            "the kernel."
        )

    for a, b, c in zip(real, fake, again, strict=True):
        if isinstance(a, list | tuple) and isinstance(b, list | tuple):
            if len(a) != len(b):
                raise fail(f"Numbers of tensors {len(a)} and {len(b)} are not equal!")
            compare_results(op, a, b, c, limits, what)
        elif isinstance(a, TensorBase) and isinstance(b, TensorBase):
            problem = _problem(a, b, c, limits)
            if problem is not None:
                raise fail(problem)
        elif isinstance(a, TensorBase) or isinstance(b, TensorBase):
            raise fail(f"{type(a).__name__} and {type(b).__name__} are not the same!")


def _problem(real: TensorBase, fake: TensorBase, again: TensorBase, limits: Limits) -> str | None:
    """Return in what a tensor differs from its fake, or None."""
    if not fake.is_meta:
        return f"Devices meta and {fake.device} are not equal!"
    if len(real.shape) != len(fake.shape):
        return (
            f"Shapes {real.shape} and {fake.shape} are not equal! Their ranks are "
            f"{len(real.shape)} and {len(fake.shape)}."
        )
    for size, first, second in zip(real.shape, fake.shape, again.shape, strict=True):
        if first == second != size:
            return f"Shapes {real.shape} and {fake.shape} are not equal!"
        least, greatest = limits.get((first, second), (0, None)) if first != second else (0, None)
        if size < least or (greatest is not None and size > greatest):
            return (
                f"The size {size} of shape {real.shape} is not between min={least} and "
                f"max={greatest} of its new_dynamic_size!"
            )
    if real.dtype is not fake.dtype:
        return f"Dtypes {real.dtype} and {fake.dtype} are not equal!"
    return None
