"""PyTorch's words for errors that array libraries raise in theirs: shapes that do not broadcast, unsupported dtypes."""

from __future__ import annotations

from collections.abc import Sequence


def broadcast_error(shapes: Sequence[Sequence[int]]) -> RuntimeError | None:
    """Return the error for the first two shapes that do not broadcast.

    Parameters
    ----------
    shapes
        The shapes of the operands, in order.

    Returns
    -------
    RuntimeError or None
        None if all of them broadcast, so that the cause must have been another one.
    """
    sizes: list[int] = []
    for shape in shapes:
        ndim = max(len(sizes), len(shape))
        ours = [1] * (ndim - len(sizes)) + sizes
        theirs = [1] * (ndim - len(shape)) + list(shape)
        for dim in range(ndim - 1, -1, -1):
            a, b = ours[dim], theirs[dim]
            if a not in (b, 1) and b != 1:
                return RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                    f"non-singleton dimension {dim}: "
                    f"shapes {sizes} and {list(shape)} do not broadcast. Reshape one of them."
                )
        sizes = [b if a == 1 else a for a, b in zip(ours, theirs, strict=True)]
    return None


_REFUSED = {
    "sub": "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
    "operator instead.",
    "rsub": "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
    "operator instead.",
    "neg": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
    "`~` or `logical_not()` operator instead.",
}


def unsupported_error(operator: str, dtypes: Sequence[str]) -> Exception:
    """Return the error for an operator that an array library refuses (TypeError) for the dtype of its operands.

    Parameters
    ----------
    operator
        Base name, such as ``"bitwise_and"``.
    dtypes
        `dtype.scalar_name` of the tensors.

    Returns
    -------
    Exception
        RuntimeError for what has no meaning (bool minus bool), NotImplementedError for what has no implementation.
    """
    if operator in _REFUSED and "Bool" in dtypes:
        return RuntimeError(_REFUSED[operator])
    named = dtypes[0] if dtypes else "?"
    return NotImplementedError(
        f"\"{operator}\" not implemented for '{named}'. Convert the operands to a dtype that it is defined for."
    )
