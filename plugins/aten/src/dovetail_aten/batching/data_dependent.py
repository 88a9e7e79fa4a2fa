"""Operators whose result depends on the values of a sample: there is no one shape, or no one
number, for a batch.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..meta.rules import Rules
from ..tensor.batch_errors import ItemOfBatchError

rule = Rules()


@rule("_local_scalar_dense")
def _item(info: Any, in_dims: Any, self: Any) -> NoReturn:
    raise ItemOfBatchError


def _of_dynamic_shape(name: str) -> None:
    @rule(name)
    def apply(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted "
            "to vmap over "
            f"aten::{name}. Use where(condition, x, y), which keeps the shape."
        )


_of_dynamic_shape("nonzero")


@rule("equal")
def _equal(info: Any, in_dims: Any, *args: Any) -> NoReturn:
    raise RuntimeError(
        "Batching rule not implemented for aten::equal. We could not generate a fallback. Use (x "
        "== y).all()."
    )


@rule("allclose")
def _allclose(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("vmap over torch.allclose isn't supported yet. Use isclose(x, y).all().")
