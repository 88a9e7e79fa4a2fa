"""`ReduceOp`: reductions over processes."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray


class RedOpType(Enum):
    """The reductions that `ReduceOp` names."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class ReduceOp:
    """A reduction over processes: ``SUM AVG PRODUCT MIN MAX BAND BOR BXOR``.

    For booleans, a sum and a maximum are "or", a product and a minimum "and".
    """

    RedOpType = RedOpType
    SUM: Final = RedOpType.SUM
    AVG: Final = RedOpType.AVG
    PRODUCT: Final = RedOpType.PRODUCT
    MIN: Final = RedOpType.MIN
    MAX: Final = RedOpType.MAX
    BAND: Final = RedOpType.BAND
    BOR: Final = RedOpType.BOR
    BXOR: Final = RedOpType.BXOR


_OF_NUMBERS: Final = {
    RedOpType.SUM: "SUM",
    RedOpType.AVG: "SUM",
    RedOpType.PRODUCT: "PROD",
    RedOpType.MIN: "MIN",
    RedOpType.MAX: "MAX",
    RedOpType.BAND: "BAND",
    RedOpType.BOR: "BOR",
    RedOpType.BXOR: "BXOR",
}
_OF_BOOLEANS: Final = {
    RedOpType.SUM: "LOR",
    RedOpType.PRODUCT: "LAND",
    RedOpType.MIN: "LAND",
    RedOpType.MAX: "LOR",
    RedOpType.BAND: "LAND",
    RedOpType.BOR: "LOR",
    RedOpType.BXOR: "LXOR",
}
_OF_BITS: Final = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)


def mpi_operation(op: RedOpType, array: NDArray[Any]) -> Any:
    """Return the operation of MPI for arrays like `array`. For an average, it is the sum."""
    from mpi4py import MPI

    return getattr(MPI, (_OF_BOOLEANS if array.dtype == np.bool_ else _OF_NUMBERS)[op])


def check_reduction(function: str, op: RedOpType, array: NDArray[Any]) -> None:
    """Raise an error if the dtype of `array` does not support a reduction.

    Raises
    ------
    TypeError
        If `op` is not a reduction.
    ValueError
        For a minimum or maximum of complex numbers.
    RuntimeError
        For bitwise reductions of values that are not integers, and for averages of integers.
    """
    if not isinstance(op, RedOpType):
        raise TypeError(f"{function}: op should be a ReduceOp, such as ReduceOp.SUM, not {op!r}")
    kind = array.dtype.kind
    if kind == "c" and op not in (RedOpType.SUM, RedOpType.AVG):
        raise ValueError(
            f"{function} does not support {op} on complex tensors. Reduce real and imaginary part "
            "each: torch.view_as_real"
        )
    if op in _OF_BITS and kind not in "iub":
        raise RuntimeError(
            f"Cannot use ReduceOp.{op.name} with non-integral dtype. View the tensor as integers "
            "first: tensor.view(torch.int32)"
        )
    if op is RedOpType.AVG and kind not in "fc":
        raise RuntimeError(
            f"{function}: the average of {array.dtype} is no {array.dtype}. Use ReduceOp.SUM and "
            "divide, or convert the tensor: tensor.float()"
        )
