"""Functions that make tensors of random numbers: the public form of the random factories."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel import Layout, dtype, int64

from ..._generated import functions as aten
from ...backend.generator import Generator
from ...typing import Tensor
from .factories import empty
from .factory import Factory, finished
from .sizes import shape_of, whole

if TYPE_CHECKING:
    from dovetail_kernel import DeviceLike

_SEQUENCES: Final = (list, tuple)


def _long() -> dtype:
    return int64


_rand = Factory("rand")
_randn = Factory("randn")
_randint = Factory(
    "randint",
    "low",
    default=_long,
    arrange=lambda given: ((0,) if given.count(int) == 1 else (), int64),
)
_randperm = Factory("randperm", default=_long, arrange=lambda given: ((), int64))


@_rand.called_by
def rand(
    *sizes: Any,
    size: object = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return numbers from the uniform distribution on [0, 1).

    Parameters
    ----------
    sizes, size
        The shape: several ints, or one sequence of them.
    generator
        Source of the random numbers; default: the generator of the device.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`, with its errors.

    Raises
    ------
    NotImplementedError
        For dtypes of integers and bool.
    """
    shape = shape_of("rand", sizes, size)
    if generator is None:
        return _rand((shape,), dtype, layout, device, pin_memory, requires_grad, out)
    if out is not None:
        dtype, device = out.dtype if dtype is None else dtype, device or out.device
    made = empty(shape, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return finished(aten.uniform_(made, generator=generator), requires_grad, out, "rand")


@_randn.called_by
def randn(
    *sizes: Any,
    size: object = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return numbers from the normal distribution of mean 0 and variance 1.

    Parameters
    ----------
    sizes, size
        The shape: several ints, or one sequence of them.
    generator, out, dtype, layout, device, pin_memory, requires_grad
        As for `rand`, with its errors.
    """
    shape = shape_of("randn", sizes, size)
    if generator is None:
        return _randn((shape,), dtype, layout, device, pin_memory, requires_grad, out)
    if out is not None:
        dtype, device = out.dtype if dtype is None else dtype, device or out.device
    made = empty(shape, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return finished(aten.normal_(made, generator=generator), requires_grad, out, "randn")


def integer_bounds(function: str, positional: Sequence[object], low: Any, high: Any) -> Any:
    """Return the bounds of random integers, given as ``(high)`` or ``(low, high)`` or by name.
    Raises RuntimeError if `low` is not below `high`, and TypeError if `high` is missing, there are
    more than two, or one is not an integer.
    """
    if low is None and high is None and 0 < len(positional) <= 2:
        first, last = (0, *positional)[-2:]
        if first.__class__ is int and last.__class__ is int and first < last:
            return first, last
    names = ("low", "high") if len(positional) == 2 or high is not None else ("high",)
    given = dict(zip(names, positional, strict=False))
    named = {name: value for name, value in (("low", low), ("high", high)) if value is not None}
    bounds = {"low": 0, **given, **named}
    if len(positional) > len(names) or given.keys() & named or "high" not in bounds:
        raise TypeError(f"{function}() takes (high) or (low, high) as its bounds. Give integers.")
    for name, value in bounds.items():
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(
                f"{function}(): argument '{name}' must be int, not {type(value).__name__}"
            )
    first, last = index(bounds["low"]), index(bounds["high"])
    if first >= last:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={first} >= to={last}"
        )
    return first, last


@_randint.called_by
def randint(
    *bounds: Any,
    low: object = None,
    high: object = None,
    size: object = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return integers from ``[low, high)``: ``randint(high, size)``, ``randint(low, high, size)``;
    `low` defaults to 0.

    Parameters
    ----------
    bounds, low, high
        The bounds: the smallest integer, and one more than the greatest.
    size
        The shape, a sequence of ints; it may follow the bounds by position.
    dtype
        Default: the dtype of `out`, or int64.
    generator, out, layout, device, pin_memory, requires_grad
        As for `rand`.

    Raises
    ------
    RuntimeError
        If `low` is not below `high`.
    TypeError
        If `high` or `size` is missing.
    """
    positional = list(bounds)
    if size is None and positional and isinstance(positional[-1], _SEQUENCES):
        size = positional.pop()
    if size is None:
        raise TypeError("randint() takes (int high, tuple size) or (int low, int high, tuple size)")
    low, high = integer_bounds("randint", positional, low, high)
    shape = shape_of("randint", (size,), None)
    if generator is None:
        return _randint((low, high, shape), dtype, layout, device, pin_memory, requires_grad, out)
    kind = dtype or (int64 if out is None else out.dtype)
    made: Any = empty(shape, dtype=kind, layout=layout, device=device, pin_memory=pin_memory)
    return finished(made.random_(low, high, generator=generator), requires_grad, out, "randint")


@_randperm.called_by
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the integers from 0 to ``n - 1`` in random order.

    Parameters
    ----------
    n
        Number of integers.
    dtype
        Default: the dtype of `out`, or int64.
    generator, out, layout, device, pin_memory, requires_grad
        As for `rand`.

    Raises
    ------
    RuntimeError
        For a negative `n`.
    """
    n = whole("randperm", "n", n)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    if generator is None:
        return _randperm((n,), dtype, layout, device, pin_memory, requires_grad, out)
    kind = dtype or (int64 if out is None else out.dtype)
    drawn: Any = aten.randperm  # with its overload
    made = drawn(n, generator=generator, dtype=kind, layout=layout, device=device)
    return finished(made, requires_grad, out, "randperm")
