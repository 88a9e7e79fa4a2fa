"""Questions about shapes and tensors that need no operator."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import Size, TensorBase

__all__ = ["broadcast_shapes", "is_tensor"]


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that tensors of `shapes` broadcast to.

    Parameters
    ----------
    *shapes
        Shapes as tuples of ints; an int stands for a shape of one dimension.

    Returns
    -------
    Size
        The common shape.

    Raises
    ------
    RuntimeError
        If two sizes of one dimension differ and neither is 1.
    """
    result: list[int] = []
    for shape in shapes:
        sizes = [shape] if isinstance(shape, int) else list(shape)
        result = [1] * (len(sizes) - len(result)) + result
        for back, size in enumerate(reversed(sizes), 1):
            if result[-back] == 1:
                result[-back] = size
            elif size not in (1, result[-back]):
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape: "
                    f"{' and '.join(str(tuple(s) if not isinstance(s, int) else (s,)) for s in shapes)}. Reshape one."
                )
    return Size(result)


def is_tensor(obj: object) -> bool:
    """Return whether `obj` is a tensor."""
    return isinstance(obj, TensorBase)
