"""Operators whose result depends on the values of a sample: there is no one shape, or no one number, for a batch."""

from __future__ import annotations

from typing import Any, NoReturn

from .table import Rules

rule = Rules()


class ItemOfBatchError(RuntimeError):
    """A Python number was asked of a batched tensor."""


@rule("_local_scalar_dense")
def _item(info: Any, in_dims: Any, self: Any) -> NoReturn:
    raise ItemOfBatchError(
        "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
        "Tensor, please try to rewrite what you're doing with other operations."
    )


@rule("is_nonzero")
def _is_nonzero(info: Any, in_dims: Any, self: Any) -> NoReturn:
    raise control_flow_error()


def control_flow_error() -> RuntimeError:
    """Return the error of ``if x:`` for a batched tensor."""
    return RuntimeError(
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support "
        "that: samples could take different branches. Use where(condition, x, y)."
    )


def _of_dynamic_shape(name: str) -> None:
    @rule(name)
    def apply(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"aten::{name}. Use where(condition, x, y), which keeps the shape."
        )


_of_dynamic_shape("nonzero")
_of_dynamic_shape("where")


@rule("equal")
def _equal(info: Any, in_dims: Any, *args: Any) -> NoReturn:
    raise RuntimeError(
        "Batching rule not implemented for aten::equal. We could not generate a fallback. Use (x == y).all()."
    )


@rule("allclose")
def _allclose(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError("vmap over torch.allclose isn't supported yet. Use isclose(x, y).all().")
