"""Functions that make tensors of a given size: the public form of the factory operators.

They accept sizes as separate numbers, ``requires_grad`` and ``out``, which the operators do not
have.
"""

from __future__ import annotations

from operator import index
from typing import Any

from dovetail_dispatcher.interception.overrides import call_overrides
from dovetail_dispatcher.table import registry
from dovetail_kernel import (
    Layout,
    bump_version,
    dispatch_state,
    float64,
    get_default_dtype,
    int64,
    replace_array,
    scalar_category,
    scalar_dtype,
    state,
    strided,
)
from dovetail_kernel import dtype as DType
from dovetail_kernel.types.signature import NO_GRAD

from .._generated import functions as aten
from ..backend.backend_select import is_selected_here, route_below
from ..backend.devices import as_device, backend_for
from ..backend.generator import Generator
from .from_data import as_dtype, refuse_pinning
from .sizes import shape_of
from .tensor_class import Tensor

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
    return _zeros((shape,), dtype, layout, device, pin_memory, requires_grad, out)


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
    return _ones((shape,), dtype, layout, device, pin_memory, requires_grad, out)


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
    """Return a tensor whose elements are not set. Parameters and errors as `zeros`; `memory_format`
    orders strides.
    """
    shape = shape_of("empty", sizes, size)
    return _empty((shape,), dtype, layout, device, pin_memory, requires_grad, out, (memory_format,))


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
    if generator is None:
        return _rand((shape,), dtype, layout, device, pin_memory, requires_grad, out)
    made = _empty((shape,), dtype, layout, device, pin_memory, False, None)
    return _finished(aten.uniform_(made, generator=generator), requires_grad, out)


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
    if generator is None:
        return _randn((shape,), dtype, layout, device, pin_memory, requires_grad, out)
    made = _empty((shape,), dtype, layout, device, pin_memory, False, None)
    return _finished(aten.normal_(made, generator=generator), requires_grad, out)


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
    """Return a tensor filled with `fill_value`, whose kind gives the default dtype. Other
    parameters as `zeros`.
    """
    if not isinstance(size, list | tuple):
        raise TypeError(
            "full(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(size).__name__}. Give (n,)."
        )
    shape = shape_of("full", (size,), None)
    value = _number(fill_value)
    if dtype is None and out is None:
        dtype = scalar_dtype(scalar_category(value))
    return _full((shape, value), dtype, layout, device, pin_memory, requires_grad, out)


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
    """Return the numbers of [start, end) in steps of `step`: ``arange(end)``, ``arange(start, end,
    step=1)``.

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
        raise TypeError(
            f"arange() takes from 1 to 3 positional arguments but {len(bounds)} were given"
        )
    given = {"start": start, "end": end, "step": step}
    for name, value in zip(names, bounds, strict=False):
        if given[name] is not None:
            raise TypeError(f"arange() got multiple values for argument '{name}'")
        given[name] = value
    if given["end"] is None:
        raise TypeError("arange() missing 1 required positional argument: 'end'")
    first, last, stride = (
        _number(given[name] if given[name] is not None else default)
        for name, default in (("start", 0), ("end", 0), ("step", 1))
    )
    check_range(first, last, stride)
    if dtype is None and out is None:
        dtype = scalar_dtype(
            max(1, scalar_category(first), scalar_category(last), scalar_category(stride))
        )
    return _arange((first, last, stride), dtype, layout, device, pin_memory, requires_grad, out)


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
    """Return `steps` numbers at equal distances from `start` to `end`, both included. Other
    parameters as `zeros`.
    """
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, but got {steps}")
    first, last = _number(start), _number(end)
    if dtype is None and out is None:
        dtype = scalar_dtype(max(2, scalar_category(first), scalar_category(last)))
    return _linspace((first, last, steps), dtype, layout, device, pin_memory, requires_grad, out)


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
    """Return an `n` x `m` matrix (default: `n` x `n`) with ones on the diagonal. Other parameters
    as `zeros`.
    """
    rows, columns = index(n), index(n if m is None else m)
    if rows < 0 or columns < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(rows, columns)}")
    made: Any = _eye((max(rows, columns),), dtype, layout, device, pin_memory, False, None)
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
    return _scalar_tensor((_number(s),), dtype, layout, device, pin_memory, requires_grad, None)


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
    """Return a tensor with these strides, in elements, whose elements are not set. Other parameters
    as `zeros`.
    """
    shape = shape_of("empty_strided", (size,), None)
    strides = shape_of("empty_strided", (stride,), None)
    return _empty_strided((shape, strides), dtype, layout, device, pin_memory, requires_grad, None)


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
    """Return integers from ``[low, high)``: ``randint(high, size)``, ``randint(low, high, size)``;
    `low` is 0 at first.

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
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    shape = shape_of("randint", (size,), None)
    if generator is None:
        return _randint((low, high, shape), dtype, layout, device, pin_memory, requires_grad, out)
    uniform: Any = rand(shape, generator=generator, dtype=float64, device=device)
    made = (uniform * (high - low) + low).floor().to(dtype or int64)
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
    """Return the integers below `n` in random order. Other parameters as `rand`; the default dtype
    is int64.
    """
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    if generator is None:
        return _randperm((n,), dtype, layout, device, pin_memory, requires_grad, out)
    keys: Any = rand(n, generator=generator, dtype=float64, device=device)
    made = keys.argsort().to(dtype or int64)
    return _finished(made, requires_grad, out)


