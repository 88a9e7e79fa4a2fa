"""Factories that take shape, dtype, device and strides from another tensor: `zeros_like` and its
kin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail_dispatcher import overridable
from dovetail_dispatcher.missing import MISSING

from ..._generated import functions as aten
from ...calling.signatures import FACTORY_OPTIONS, shown_plainly
from ...typing import Tensor
from .factory import LikeFactory, finished, number_of
from .random_factories import integer_bounds

if TYPE_CHECKING:
    from dovetail_kernel import MemoryFormat

    from ...backend.generator import Generator

_zeros_like = LikeFactory("zeros_like")
_ones_like = LikeFactory("ones_like")
_empty_like = LikeFactory("empty_like")
_full_like = LikeFactory("full_like")
_rand_like = LikeFactory("rand_like")
_randn_like = LikeFactory("randn_like")


@shown_plainly(**FACTORY_OPTIONS)
@overridable
@_zeros_like.called_by
def zeros_like(
    input: Tensor = MISSING,
    *,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **options: Any,
) -> Tensor:
    """Return zeros of the shape of a tensor, and, unless told otherwise, its dtype, device and
    strides.

    Parameters
    ----------
    input
        The tensor.
    requires_grad
        Whether the result requires grad.
    memory_format
        The order of elements in memory; default: that of `input`, if its elements lie densely.
    options
        dtype, layout, device and pin_memory in place of those of `input`, and NumPy's names of
        `input`.

    Raises
    ------
    TypeError
        If `input` is not a tensor.
    """
    return _zeros_like(
        input, memory_format=memory_format, requires_grad=requires_grad, options=options
    )


@shown_plainly(**FACTORY_OPTIONS)
@overridable
@_ones_like.called_by
def ones_like(
    input: Tensor = MISSING,
    *,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **options: Any,
) -> Tensor:
    """Return ones of the shape of a tensor.

    Parameters
    ----------
    input, requires_grad, memory_format, options
        As for `zeros_like`.
    """
    return _ones_like(
        input, memory_format=memory_format, requires_grad=requires_grad, options=options
    )


@shown_plainly(**FACTORY_OPTIONS)
@overridable
@_empty_like.called_by
def empty_like(
    input: Tensor = MISSING,
    *,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **options: Any,
) -> Tensor:
    """Return an uninitialized tensor of the shape of another one.

    Parameters
    ----------
    input, requires_grad, memory_format, options
        As for `zeros_like`.
    """
    return _empty_like(
        input, memory_format=memory_format, requires_grad=requires_grad, options=options
    )


@shown_plainly(**FACTORY_OPTIONS)
@overridable
@_full_like.called_by
def full_like(
    input: Tensor = MISSING,
    fill_value: Any = MISSING,
    *,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **options: Any,
) -> Tensor:
    """Return a tensor of the shape of another one filled with a number.

    Parameters
    ----------
    fill_value
        The number, which is converted to the dtype of the result.
    input, requires_grad, memory_format, options
        As for `zeros_like`.
    """
    number = number_of(fill_value, "full_like", "fill_value")
    return _full_like(
        input, number, memory_format=memory_format, requires_grad=requires_grad, options=options
    )


@shown_plainly(**FACTORY_OPTIONS)
@overridable
@_rand_like.called_by
def rand_like(
    input: Tensor = MISSING,
    *,
    generator: Generator | None = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **options: Any,
) -> Tensor:
    """Return numbers from the uniform distribution on [0, 1) in the shape of a tensor.

    Parameters
    ----------
    generator
        Source of the random numbers; default: the generator of the device.
    input, requires_grad, memory_format, options
        As for `zeros_like`.

    Raises
    ------
    NotImplementedError
        For dtypes of integers and bool.
    """
    if generator is not None:
        made = empty_like(input, memory_format=memory_format, **options)
        return finished(aten.uniform_(made, generator=generator), requires_grad, None)
    return _rand_like(
        input, memory_format=memory_format, requires_grad=requires_grad, options=options
    )


@shown_plainly(**FACTORY_OPTIONS)
@overridable
@_randn_like.called_by
def randn_like(
    input: Tensor = MISSING,
    *,
    generator: Generator | None = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **options: Any,
) -> Tensor:
    """Return numbers from the normal distribution of mean 0 and variance 1 in the shape of a
    tensor.

    Parameters
    ----------
    input, generator, requires_grad, memory_format, options
        As for `rand_like`, with its errors.
    """
    if generator is not None:
        made = empty_like(input, memory_format=memory_format, **options)
        return finished(aten.normal_(made, generator=generator), requires_grad, None)
    return _randn_like(
        input, memory_format=memory_format, requires_grad=requires_grad, options=options
    )


@shown_plainly(**FACTORY_OPTIONS)
@overridable
def randint_like(
    input: Tensor = MISSING,
    *bounds: Any,
    low: object = None,
    high: object = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **options: Any,
) -> Tensor:
    """Return integers from ``[low, high)``: ``randint_like(x, high)``, ``randint_like(x, low,
    high)``; `low` defaults to 0.

    Parameters
    ----------
    bounds, low, high
        The bounds: the smallest integer, and one more than the greatest.
    input, generator, requires_grad, memory_format, options
        As for `rand_like`.

    Raises
    ------
    RuntimeError
        If `low` is not below `high`.
    TypeError
        If `high` is missing, or a bound is not an integer.
    """
    first, last = integer_bounds("randint_like", bounds, low, high)
    made: Any = empty_like(input, memory_format=memory_format, **options)
    return finished(made.random_(first, last, generator=generator), requires_grad, None)
