"""What the key of a call says of dtypes, and which results may be written where."""

from __future__ import annotations

from dovetail_kernel import dtype, dtype_of_signature, result_dtype
from dovetail_kernel.signature import DTYPE_MASK, PYTHON_SCALAR

from .scalar_operands import category_of_number


def static_dtype(key: int) -> dtype | None:
    """Return the common dtype of a call's operands if its key decides it: tensors of one dtype,
    perhaps a number.
    """
    bits = key & DTYPE_MASK
    if not bits or bits & (bits - 1):
        return None
    own = dtype_of_signature(bits)
    category = category_of_number(key & PYTHON_SCALAR) if key & PYTHON_SCALAR else -1
    if category <= own.category:
        return own
    return result_dtype([own], [], [category])


def check_writable_as(
    result: dtype, destination: dtype, error: type[Exception] = RuntimeError
) -> None:
    """Refuse to write a result of a higher category into a tensor of a lower one: raise `error` for
    a float result and an int destination.
    """
    if result.category > destination.category:
        raise error(
            f"result type {result.scalar_name} can't be cast to the desired output type "
            f"{destination.scalar_name}. "
            f"Convert the destination first (x.to({result})), or use the out-of-place operator."
        )
