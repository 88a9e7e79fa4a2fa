"""Fourier transforms by SciPy's loops against those by its functions, byte for byte."""

from itertools import product

import numpy as np
import pytest

from dovetail_aten.families.fft.kernels import Fourier
from dovetail_cpu.kernels.fourier import _loops

CASES = [((8,), (0,)), ((4, 5), (1,)), ((4, 6, 3), (0, 2)), ((3, 7), (-1, 0)), ((2, 1), (1,))]


def test_the_loops_are_found():
    assert _loops() is not None


@pytest.mark.parametrize("single", (True, False))
@pytest.mark.parametrize(("shape", "dim"), CASES)
def test_transforms_are_those_of_scipy(shape, dim, single, table):
    family = table.kernels["_fft_c2c"].fn.__self__
    rng = np.random.default_rng(0)
    real = rng.standard_normal(shape).astype("f4" if single else "f8")
    waves = (real + 1j * rng.standard_normal(shape)).astype("c8" if single else "c16")
    for normalization, flag, turned in product(range(3), (True, False), (False, True)):
        x, z = (real[::-1], waves.T.copy().T) if turned else (real, waves)
        last = 2 * (shape[dim[-1]] - 1) + flag
        calls = {
            "fft_c2c": (z, dim, normalization, flag),
            "fft_r2c": (x, dim, normalization, flag),
            "fft_c2r": (z, dim, normalization, last + (not last)),
        }
        for name, args in calls.items():
            ours = getattr(family, name)(*args)
            theirs = getattr(Fourier, name)(family, *args)
            assert (ours.dtype, ours.shape, ours.strides) == (
                *(theirs.dtype, theirs.shape),
                theirs.strides,
            )
            assert ours.tobytes() == theirs.tobytes()


def test_what_is_wrong_is_refused_in_the_same_words(table):
    family = table.kernels["_fft_c2c"].fn.__self__
    z = np.ones((2, 3), "c8")
    with pytest.raises(RuntimeError, match="Unsupported normalization type: 3"):
        family.fft_c2c(z, (0,), 3, True)
    with pytest.raises(RuntimeError, match="Only supports complex dtypes"):
        family.fft_c2c(z.real, (0,), 0, True)
    with pytest.raises(IndexError, match="Dimension out of range"):
        family.fft_r2c(z.real, (5,), 0, True)
