"""Calls of functions of the Array API, drawn for a dtype; arrays are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import dovetail.array_api as xp

XPS: Final = make_strategies_namespace(xp)

BOOL: Final = ("bool",)
SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
INTEGERS: Final = SIGNED + UNSIGNED
FLOATS: Final = ("float32", "float64")
COMPLEX: Final = ("complex64", "complex128")
REAL: Final = INTEGERS + FLOATS
INEXACT: Final = FLOATS + COMPLEX
NUMERIC: Final = REAL + COMPLEX
ALL: Final = BOOL + NUMERIC


@dataclass(frozen=True)
class Dtype:
    """A dtype by its name, in a call that several libraries make."""

    name: str


Drawn = tuple[tuple[Any, ...], dict[str, Any]]
Calls = Callable[[Any, str], Drawn]

TAME: Final = {"min_value": -9, "max_value": 9}
SPECIAL: Final = (0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 3.0, np.inf, -np.inf, np.nan, 1e-3, 700.0)


def shapes(**options: Any) -> Any:
    return XPS.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4, **options)


def array(draw: Any, dtype: str, shape: Any = None, *, special: bool = True) -> np.ndarray:
    """Return an array, with infinities, NaN and zeros of both signs unless told otherwise."""
    shape = draw(shapes()) if shape is None else shape
    if dtype == "bool":
        elements: Any = st.booleans()
    elif dtype in UNSIGNED:
        elements = st.integers(0, 9) | st.sampled_from([0, int(np.iinfo(dtype).max)])
        elements = elements if special else st.integers(0, 9)
    elif dtype in SIGNED:
        elements = st.integers(-9, 9)
    else:
        parts = st.floats(-9, 9, width=32)
        parts = parts | st.sampled_from(SPECIAL) if special else parts
        parts = parts.map(lambda x: float(np.float32(x)))
        pairs = st.tuples(parts, parts).map(lambda pair: complex(*pair))
        elements = pairs if dtype in COMPLEX else parts
    size = int(np.prod(shape, dtype=int))
    values = draw(st.lists(elements, min_size=size, max_size=size))
    made = xp.asarray(np.asarray(values, dtype=dtype).reshape(shape))
    return np.asarray(made)


def axis(draw: Any, ndim: int, *, several: bool = False, none: bool = True) -> Any:
    """Return an axis of an array, several or None."""
    choices: list[Any] = [st.none()] if none or not ndim else []
    if ndim:
        choices.append(st.integers(-ndim, ndim - 1))
        if several:
            each = st.lists(st.integers(0, ndim - 1), unique=True, min_size=1)
            choices.append(each.map(tuple))
    return draw(st.one_of(choices))


def one(draw: Any, dtype: str) -> Drawn:
    return (array(draw, dtype),), {}


PARTNERS: Final = {
    **{each: (*SIGNED, "uint8", "uint16", "uint32") for each in SIGNED},
    **{each: UNSIGNED for each in UNSIGNED},
    **{each: INEXACT for each in FLOATS},
    **{each: INEXACT for each in COMPLEX},
    "bool": BOOL,
}


def two(draw: Any, dtype: str, kinds: tuple[str, ...] = ALL, **options: Any) -> Drawn:
    """Return two arrays that broadcast and promote, or an array and a number."""
    both = draw(XPS.mutually_broadcastable_shapes(2, max_dims=3, max_side=3))
    first = array(draw, dtype, both.input_shapes[0], **options)
    if draw(st.booleans()):
        number = {"b": True, "i": 2, "u": 3, "f": 1.5, "c": 1 - 2j}[np.dtype(dtype).kind]
        return ((first, number) if draw(st.booleans()) else (number, first)), {}
    other = draw(st.sampled_from([each for each in PARTNERS[dtype] if each in kinds]))
    return (first, array(draw, other, both.input_shapes[1], **options)), {}


def of(kinds: tuple[str, ...], **options: Any) -> Calls:
    """Return calls of two operands of some kinds."""
    return lambda draw, dtype: two(draw, dtype, kinds, **options)


def shifted(draw: Any, dtype: str) -> Drawn:
    both = draw(XPS.mutually_broadcastable_shapes(2, max_dims=2, max_side=3))
    first = array(draw, dtype, both.input_shapes[0], special=False)
    return (first, np.abs(array(draw, dtype, both.input_shapes[1], special=False)) % 7), {}


def divided(draw: Any, dtype: str) -> Drawn:
    (first, second), _ = two(draw, dtype, REAL)
    if np.dtype(dtype).kind in "iu":  # of a division by zero the standard says nothing
        second = 3 if not hasattr(second, "dtype") else np.where(second == 0, 1, second)
        second = second if not hasattr(second, "dtype") else second.astype(np.asarray(second).dtype)
    return (first, second), {}


def powers(draw: Any, dtype: str) -> Drawn:
    (first, second), _ = two(draw, dtype, NUMERIC, special=False)
    if np.dtype(dtype).kind in "iu":
        second = second if not hasattr(second, "dtype") else np.abs(second) % 4
    return (first, second), {}


def bounded(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype)
    bounds = st.none() | (st.floats(-3, 3, width=16) if dtype in FLOATS else st.integers(0, 9))
    low, high = draw(bounds), draw(bounds)
    if low is not None and high is not None and low > high:
        low, high = high, low
    return (x,), {"min": low, "max": high}


def reduced(draw: Any, dtype: str, *, least: int = 0, several: bool = True) -> Drawn:
    x = array(draw, dtype, draw(XPS.array_shapes(min_dims=0, max_dims=3, min_side=least)))
    named = {"axis": axis(draw, x.ndim, several=several), "keepdims": draw(st.booleans())}
    return (x,), named


def filled(draw: Any, dtype: str) -> Drawn:
    return reduced(draw, dtype, least=1)


def single(draw: Any, dtype: str) -> Drawn:
    return reduced(draw, dtype, least=1, several=False)


def summed(draw: Any, dtype: str) -> Drawn:
    args, named = reduced(draw, dtype)
    args = (np.nan_to_num(args[0], nan=1, posinf=2, neginf=3),) if dtype in INEXACT else args
    return args, named


def spread(draw: Any, dtype: str) -> Drawn:
    x = array(
        draw, dtype, draw(XPS.array_shapes(min_dims=1, max_dims=3, min_side=2)), special=False
    )
    return (x,), {
        "axis": axis(draw, x.ndim, several=True),
        "keepdims": draw(st.booleans()),
        "correction": draw(st.sampled_from([0.0, 1.0, 0.5])),
    }


def cumulated(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype, draw(XPS.array_shapes(min_dims=1, max_dims=3)), special=False)
    along = axis(draw, x.ndim, none=x.ndim == 1)
    return (x,), {"axis": along, "include_initial": draw(st.booleans())}


def differences(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype, draw(XPS.array_shapes(min_dims=1, max_dims=3)), special=False)
    return (x,), {"axis": axis(draw, x.ndim, none=False), "n": draw(st.integers(0, 2))}
