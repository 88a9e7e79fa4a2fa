"""The forms of NumPy's functions that kernels call give what NumPy's give."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dovetail_cpu.arrays import CpuArrays
from dovetail_cpu.functions.quick_functions import QUICK_FUNCTIONS

DTYPES = [np.dtype(each) for each in ("?", "i1", "i8", "u1", "f4", "f8", ml_dtypes.bfloat16)]
SHAPES = [(), (3,), (1, 4), (3, 2), (2, 3, 4), (0, 3), (2, 0)]
REDUCTIONS = ("sum", "prod", "amax", "amin", "any", "all")


def arrays() -> list[Any]:
    """Return arrays of all dtypes and shapes, in C order, in Fortran's and with gaps."""
    rng = np.random.default_rng(0)
    made = [
        rng.integers(0, 5, tuple(2 * n for n in shape)).astype(dtype)[
            (*[slice(None, None, 2)] * 9,)[: len(shape)]
        ]
        for dtype in DTYPES
        for shape in SHAPES
    ]
    return [*made, *[each.copy() for each in made], *[each.T for each in made]]


def same(name: str, array: Any, *args: Any, **kwargs: Any) -> None:
    """Check that a function gives what NumPy's gives, or refuses what it refuses."""
    try:
        expected = getattr(np, name)(array, *args, **kwargs)
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            QUICK_FUNCTIONS[name](array, *args, **kwargs)
        return
    found = QUICK_FUNCTIONS[name](array, *args, **kwargs)
    for own, other in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        assert own.dtype == other.dtype
        assert own.shape == other.shape
        assert own.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_give_what_those_of_numpy_give(name):
    for array in arrays():
        same(name, array)
        for axis in range(-array.ndim, array.ndim):
            same(name, array, axis=axis)
            same(name, array, axis=axis, keepdims=True)
        same(name, array, axis=tuple(range(array.ndim)), keepdims=True)
        if name in ("sum", "prod"):
            same(name, array, axis=None, dtype=np.float64)


@pytest.mark.parametrize("name", ["argsort", "cumsum", "flip", "take", "repeat"])
def test_functions_along_a_dimension_give_what_those_of_numpy_give(name):
    more: dict[str, Any] = {"argsort": {"stable": True}}
    args = {"take": (np.array([[0], [1]]),), "repeat": (2,)}.get(name, ())
    for array in arrays():
        if name == "take" and array.ndim and min(array.shape) < 2:
            continue
        for axis in range(-array.ndim, array.ndim):
            if name != "argsort" or array.dtype != ml_dtypes.bfloat16:
                same(name, array, *args, axis=axis, **more.get(name, {}))


def test_new_dimensions_lie_where_those_of_numpy_do():
    for array in arrays():
        for axis in range(-array.ndim - 1, array.ndim + 1):
            same("expand_dims", array, axis=axis)
            found = QUICK_FUNCTIONS["stack"]([array, array], axis=axis)
            np.testing.assert_array_equal(found, np.stack([array, array], axis=axis))


def test_places_that_are_not_zero_are_those_of_numpy():
    for array in arrays():
        if array.ndim:
            found = QUICK_FUNCTIONS["nonzero"](array)
            for own, other in zip(found, np.nonzero(array), strict=True):
                np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_indices_below_a_bound_are_told_from_others_wherever_the_others_are(dtype):
    are_below = CpuArrays().are_below
    for count in (1, 7, 5000):
        for wrong in (-1, 10, np.iinfo(dtype).min, np.iinfo(dtype).max):
            for step in (1, 2):
                index = np.full(count * step, 9, dtype)[::step]
                assert are_below(index, 10)
                for place in (0, count // 2, count - 1):
                    other = index.copy() if step == 1 else index
                    other[place] = wrong
                    assert not are_below(other, 10)
                    other[place] = 9
