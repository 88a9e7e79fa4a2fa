"""Variances of complex numbers are PyTorch's, also where there are too few numbers for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

FUNCTIONS = ("var", "std", "var_mean", "std_mean")
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (1, 1), (2, 1), (3,), (0,), (0, 2), (2, 0))


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32"])
@pytest.mark.parametrize("correction", [0, 1, 2, 3, 0.5])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_variances_are_those_of_pytorch(
    name: str, shape: tuple[int, ...], correction: float, dtype: str
) -> None:
    values = np.arange(np.prod(shape)).reshape(shape) * 1.5 + (2.25j if dtype[0] == "c" else 1)
    for dim in (None, 0, (0, 1), ()):
        if (isinstance(dim, tuple) and len(dim) > len(shape)) or (dim == 0 and not shape):
            continue
        for keepdim in (False, True):
            found: list[Any] = []
            for lib in (torch, dovetail):
                x = lib.tensor(values, dtype=getattr(lib, dtype))
                made = getattr(lib, name)(x, dim=dim, correction=correction, keepdim=keepdim)
                found.append(made if isinstance(made, tuple) else (made,))
            for wanted, own in zip(*found, strict=True):
                assert str(own.dtype).partition(".")[2] == str(wanted.dtype).partition(".")[2]
                np.testing.assert_allclose(own.cpu().numpy(), wanted.numpy(), rtol=1e-6)
