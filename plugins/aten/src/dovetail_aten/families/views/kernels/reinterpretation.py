"""Which tensors can be seen as numbers of another dtype without a copy: the checks of views of the
same bytes, for kernels on data and on the meta device alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from dovetail_kernel import complex64, complex128, dtype, float32, float64

PARTS: Final = {complex64: float32, complex128: float64}
"""Complex dtypes to those of their real and imaginary parts."""

WHOLES: Final = {part: whole for whole, part in PARTS.items()}


def check_reinterpreted(
    own: dtype,
    other: dtype,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: Callable[[], int],
) -> None:
    """Refuse to view elements of dtype `own` as `other` where no strides say where they lie.

    Parameters
    ----------
    own, other
        The dtypes.
    shape, strides
        Of what is viewed, in elements.
    offset
        Finds the distance of its first element from the start of the memory, in elements.

    Raises
    ------
    RuntimeError
        For dtypes of different size: if there is no last dimension, it is not contiguous, or
        elements of the wider dtype would not begin at multiples of their size.
    """
    if own.itemsize == other.itemsize:
        return
    words = f"to view {own.scalar_name} as {other.scalar_name} (different element sizes)"
    if not shape:
        raise RuntimeError(f"self.dim() cannot be 0 {words}. Give it a dimension: x.reshape(1).")
    if strides[-1] != 1:
        raise RuntimeError(
            f"self.stride(-1) must be 1 {words}, but got {strides[-1]}. Use contiguous() first."
        )
    if own.itemsize > other.itemsize:
        return
    ratio = other.itemsize // own.itemsize
    if shape[-1] % ratio:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {ratio} {words}, but got {shape[-1]}. Pad it "
            "first."
        )
    if offset() % ratio:
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {ratio} {words}, but got {offset()}. "
            "Use clone() first."
        )
    for dim, stride in enumerate(strides[:-1]):
        if stride % ratio:
            raise RuntimeError(
                f"self.stride({dim}) must be divisible by {ratio} {words}, but got {stride}. "
                "Use contiguous() first."
            )


def check_pairs(
    own: dtype, shape: Sequence[int], strides: Sequence[int], offset: Callable[[], int]
) -> dtype:
    """Return the dtype of complex numbers whose parts lie in the last dimension.

    Parameters are those of `check_reinterpreted`. Raises RuntimeError if the dtype has no complex
    one, or the pairs do not lie where complex numbers may.
    """
    whole = WHOLES.get(own)
    if whole is None:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {own.scalar_name}. Convert it to float32 or float64 first."
        )
    if not shape:
        raise RuntimeError(
            "Input tensor must have one or more dimensions: the last holds real and imaginary part."
        )
    if shape[-1] != 2:
        raise RuntimeError(
            f"Tensor must have a last dimension of size 2, but got {shape[-1]}. Reshape it first."
        )
    if strides[-1] != 1:
        raise RuntimeError(
            "Tensor must have a last dimension with stride 1. Use contiguous() first."
        )
    if any([n != 1 and stride % 2 for n, stride in zip(shape[:-1], strides[:-1], strict=True)]):
        raise RuntimeError(
            "Tensor must have a stride divisible by 2 for all but last dimension. Use contiguous() "
            "first."
        )
    if offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2. Use clone() first.")
    return whole
