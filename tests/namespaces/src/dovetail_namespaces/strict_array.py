"""`Array`: an array of the standard, with those methods and operators of NumPy's that array kernels
call, and its dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import array_api_strict as standard
import numpy as np

__all__ = [
    "KINDS",
    "OF_MASKS",
    "REDUCTIONS",
    "Array",
    "as_numbers",
    "masks_as_numbers",
    "unwrapped",
    "wrapped",
]

Function = Callable[..., Any]

OF_MASKS: Final = {
    "add": standard.logical_or,
    "maximum": standard.logical_or,
    "minimum": standard.logical_and,
    "multiply": standard.logical_and,
}
"""What NumPy's functions of numbers do with two masks."""

_OPERATORS: Final = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or"),
    *("xor", "lshift", "rshift", "lt", "le", "gt", "ge", "eq", "ne"),
)


class Kind(NamedTuple):
    """A dtype of the standard, an object that knows nothing, its name, and the size of elements."""

    strict: Any
    name: str
    itemsize: int


KINDS: Final = {
    name: Kind(getattr(standard, name), name, np.dtype(name).itemsize)
    for name in standard.__array_namespace_info__().dtypes()
}
"""Dtypes by name."""

_KIND_OF: Final = {each.strict: each for each in KINDS.values()}


def wrapped(value: Any) -> Any:
    """Return arrays of the standard as `Array`\\ s, in tuples too."""
    if isinstance(value, _STANDARD):
        return Array(value)
    return tuple(map(wrapped, value)) if isinstance(value, tuple | list) else value


def unwrapped(value: Any) -> Any:
    """Return `Array`\\ s as those of the standard, in tuples and lists too."""
    if isinstance(value, Array | Kind):
        return value.strict
    return type(value)(map(unwrapped, value)) if isinstance(value, tuple | list) else value


class Array:
    """An array of the standard, with those methods of NumPy's that array kernels call."""

    __slots__ = ("__weakref__", "strict")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __init__(self, strict: Any) -> None:
        self.strict = strict

    dtype = property(lambda self: _KIND_OF[self.strict.dtype])
    shape = property(lambda self: self.strict.shape)
    ndim = property(lambda self: self.strict.ndim)
    size = property(lambda self: self.strict.size)
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    T = property(lambda self: self.transpose())
    real = property(lambda self: self._part(standard.real))
    imag = property(lambda self: self._part(standard.imag))

    def _part(self, function: Function) -> Array:
        return Array(function(self.strict))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.strict, dtype, copy=copy)

    def __bool__(self) -> bool:
        return bool(self.strict)

    def __int__(self) -> int:
        return int(self.strict)

    def __float__(self) -> float:
        return float(self.strict)

    def __complex__(self) -> complex:
        return complex(self.strict)

    def __index__(self) -> int:
        return int(self.strict.__index__())

    def __len__(self) -> int:
        return int(self.shape[0])

    def __repr__(self) -> str:
        return repr(self.strict)

    def __abs__(self) -> Array:
        return Array(abs(self.strict))

    def __neg__(self) -> Array:
        return Array(-self.strict)

    def __invert__(self) -> Array:
        return Array(~self.strict)

    def __getitem__(self, key: Any) -> Array:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(each, Array) for each in keys):  # the standard has masks alone, and
            host = np.asarray(self.strict)[_on_host(key)]  # integers for all dimensions
            return Array(standard.asarray(host))
        return Array(self.strict[_as_in_standard(keys, self.shape)])

    def reshape(self, *shape: Any, copy: bool | None = None) -> Array:
        """Return the elements in another shape."""
        sizes = shape if len(shape) != 1 or isinstance(shape[0], int) else shape[0]
        return Array(standard.reshape(self.strict, tuple(sizes)))

    def astype(self, dtype: Any, copy: bool = True) -> Array:
        """Return the elements in another dtype; complex numbers are true where they are not
        zero.
        """
        if unwrapped(dtype) == standard.bool:
            return Array(self.strict != standard.zeros((), dtype=self.strict.dtype))
        return Array(standard.astype(self.strict, unwrapped(dtype), copy=copy))

    def transpose(self, *axes: Any) -> Array:
        """Return the dimensions in another order."""
        order = axes[0] if axes and isinstance(axes[0], Sequence) else axes
        return Array(standard.permute_dims(self.strict, order or range(self.ndim)[::-1]))

    def swapaxes(self, one: int, other: int) -> Array:
        """Return two dimensions in each other's place."""
        order = list(range(self.ndim))
        order[one], order[other] = order[other], order[one]
        return Array(standard.permute_dims(self.strict, tuple(order)))

    def repeat(self, repeats: int, axis: int) -> Array:
        """Return every element several times along an axis."""
        return Array(standard.repeat(self.strict, repeats, axis=axis))

    def squeeze(self, axis: Any) -> Array:
        """Return what is left without dimensions of size one."""
        return Array(standard.squeeze(self.strict, axis))

    def view(self, dtype: Any) -> Array:
        """Return the same bytes as another dtype."""
        host = np.array(self.strict).view(np.dtype(dtype.name))
        return Array(standard.asarray(host))

    def copy(self) -> Array:
        """Return another array with the same elements."""
        return Array(standard.asarray(self.strict, copy=True))

    def tolist(self) -> Any:
        """Return the elements as Python numbers."""
        return np.asarray(self.strict).tolist()

    def item(self) -> Any:
        """Return the one element as a Python number."""
        return np.asarray(self.strict).item()


