"""Memory formats of results on the meta device, by the rules of `kernel_support.result_formats`."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ..kernel_support.geometry.broadcasting import Geometry
from ..kernel_support.geometry.memory_layout import strides_in_order
from ..kernel_support.result_formats import orders_of_results
from ..kernel_support.result_orders import Order
from .meta_array import MetaArray
from .table import OWN_DTYPES, Rule


def in_result_format(operator: str, rule: Rule) -> Rule:
    """Return a rule whose results are in the memory format that the operator gives them."""
    orders = orders_of_results(operator, _geometry, OWN_DTYPES)
    if orders is None:
        return rule

    @wraps(rule)
    def apply(*args: Any, **options: Any) -> Any:
        made = rule(*args, **options)
        if isinstance(made, MetaArray):
            return _laid(made, orders((made,), args, options)[0])
        return (*map(_laid, made, orders(made, args, options)),)

    return apply


def _geometry(array: MetaArray) -> Geometry:
    return array.shape, array.element_strides


def _laid(array: Any, order: Order | None) -> Any:
    if order is None:
        return array
    return MetaArray(array.shape, array.dtype, strides_in_order(array.shape, order))
