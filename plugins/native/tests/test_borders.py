"""Borders of an array's own elements by the compiled kernel, against its reference."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import kernel
from .layouts import LAYOUTS

SHAPES = ((7,), (2, 6), (3, 4, 5), (2, 3, 5, 4), (2, 3, 4, 3, 5), (1, 1, 3, 3), (2, 1, 4, 4))
PADS = ((1, 2), (2, 0), (-1, 2), (1, -1), (1, 1, 2, 0), (0, 2, -1, 1), (2, 2, 1, 1, 1, 0))
DTYPES = ("f4", "f8", "i8", "u1", "e", "c16", ml_dtypes.bfloat16)


@pytest.mark.parametrize("mode", ("reflect", "replicate", "circular"))
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_borders_are_those_of_the_reference(mode, dtype):
    compiled = kernel("_bordered")
    for shape, pad in itertools.product(SHAPES, PADS):
        if len(pad) // 2 > len(shape):
            continue
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        arrays = [layout(x) for layout in LAYOUTS.values()]
        if len(shape) > 3:
            arrays.append(np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1))
        for each in arrays:
            outcomes = []
            for function in (compiled, compiled.__wrapped__):
                try:
                    made = function(each, pad, mode)
                    outcomes.append((made.strides, made.dtype, made.tolist()))
                except RuntimeError as error:
                    outcomes.append(str(error))
            assert outcomes[0] == outcomes[1]


def test_what_has_too_few_elements_is_refused():
    x = np.ones((2, 3), "f4")
    for pad, mode in (((3, 0), "reflect"), ((0, 4), "circular"), ((-2, -1), "replicate")):
        with pytest.raises(RuntimeError):
            kernel("_bordered")(x, pad, mode)
    for empty in (np.ones((0, 3), "f4"), np.ones((3, 0), "f4")):
        with pytest.raises(RuntimeError) if empty.shape[1] == 0 else np.errstate():
            assert kernel("_bordered")(empty, (1, 1), "replicate").shape == (0, 5)
