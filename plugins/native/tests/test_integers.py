"""Integers and truth values: compiled reductions, divisions, powers and bounds against their
references, in every layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import kernel
from .layouts import LAYOUTS

DTYPES = ("i1", "u1", "i2", "i4", "i8", "u2", "u8", "?")
SHAPES = ((), (1,), (7,), (4, 5), (3, 0), (40, 33), (2, 3, 1, 5))
REDUCTIONS = {
    "sum.dim_IntList": ((), 0, -1, (0, 1), None),
    "prod.dim_int": (0, -1),
    "amax": ((), 0, (0, -1)),
    "amin": ((), 1, (0, -1)),
    "aminmax": (0, None),
    "any": (None,),
    "any.dim": (0, -1),
    "any.dims": ((), (0, -1), None),
    "all": (None,),
    "all.dim": (0, -1),
    "all.dims": ((), (0, -1), None),
    "count_nonzero": (None, 0),
    "count_nonzero.dim_IntList": ((0, -1), (1,)),
}
PLACES = {"argmax": (None, 0, -1), "argmin": (None, 1), "max.dim": (0, -1), "min.dim": (1,)}


def integers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Return integers of a dtype from all of its range, of which some are 0 or equal."""
    random = np.random.default_rng(seed)
    if dtype == "?":
        return np.asarray(random.random(shape) < 0.8)
    info = np.iinfo(dtype)
    wide = random.integers(info.min, info.max, shape, dtype, endpoint=True)
    narrow = random.integers(0, 4, shape).astype(dtype)
    return np.asarray(np.where(random.random(shape) < 0.5, wide, narrow))


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return shapes, dtypes, elements of results and whether they are in C order, or an error."""
    try:
        with np.errstate(all="ignore"):
            made = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    made = [np.asarray(each) for each in (made if isinstance(made, tuple) else (made,))]
    return [(x.shape, x.dtype, x.flags.c_contiguous, repr(x.tolist())) for x in made]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", (*REDUCTIONS, *PLACES))
def test_a_reduction_is_that_of_the_reference(name, layout):
    compiled = kernel(name)
    takes_flag = not name.startswith("count") and name not in ("any", "all")
    for seed, shape in enumerate(SHAPES):
        for dtype in (*DTYPES, *(("f4", "f8", "c8", "f2") if "m" not in name else ())):
            x = integers(shape, "i2" if dtype[0] in "fc" else dtype, seed).astype(dtype)
            x = LAYOUTS[layout](x)
            for dim in {**REDUCTIONS, **PLACES}[name]:
                for flag in (False, True) if takes_flag else (None,):
                    named = {} if flag is None else {"keepdim": flag}
                    if dim is not None:
                        named["dim"] = dim
                    expected = outcome(compiled.__wrapped__, x, **named)
                    assert outcome(compiled, x, **named) == expected, (shape, dtype, named)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "name", ("floor_divide", "remainder.Tensor", "fmod.Tensor", "div.Tensor_mode", "pow")
)
def test_arithmetic_is_that_of_the_reference(name, layout):
    compiled = kernel("pow.Tensor_Scalar" if name == "pow" else name)
    modes = ("floor", "trunc") if "div." in name else (None,)
    for seed, shape in enumerate(SHAPES):
        for dtype in DTYPES[:-1]:
            x = LAYOUTS[layout](integers(shape, dtype, seed))
            y = integers(shape, dtype, seed + 1)
            numbers = (0, 1, 2, 3, 5, -1, 200, 1 << 70, 0.5)
            arrays = (y, y | 1, (y | 1)[..., :1] if shape else y)
            others: tuple[Any, ...] = numbers if name == "pow" else (*numbers, *arrays)
            for other in others:
                for mode in modes:
                    named = {} if mode is None else {"rounding_mode": mode}
                    expected = outcome(compiled.__wrapped__, x, other, **named)
                    assert outcome(compiled, x, other, **named) == expected, (shape, dtype, other)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bounds_are_those_of_the_reference(layout):
    compiled = kernel("clamp")
    for seed, shape in enumerate(SHAPES):
        for dtype in DTYPES:
            x = LAYOUTS[layout](integers(shape, dtype, seed))
            for bounds in ((1, 5), (None, 3), (2, None), (5, 1), (-1, 3), (0, 300), (0.5, None)):
                expected = outcome(compiled.__wrapped__, x, *bounds)
                assert outcome(compiled, x, *bounds) == expected, (shape, dtype, bounds)


def test_an_invalid_bound_changes_nothing():
    x = dovetail.tensor([100, -100], dtype=dovetail.int8)
    with pytest.raises(RuntimeError, match="overflow"):
        x.clamp_(-5, 300)
    assert x.tolist() == [100, -100]


def test_sums_in_another_dtype():
    compiled = kernel("sum.dim_IntList")
    x = integers((9, 8), "i2", 0)
    for y in (x, x.astype("f4"), x.astype("f8"), x > 0):
        for dtype in (np.dtype("f4"), np.dtype("f8"), np.dtype("i8"), np.dtype("i4")):
            expected = outcome(compiled.__wrapped__, y, 0, dtype=dtype)
            assert outcome(compiled, y, 0, dtype=dtype) == expected
