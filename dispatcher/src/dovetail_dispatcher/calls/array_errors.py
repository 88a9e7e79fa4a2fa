"""PyTorch's words for errors that array libraries raise in theirs: shapes that do not broadcast,
unsupported dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dovetail_kernel import TensorBase, make_writable

from ..table.operator import Operator

SEVERAL_ELEMENTS: Final = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)

_OF_DTYPES = (
    "not supported for the input types",
    "did not contain a loop",
    "Wrong type",
    "unsupported operand type",
    "Cannot cast ufunc",
    "No loop matching",
    "The numpy boolean",
    "does not accept dtype",
    "dtypes are allowed",
)
"""What array libraries say of dtypes that a function is not defined for. Any other TypeError is a
mistake in a kernel, and is not to be hidden behind words about dtypes.
"""


def call_error(
    op: Operator, error: Exception, *operands: TensorBase | None, writes: bool = False
) -> Exception | None:
    """Return what to raise for `error`, which came out of a pointwise array kernel: PyTorch's words
    if it is known. None if the kernel, which `writes` its first operand, is to be called again:
    that lay in read-only memory, and lies in a copy now.
    """
    tensors = [t for t in operands if isinstance(t, TensorBase)]
    mismatch = broadcast_error([tuple(t.array.shape) for t in tensors])
    if mismatch is not None:
        return mismatch
    text = str(error)
    if isinstance(error, TypeError) and any([words in text for words in _OF_DTYPES]):
        return unsupported_error(op.base_name.rstrip("_"), [t.dtype.scalar_name for t in tensors])
    if writes and "read-only" in text:
        if make_writable(tensors[0]):
            return None
        return RuntimeError(SEVERAL_ELEMENTS)
    if "broadcast" in text and tensors:
        shape = broadcast_shape([tuple(t.array.shape) for t in tensors])
        if shape is not None and shape != tuple(tensors[0].array.shape):
            return shape_of_output_error(tuple(tensors[0].array.shape), shape)
    return error


def broadcast_error(shapes: Sequence[Sequence[int]]) -> RuntimeError | None:
    """Return the error for the first two shapes that do not broadcast, or None."""
    sizes: tuple[int, ...] = ()
    for shape in shapes:
        for back in range(1, min(len(sizes), len(shape)) + 1):
            a, b = sizes[-back], shape[-back]
            if a != b and a != 1 and b != 1:
                dim = max(len(sizes), len(shape)) - back
                return RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                    "non-singleton dimension "
                    f"{dim}: shapes {list(sizes)} and {list(shape)} do not broadcast. Reshape one "
                    "of them."
                )
        sizes = broadcast_shape([sizes, shape]) or ()
    return None


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """Return the shape that `shapes` broadcast to, or None if they do not."""
    ndim = max(map(len, shapes))
    result = []
    for back in range(ndim, 0, -1):
        sizes = {shape[-back] for shape in shapes if len(shape) >= back} - {1}
        if len(sizes) > 1:
            return None
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def shape_of_output_error(own: tuple[int, ...], result: tuple[int, ...]) -> RuntimeError:
    """Return the error for an in-place result that does not have the shape of its destination."""
    return RuntimeError(
        f"output with shape {list(own)} doesn't match the broadcast shape {list(result)}. An "
        "in-place operator cannot "
        "change the shape of its destination: use the out-of-place operator."
    )


_INVERT = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
_TWO_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
    "`logical_xor()` operator "
    "instead."
)
_REFUSED = {
    ("sub", "Bool"): _TWO_BOOLS,
    ("rsub", "Bool"): _TWO_BOOLS,
    ("neg", "Bool"): f"Negation, the `-` operator, on a bool tensor is not supported. {_INVERT}",
    ("hardtanh", "Bool"): "Bool inputs not supported for hardtanh. Convert the tensor first.",
    ("topk", "Bool"): "topk does not support bool dtypes. Convert it: x.to(dovetail.uint8).",
    ("argmax", "Bool"): "argmax(): does not support bool input. Convert it: x.to(dovetail.uint8).",
    ("argmin", "Bool"): "argmin(): does not support bool input. Convert it: x.to(dovetail.uint8).",
}
_REFUSED |= {
    (name, kind): f"{name} is not supported for complex tensors. Convert real and imaginary parts."
    for name in ("deg2rad", "rad2deg")
    for kind in ("ComplexFloat", "ComplexDouble")
}
_NO_ORDER = {
    "heaviside": "heaviside is not yet implemented for complex tensors",
    "fmax": "fmax not implemented for complex tensors",
    "fmin": "fmin not implemented for complex tensors",
    "isposinf": "isposinf does not support complex inputs",
    "isneginf": "isneginf does not support complex inputs",
    "argmax": "argmax(): does not support complex input",
    "argmin": "argmin(): does not support complex input",
    "max": "max(): does not support complex input",
    "min": "min(): does not support complex input",
    "maximum": "maximum not implemented for complex tensors",
    "minimum": "minimum not implemented for complex tensors",
    "sort": "Sort does not support complex dtypes",
    "topk": "topk does not support complex dtypes",
}
"""What PyTorch refuses complex numbers for with a RuntimeError."""


def any_bool_error() -> RuntimeError:
    """Return the error for an operator none of whose operands may be bool."""
    return RuntimeError(
        f"Subtraction, the `-` operator, with a bool tensor is not supported. {_INVERT}"
    )


def unsupported_error(operator: str, dtypes: Sequence[str]) -> Exception:
    """Return the error for an operator for which an array library raises TypeError because of the
    dtypes of its operands.

    Parameters
    ----------
    operator
        Base name, such as ``"bitwise_and"``.
    dtypes
        `dtype.scalar_name` of the tensors.

    Returns
    -------
    Exception
        RuntimeError for undefined operations (bool minus bool), NotImplementedError for missing
        implementations.
    """
    named = dtypes[0] if dtypes else "?"
    if (operator, named) in _REFUSED:
        return RuntimeError(_REFUSED[operator, named])
    if operator in _NO_ORDER and named.startswith("Complex"):
        return RuntimeError(
            f"{_NO_ORDER[operator]}: they have no order. Compare real parts or absolute values."
        )
    return NotImplementedError(
        f"\"{operator}\" not implemented for '{named}'. Convert the operands to a dtype that it "
        "is defined for."
    )
