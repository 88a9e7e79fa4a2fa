"""Functions that make tensors of a given size: the public form of the factory operators.

They accept sizes as separate numbers, ``requires_grad`` and ``out``, which the operators do not
have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail_kernel import Layout, int64, scalar_category, scalar_dtype

from ...kernel_support.checks.range_checks import check_range
from ...typing import Tensor
from .factory import Factory, check_out, finished, number_of
from .sizes import shape_of, whole

if TYPE_CHECKING:
    from dovetail_kernel import DeviceLike, MemoryFormat
    from dovetail_kernel import dtype as DType

_zeros = Factory("zeros")
_ones = Factory("ones")
_empty = Factory("empty", "memory_format")
_full = Factory("full", arrange=lambda given: ((), int64 if given[1:] == (int,) else None))
_arange = Factory(
    "arange",
    "start_step",
    arrange=lambda given: ((0,) if len(given) == 1 else (), None if float in given else int64),
)
_linspace = Factory("linspace", arrange=lambda given: ((), None))
_eye = Factory("eye", arrange=lambda given: ((), None))
_scalar_tensor = Factory("scalar_tensor")
_empty_strided = Factory("empty_strided")


@_zeros.called_by
def zeros(
    *sizes: Any,
    size: object = None,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of zeros.

    Parameters
    ----------
    sizes, size
        The shape: several ints, or one sequence of them.
    out
        A tensor to write the result into.
    dtype
        Default: that of `out`, else the default dtype.
    layout
        Only `strided`.
    device
        Default: that of `out`, else the default device.
    pin_memory
        Must not be True.
    requires_grad
        Whether the result requires grad.

    Raises
    ------
    TypeError
        For a size or dtype of another kind.
    RuntimeError
        For a negative size.
    """
    shape = shape_of("zeros", sizes, size)
    return _zeros((shape,), dtype, layout, device, pin_memory, requires_grad, out)


@_ones.called_by
def ones(
    *sizes: Any,
    size: object = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of ones.

    Parameters
    ----------
    sizes, size
        The shape: several ints, or one sequence of them.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`, with its errors.
    """
    shape = shape_of("ones", sizes, size)
    return _ones((shape,), dtype, layout, device, pin_memory, requires_grad, out)


@_empty.called_by
def empty(
    *sizes: Any,
    size: object = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Return an uninitialized tensor.

    Parameters
    ----------
    sizes, size
        The shape: several ints, or one sequence of them.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`, with its errors.
    memory_format
        The memory format; default: contiguous.
    """
    shape = shape_of("empty", sizes, size)
    return _empty((shape,), dtype, layout, device, pin_memory, requires_grad, out, (memory_format,))


@_full.called_by
def full(
    size: object,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: object = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor filled with a number.

    Parameters
    ----------
    size
        The shape, a sequence of ints.
    fill_value
        The number; without `dtype` and `out`, its type determines the dtype.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    TypeError
        If `size` is not a sequence of ints.
    RuntimeError
        For a negative size.
    """
    if not isinstance(size, list | tuple):
        raise TypeError(
            "full(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(size).__name__}. Give (n,)."
        )
    shape = shape_of("full", (size,), None)
    value = number_of(fill_value, "full", "fill_value")
    if dtype is None and out is None:
        dtype = scalar_dtype(scalar_category(value))
    return _full((shape, value), dtype, layout, device, pin_memory, requires_grad, out)


@_arange.called_by
def arange(
    *bounds: Any,
    start: object = None,
    end: object = None,
    step: object = None,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the numbers in [start, end) with step size `step`: ``arange(end)``, ``arange(start,
    end, step=1)``, ``arange(start, end=end)``.

    Parameters
    ----------
    bounds, start, end, step
        Numbers. If one is a float, the result has the default dtype, otherwise int64.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    TypeError
        For no bounds, or more than three.
    RuntimeError
        For a step of 0 or of the wrong sign, or a range that is not finite.
    """
    alone = len(bounds) == 1 and start is None and end is None
    if alone and bounds[0].__class__ is int and bounds[0] >= 0 and step is None:
        if dtype is None and out is None:
            dtype = int64
        return _arange((0, bounds[0], 1), dtype, layout, device, pin_memory, requires_grad, out)
    names = ("end",) if alone else ("start", "end", "step")
    if len(bounds) > 3:
        raise TypeError(
            f"arange() takes from 1 to 3 positional arguments but {len(bounds)} were given"
        )
    given = {"start": start, "end": end, "step": step}
    for name, value in zip(names, bounds, strict=False):
        if given[name] is not None:
            raise TypeError(f"arange() got multiple values for argument '{name}'")
        given[name] = number_of(value, "arange", name)
    if given["end"] is None:
        raise TypeError("arange() missing 1 required positional argument: 'end'")
    first, last, stride = (
        number_of(given[name] if given[name] is not None else default, "arange", name)
        for name, default in (("start", 0), ("end", 0), ("step", 1))
    )
    check_range(first, last, stride)
    if dtype is None and out is None:
        dtype = scalar_dtype(
            max(1, scalar_category(first), scalar_category(last), scalar_category(stride))
        )
    return _arange((first, last, stride), dtype, layout, device, pin_memory, requires_grad, out)


@_linspace.called_by
def linspace(
    start: object,
    end: object,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return evenly spaced numbers, including both ends: ``start + i * (end - start) / (steps -
    1)``.

    Parameters
    ----------
    start, end
        The first and the last number, which may be complex.
    steps
        Number of values; a single value is `start`.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    RuntimeError
        For a negative number of steps.
    """
    steps = whole("linspace", "steps", steps)
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, but got {steps}")
    first, last = number_of(start, "linspace", "start"), number_of(end, "linspace", "end")
    if dtype is None and out is None:
        dtype = scalar_dtype(max(2, scalar_category(first), scalar_category(last)))
    return _linspace((first, last, steps), dtype, layout, device, pin_memory, requires_grad, out)


@_eye.called_by
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a matrix with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    n, m
        The numbers of rows and columns; `m` defaults to `n`.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    RuntimeError
        For a negative number of rows or columns.
    """
    rows = whole("eye", "n", n)
    columns = rows if m is None else whole("eye", "m", m)
    if rows < 0 or columns < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(rows, columns)}")
    if out is not None:
        check_out("eye", out)
        dtype, device = out.dtype if dtype is None else dtype, device or out.device
    made: Any = _eye((max(rows, columns),), dtype, layout, device, pin_memory, False, None)
    if rows != columns:
        made = made[:rows, :columns].clone(memory_format=None)
    return finished(made, requires_grad, out, "eye")


@_scalar_tensor.called_by
def scalar_tensor(
    s: object,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a 0-dimensional tensor.

    Parameters
    ----------
    s
        The number.
    dtype, layout, device, pin_memory, requires_grad
        As for `zeros`; the type of the number does not affect the dtype.
    """
    return _scalar_tensor(
        (number_of(s, "scalar_tensor", "s"),),
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
        None,
    )


@_empty_strided.called_by
def empty_strided(
    size: object,
    stride: object,
    *,
    dtype: Any = None,
    layout: Layout | None = None,
    device: object = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return an uninitialized tensor with given strides.

    Parameters
    ----------
    size
        The shape, a sequence of ints.
    stride
        Stride of each dimension, in elements.
    dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    RuntimeError
        If a size is negative, or if the numbers of strides and sizes differ.
    """
    shape = shape_of("empty_strided", (size,), None)
    strides = shape_of("empty_strided", (stride,), None)
    return _empty_strided((shape, strides), dtype, layout, device, pin_memory, requires_grad, None)