def zeros_like(
    input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any
) -> Tensor:
    """Return zeros of the shape of `input`, and, unless told otherwise, its dtype, device and
    strides.

    `options` are dtype, layout, device and pin_memory.
    """
    return _finished(
        aten.zeros_like(input, **_like(options), memory_format=memory_format), requires_grad, None
    )


def ones_like(
    input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any
) -> Tensor:
    """Return ones. Parameters as `zeros_like`."""
    return _finished(
        aten.ones_like(input, **_like(options), memory_format=memory_format), requires_grad, None
    )


def empty_like(
    input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any
) -> Tensor:
    """Return a tensor whose elements are not set. Parameters as `zeros_like`."""
    return _finished(
        aten.empty_like(input, **_like(options), memory_format=memory_format), requires_grad, None
    )


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    requires_grad: bool = False,
    memory_format: Any = None,
    **options: Any,
) -> Tensor:
    """Return a tensor filled with `fill_value`. Parameters as `zeros_like`."""
    made = aten.full_like(input, _number(fill_value), **_like(options), memory_format=memory_format)
    return _finished(made, requires_grad, None)


def rand_like(
    input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any
) -> Tensor:
    """Return numbers from the uniform distribution on [0, 1). Parameters as `zeros_like`."""
    return _finished(
        aten.rand_like(input, **_like(options), memory_format=memory_format), requires_grad, None
    )


def randn_like(
    input: Tensor, *, requires_grad: bool = False, memory_format: Any = None, **options: Any
) -> Tensor:
    """Return numbers from the standard normal distribution. Parameters as `zeros_like`."""
    return _finished(
        aten.randn_like(input, **_like(options), memory_format=memory_format), requires_grad, None
    )


def randint_like(
    input: Tensor, *bounds: int, requires_grad: bool = False, **options: Any
) -> Tensor:
    """Return integers: ``randint_like(x, high)``, ``randint_like(x, low, high)``. Other parameters
    as `zeros_like`.
    """
    own = {"dtype": input.dtype, "device": input.device}
    return randint(*bounds, tuple(input.shape), requires_grad=requires_grad, **{**own, **options})


