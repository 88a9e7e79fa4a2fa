"""Memory formats of results on the meta device, by the rules of `kernel_support.result_formats`."""

from __future__ import annotations

from functools import wraps
from typing import Any

from ..kernel_support.geometry.broadcasting import Geometry
from ..kernel_support.geometry.memory_layout import channels_last_order, strides_in_order
from ..kernel_support.result_formats import RESULT_FORMATS
from .meta_array import MetaArray
from .table import OWN_DTYPES, Rule


def in_result_format(operator: str, rule: Rule) -> Rule:
    """Return a rule whose results are in the memory format that the operator gives them."""
    result_format = RESULT_FORMATS.get(operator)
    if result_format is None:
        return rule

    @wraps(rule)
    def apply(*args: Any, **options: Any) -> Any:
        made = rule(*args, **options)
        if not result_format.gives_channels_last(_geometry, OWN_DTYPES, args):
            return made
        if isinstance(made, MetaArray):
            return _channels_last(made)
        count = result_format.results
        return *map(_channels_last, made[:count]), *made[count:]

    return apply


def _geometry(array: MetaArray) -> Geometry:
    return array.shape, array.element_strides


def _channels_last(array: MetaArray | None) -> MetaArray | None:
    if array is None:
        return None
    strides = strides_in_order(array.shape, channels_last_order(array.ndim))
    return MetaArray(array.shape, array.dtype, strides)