def _on_host(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_on_host, key))
    return np.asarray(key.strict) if isinstance(key, Array) else key


def _as_in_standard(keys: tuple[Any, ...], shape: Sequence[int]) -> tuple[Any, ...]:
    """Return an index with the ellipsis that NumPy lets one leave out, and slices that end where
    the array does.
    """
    if not any(each is Ellipsis for each in keys):
        keys = (*keys, ...)
    place = next(number for number, each in enumerate(keys) if each is Ellipsis)
    before, behind = keys[:place], keys[place + 1 :]
    sizes = iter(shape)
    first = [_within(each, sizes) for each in before]
    left = sum(each is not None for each in behind)
    sizes = iter(shape[len(shape) - left :] if left else ())
    return (*first, ..., *[_within(each, sizes) for each in behind])


def _within(key: Any, sizes: Iterator[int]) -> Any:
    if key is None:
        return key
    size = next(sizes)
    if not isinstance(key, slice):
        return key
    start, stop, step = key.indices(size)
    return slice(None if start < 0 else start, None if stop < 0 else stop, step)


_ORDERS: Final = ("__lt__", "__le__", "__gt__", "__ge__")
_OF_BITS: Final = ("__and__", "__or__", "__xor__", "__rand__", "__ror__", "__rxor__")
_OF_TWO_MASKS: Final = {"__add__": OF_MASKS["add"], "__mul__": OF_MASKS["multiply"]}


def _operator(name: str) -> Function:
    def operate(self: Array, other: Any) -> Any:
        if self.dtype == KINDS["bool"] and (type(other) in (int, float) or name in _ORDERS):
            # As numbers: NumPy compares masks, also with numbers.
            self, other = as_numbers(self), as_numbers(other)
        elif name in _OF_TWO_MASKS and self.dtype == KINDS["bool"] == getattr(other, "dtype", None):
            return Array(_OF_TWO_MASKS[name](self.strict, other.strict))
        elif name not in _OF_BITS:
            self, other = masks_as_numbers((self, other))
        result = getattr(self.strict, name)(unwrapped(other))
        return result if result is NotImplemented else wrapped(result)

    return operate


for _name in _OPERATORS:
    for _full in (f"__{_name}__", f"__r{_name}__"):
        if hasattr(standard.zeros(1), _full):
            setattr(Array, _full, _operator(_full))


def _reduction(name: str) -> Function:
    function = getattr(standard, name)

    def reduce(self: Array, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        x = self if dtype is None else self.astype(dtype)
        called = function
        if x.dtype == KINDS["bool"]:
            if name in ("sum", "prod"):
                x = x.astype(KINDS["int64"])
            called = {"max": standard.any, "min": standard.all}.get(name, function)
        # Sums of small integers are of large ones, unless another dtype is asked for.
        given = {} if dtype is None or name not in ("sum", "prod") else {"dtype": x.dtype.strict}
        return Array(called(x.strict, axis=axis, keepdims=keepdims, **given))

    return reduce


REDUCTIONS: Final = {name: _reduction(name) for name in ("sum", "prod", "max", "min", "any", "all")}
for _name, _method in REDUCTIONS.items():
    setattr(Array, _name, _method)

_STANDARD: Final = type(standard.zeros(1))


def as_numbers(value: Any) -> Any:
    """Return a mask as zeros and ones, which the standard can order, and all others as they are."""
    is_mask = isinstance(value, Array) and value.dtype == KINDS["bool"]
    return value.astype(KINDS["uint8"]) if is_mask else value


def masks_as_numbers(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return two operands of which one is a mask, and the other has numbers, in one dtype."""
    if len(args) != 2 or not all(isinstance(each, Array) for each in args):
        return args
    masks = [each.dtype == KINDS["bool"] for each in args]
    if masks[0] == masks[1]:
        return args
    own = args[masks[0]].dtype
    return tuple(
        [each.astype(own) if mask else each for each, mask in zip(args, masks, strict=True)]
    )
