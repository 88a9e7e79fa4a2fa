"""Operators whose result depends on the values of a sample: there is no one shape, or no one
number, for a batch.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail_dispatcher import Operator

from ..tensor.batch_errors import ItemOfBatchError
from ..typing import Batch, Dims
from .table import Rule


def item(info: Batch, in_dims: Dims, self: Any) -> NoReturn:
    raise ItemOfBatchError


def data_dependent(op: Operator) -> Rule:
    """Return the rule that refuses an operator whose shape depends on values."""

    def apply(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted "
            f"to vmap over {op.qualified_name}. Use where(condition, x, y), which keeps the shape."
        )

    return apply


def equal(info: Batch, in_dims: Dims, *args: Any) -> NoReturn:
    raise RuntimeError(
        "Batching rule not implemented for aten::equal. We could not generate a fallback. Use (x "
        "== y).all()."
    )


def allclose(info: Batch, in_dims: Dims, *args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("vmap over torch.allclose isn't supported yet. Use isclose(x, y).all().")
