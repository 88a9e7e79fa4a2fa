"""Functions that make tensors of a given size: the public form of the factory operators.

They accept sizes as separate numbers, ``requires_grad`` and ``out``, which the operators do not have.
"""

from __future__ import annotations

from operator import index
from typing import Any

from dovetail_kernel import Layout, TensorBase, bump_version, float64, int64, replace_array, strided

from ._generated import functions as aten
from .devices import as_device
from .from_data import as_dtype, refuse_pinning
from .generator import Generator
from .tensor import Tensor

__all__ = [
    "arange",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "scalar_tensor",
    "zeros",
    "zeros_like",
]


def zeros(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
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
        Whether gradients are computed for the result.

    Raises
    ------
    TypeError
        For a size or dtype of another kind.
    RuntimeError
        For a negative size.
    """
    shape = shape_of("zeros", sizes, size)
    options = _options("zeros", dtype, layout, device, pin_memory, out)
    return _finished(aten.zeros(shape, **options), requires_grad, out)


def ones(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of ones. Parameters and errors as `zeros`."""
    shape = shape_of("ones", sizes, size)
    options = _options("ones", dtype, layout, device, pin_memory, out)
    return _finished(aten.ones(shape, **options), requires_grad, out)


def empty(
    *sizes: Any,
    size: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor whose elements are not set. Parameters and errors as `zeros`; `memory_format` orders the strides."""
    shape = shape_of("empty", sizes, size)
    options = _options("empty", dtype, layout, device, pin_memory, out)
    return _finished(aten.empty(shape, **options, memory_format=memory_format), requires_grad, out)


def rand(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return numbers from the uniform distribution on [0, 1). Parameters and errors as `zeros`.

    `generator` is where the random numbers come from; default: the generator of the device.
    """
    shape = shape_of("rand", sizes, size)
    options = _options("rand", dtype, layout, device, pin_memory, out)
    if generator is None:
        made = aten.rand(shape, **options)
    else:
        made = aten.uniform_(aten.empty(shape, **options), generator=generator)
    return _finished(made, requires_grad, out)


def randn(
    *sizes: Any,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return numbers from the standard normal distribution. Parameters and errors as `rand`."""
    shape = shape_of("randn", sizes, size)
    options = _options("randn", dtype, layout, device, pin_memory, out)
    if generator is None:
        made = aten.randn(shape, **options)
    else:
        made = aten.normal_(aten.empty(shape, **options), generator=generator)
    return _finished(made, requires_grad, out)


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor filled with `fill_value`, whose kind gives the default dtype. Other parameters as `zeros`."""
    if not isinstance(size, list | tuple):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}. Give (n,)."
        )
    shape = shape_of("full", tuple(size), None)
    value = _number(fill_value)
    options = _options("full", dtype, layout, device, pin_memory, out)
    return _finished(aten.full(shape, value, **options), requires_grad, out)


def arange(
    *bounds: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the numbers of [start, end) in steps of `step`: ``arange(end)``, ``arange(start, end, step=1)``.

    Parameters
    ----------
    bounds, start, end, step
        Numbers. A float among them gives the default dtype, else the result is int64.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    TypeError
        For no bounds, or more than three.
    RuntimeError
        For a step of 0 or of the wrong sign, or a range that is not finite.
    """
    names = ("end",) if len(bounds) == 1 and start is None else ("start", "end", "step")
    if len(bounds) > 3:
        raise TypeError(f"arange() takes from 1 to 3 positional arguments but {len(bounds)} were given")
    given = {"start": start, "end": end, "step": step}
    for name, value in zip(names, bounds, strict=False):
        if given[name] is not None:
            raise TypeError(f"arange() got multiple values for argument '{name}'")
        given[name] = value
    if given["end"] is None:
        raise TypeError("arange() missing 1 required positional argument: 'end'")
    first, last, stride = (_number(given[name] if given[name] is not None else default)
                           for name, default in (("start", 0), ("end", 0), ("step", 1)))
    check_range(first, last, stride)
    options = _options("arange", dtype, layout, device, pin_memory, out)
    return _finished(aten.arange_start_step(first, last, stride, **options), requires_grad, out)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return `steps` numbers at equal distances from `start` to `end`, both included. Other parameters as `zeros`."""
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, but got {steps}")
    options = _options("linspace", dtype, layout, device, pin_memory, out)
    return _finished(aten.linspace(_number(start), _number(end), steps, **options), requires_grad, out)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return an `n` x `m` matrix (default: `n` x `n`) with ones on the diagonal. Other parameters as `zeros`."""
    rows, columns = index(n), index(n if m is None else m)
    if rows < 0 or columns < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(rows, columns)}")
    options = _options("eye", dtype, layout, device, pin_memory, out)
    made = aten.eye(max(rows, columns), **options)
    if rows != columns:
        made = made[:rows, :columns].clone(memory_format=None)
    return _finished(made, requires_grad, out)


def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a 0-d tensor of the default dtype with the value `s`. Other parameters as `zeros`."""
    options = _options("scalar_tensor", dtype, layout, device, pin_memory, None)
    return _finished(aten.scalar_tensor(_number(s), **options), requires_grad, None)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor with these strides, in elements, whose elements are not set. Other parameters as `zeros`."""
    shape = shape_of("empty_strided", (size,), None)
    strides = shape_of("empty_strided", (stride,), None)
    options = _options("empty_strided", dtype, layout, device, pin_memory, None)
    return _finished(aten.empty_strided(shape, strides, **options), requires_grad, None)


def randint(
    *bounds: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return integers from ``[low, high)``: ``randint(high, size)``, ``randint(low, high, size)``; `low` is 0 by default.

    Other parameters as `rand`; the default dtype is int64.

    Raises
    ------
    RuntimeError
        If `low` is not below `high`.
    TypeError
        If `high` or `size` is missing.
    """
    positional = list(bounds)
    if size is None and positional and isinstance(positional[-1], list | tuple):
        size = positional.pop()
    if high is None and positional:
        high = positional.pop()
    if low is None:
        low = positional.pop() if positional else 0
    if high is None or size is None or positional:
        raise TypeError("randint() takes (int high, tuple size) or (int low, int high, tuple size)")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    shape = shape_of("randint", (size,), None)
    options = _options("randint", dtype, layout, device, pin_memory, out)
    if generator is None:
        made = aten.randint_low(low, high, shape, **options)
    else:
        uniform = rand(shape, generator=generator, dtype=float64, device=options.get("device"))
        made = (uniform * (high - low) + low).floor().to(options.get("dtype") or int64)
    return _finished(made, requires_grad, out)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Layout | None = None,
    device: Any = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the integers below `n` in random order. Other parameters as `rand`; the default dtype is int64."""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    options = _options("randperm", dtype, layout, device, pin_memory, out)
    if generator is None:
        made = aten.randperm(n, **options)
    else:
        keys = rand(n, generator=generator, dtype=float64, device=options.get("device"))
        made = keys.argsort().to(options.get("dtype") or int64)
    return _finished(made, requires_grad, out)


def zeros_like(input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any) -> Tensor:
    """Return zeros of the shape of `input`, and, unless told otherwise, its dtype, device and strides.

    `options` are dtype, layout, device and pin_memory.
    """
    return _finished(aten.zeros_like(input, **_like(options), memory_format=memory_format), requires_grad, None)


def ones_like(input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any) -> Tensor:
    """Return ones. Parameters as `zeros_like`."""
    return _finished(aten.ones_like(input, **_like(options), memory_format=memory_format), requires_grad, None)


def empty_like(input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any) -> Tensor:
    """Return a tensor whose elements are not set. Parameters as `zeros_like`."""
    return _finished(aten.empty_like(input, **_like(options), memory_format=memory_format), requires_grad, None)


def full_like(
    input: Tensor, fill_value: Any, *, requires_grad: bool = False, memory_format: Any = None, **options: Any
) -> Tensor:
    """Return a tensor filled with `fill_value`. Parameters as `zeros_like`."""
    made = aten.full_like(input, _number(fill_value), **_like(options), memory_format=memory_format)
    return _finished(made, requires_grad, None)


def rand_like(input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any) -> Tensor:
    """Return numbers from the uniform distribution on [0, 1). Parameters as `zeros_like`."""
    return _finished(aten.rand_like(input, **_like(options), memory_format=memory_format), requires_grad, None)


def randn_like(input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any) -> Tensor:
    """Return numbers from the standard normal distribution. Parameters as `zeros_like`."""
    return _finished(aten.randn_like(input, **_like(options), memory_format=memory_format), requires_grad, None)


def randint_like(input: Tensor, *bounds: int, requires_grad: bool = False, **options: Any) -> Tensor:
    """Return integers from ``[low, high)``: ``randint_like(x, high)``, ``randint_like(x, low, high)``. Others as `zeros_like`."""
    own = {"dtype": input.dtype, "device": input.device}
    return randint(*bounds, tuple(input.shape), requires_grad=requires_grad, **{**own, **options})


def shape_of(function: str, sizes: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    """Return a shape given as separate numbers, as one sequence, or by keyword.

    Raises
    ------
    TypeError
        If it is missing, or no shape.
    """
    if size is not None:
        sizes = (size,)
    if not sizes:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    first = sizes[0]
    if first.__class__ is not int and len(sizes) == 1 and isinstance(first, list | tuple):
        sizes = tuple(first)
    try:
        return tuple([index(n) for n in sizes])
    except TypeError:
        wrong = next(n for n in sizes if not hasattr(n, "__index__") or isinstance(n, TensorBase))
        raise TypeError(
            f"{function}(): argument 'size' (position 1) must be tuple of ints, not {type(wrong).__name__}. Give ints."
        ) from None


def check_range(start: Any, end: Any, step: Any) -> None:
    """Refuse a range that never ends.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if step == 0:
        raise RuntimeError(f"step must be nonzero: the range {start} -> {end} would never end")
    if not all(-_INFINITY < bound < _INFINITY for bound in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}. Give finite bounds.")
    if (end - start) * step < 0:
        raise RuntimeError(f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}")


def _options(
    function: str, dtype: Any, layout: Layout | None, device: Any, pin_memory: bool | None, out: Tensor | None
) -> dict[str, Any]:
    """Return the options of a factory operator that are not at their defaults, checked."""
    options: dict[str, Any] = {}
    if dtype is not None:
        options["dtype"] = as_dtype(dtype, function)
    if device is not None:
        options["device"] = as_device(device)
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"{function}(): layout {layout!r} is not supported. Leave it out: tensors are strided.")
    if pin_memory:
        refuse_pinning(pin_memory)
    if out is not None:
        options.setdefault("dtype", out.dtype)
        options.setdefault("device", out.device)
        if options["dtype"] is not out.dtype:
            raise RuntimeError(
                f"dtype {options['dtype']!r} does not match dtype of out parameter ({out.dtype!r}). Leave dtype out."
            )
    return options


def _like(options: dict[str, Any]) -> dict[str, Any]:
    known = {"dtype", "layout", "device", "pin_memory"}
    if unknown := sorted(options.keys() - known):
        raise TypeError(f"got an unexpected keyword argument '{unknown[0]}'; there are {', '.join(sorted(known))}")
    return _options(
        "like", options.get("dtype"), options.get("layout"), options.get("device"), options.get("pin_memory"), None
    )


def _finished(made: Any, requires_grad: bool, out: Tensor | None) -> Tensor:
    if out is not None:
        made = _written(made, out)
    if requires_grad:
        made.requires_grad = True
    result: Tensor = made
    return result


def _written(made: Tensor, out: Tensor) -> Tensor:
    if made.array.shape == out.array.shape:
        aten.copy_(out, made)
    else:
        replace_array(out, made.array)
        bump_version(out)
    return out


def _number(value: Any) -> Any:
    """Return a number given as such, as a NumPy scalar or as a tensor with one element."""
    return value.item() if hasattr(value, "item") else value


_INFINITY = float("inf")