def check_range(start: Any, end: Any, step: Any) -> None:
    """Refuse a range that never ends.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    for number in (start, end, step):
        if isinstance(number, complex):
            raise RuntimeError(
                f"value cannot be converted to type double without overflow: {number!r}. Give "
                "real bounds."
            )
    if step == 0:
        raise RuntimeError(f"step must be nonzero: the range {start} -> {end} would never end")
    if not all(-_INFINITY < bound < _INFINITY for bound in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}. Give finite bounds.")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"upper bound and lower bound inconsistent with step sign: {start} -> {end} by {step}"
        )


class _Factory:
    """A factory operator, called past the choice of its backend where nothing else can have a say
    in it.
    """

    __slots__ = ("_default", "_epoch", "_name", "_op", "_selected", "_tail")

    def __init__(
        self,
        name: str,
        overload: str = "",
        *,
        tail: tuple[Any, ...] = (),
        default: Any = get_default_dtype,
    ) -> None:
        self._name = name
        self._op = registry.find_or_throw(f"aten::{name}", overload)
        self._default = default
        self._tail = tail
        self._selected = False
        self._epoch = -1

    def __call__(
        self,
        leading: tuple[Any, ...],
        dtype: Any,
        layout: Layout | None,
        device: Any,
        pin_memory: bool | None,
        requires_grad: bool,
        out: Tensor | None,
        tail: tuple[Any, ...] | None = None,
    ) -> Tensor:
        """Return the new tensor: the `leading` arguments of the schema, then the options that all
        factories share.
        """
        op = self._op
        if dtype is not None and dtype.__class__ is not DType:
            dtype = as_dtype(dtype, self._name)
        if out is not None or pin_memory or layout is not None:
            dtype, device = _checked(self._name, dtype, layout, device, pin_memory, out)
        now, place = state(), as_device(device)
        if now & ~NO_GRAD or place.index is not None or not self._is_selected():
            options = {"dtype": dtype, "device": None if device is None else place}
            if tail:
                options["memory_format"] = tail[0]
            given = {name: value for name, value in options.items() if value is not None}
            if dispatch_state(now).function_modes:
                made = call_overrides(globals()[self._name], (), leading, given)
            else:
                made = op.handle(*leading, **given)
        else:
            route = route_below(op, backend_for(place), now)
            made = route(
                *leading,
                dtype or self._default(),
                None,
                place,
                None,
                *(self._tail if tail is None else tail),
            )
        if out is not None:
            made = _written(made, out)
        if requires_grad:
            made.requires_grad = True
        result: Tensor = made
        return result

    def _is_selected(self) -> bool:
        if self._epoch != registry.epoch:
            self._selected = is_selected_here(self._op)
            self._epoch = registry.epoch
        return self._selected


def _long() -> DType:
    return int64


_zeros = _Factory("zeros")
_ones = _Factory("ones")
_empty = _Factory("empty", "memory_format", tail=(None,))
_rand = _Factory("rand")
_randn = _Factory("randn")
_full = _Factory("full")
_arange = _Factory("arange", "start_step")
_linspace = _Factory("linspace")
_eye = _Factory("eye")
_scalar_tensor = _Factory("scalar_tensor")
_empty_strided = _Factory("empty_strided")
_randint = _Factory("randint", "low", default=_long)
_randperm = _Factory("randperm", default=_long)


def _checked(
    function: str,
    dtype: DType | None,
    layout: Layout | None,
    device: Any,
    pin_memory: bool | None,
    out: Tensor | None,
) -> tuple[DType | None, Any]:
    """Return dtype and device, those of `out` if they are not given; refuse options that have no
    support.
    """
    if layout is not None and layout is not strided:
        raise NotImplementedError(
            f"{function}(): layout {layout!r} is not supported. Leave it out: tensors are strided."
        )
    refuse_pinning(pin_memory)
    if out is None:
        return dtype, device
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(
            f"dtype {dtype!r} does not match dtype of out parameter ({out.dtype!r}). Leave dtype "
            "out."
        )
    return out.dtype, out.device if device is None else device


def _like(options: dict[str, Any]) -> dict[str, Any]:
    known = {"dtype", "layout", "device", "pin_memory"}
    if unknown := sorted(options.keys() - known):
        raise TypeError(
            f"got an unexpected keyword argument '{unknown[0]}'; there are "
            f"{', '.join(sorted(known))}"
        )
    dtype, device = as_dtype(options.get("dtype"), "like"), options.get("device")
    _checked("like", dtype, options.get("layout"), device, options.get("pin_memory"), None)
    return {"dtype": dtype, "device": None if device is None else as_device(device)}


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
