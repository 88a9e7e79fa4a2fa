"""Running results, which are accumulated in double precision where elements are in single."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail_aten as aten
import dovetail_kernel as kernel

pytestmark = pytest.mark.cpu_only(reason="other backends add up in the dtype itself")

DTYPES = (kernel.float32, kernel.complex64, kernel.float64, kernel.int64)


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
@pytest.mark.parametrize("dim", [0, 1])
def test_sums_and_products_so_far(dtype: Any, dim: int) -> None:
    x = aten.tensor([[1, 2, 3], [4, -5, 6]], dtype=dtype)
    for name in ("cumsum", "cumprod"):
        found = getattr(aten, name)(x, dim)
        assert found.dtype is dtype
        assert found.tolist() == getattr(np, name)(np.asarray(x.cpu()), dim).tolist()


@pytest.mark.parametrize("dtype", (kernel.float32, kernel.complex64), ids=repr)
def test_many_small_numbers_are_not_lost_beside_a_great_one(dtype: Any) -> None:
    x = aten.ones(5000, dtype=dtype)
    x[0] = 2**24
    assert aten.cumsum(x, 0)[-1].item() == float(np.float32(2**24 + 4999))
    wide = kernel.float64 if dtype is kernel.float32 else kernel.complex128
    assert aten.cumsum(x, 0, dtype=wide)[-1].item() == 2**24 + 4999
    assert aten.cumsum(aten.ones(9, dtype=kernel.int32), 0, dtype=dtype).tolist() == [*range(1, 10)]


def test_what_overflows_on_the_way_comes_back() -> None:
    x = aten.tensor([3e38, 3e38, -3e38, -3e38])
    assert aten.cumsum(x, 0).tolist()[-2:] == [pytest.approx(3e38), 0.0]


@pytest.mark.parametrize("dtype", (kernel.float32, kernel.float64, kernel.float16), ids=repr)
def test_logarithms_of_sums_of_exponentials_so_far(dtype: Any) -> None:
    x = aten.tensor([[0.0, 1.0, -2.0], [500.0, -500.0, 500.0]], dtype=dtype)
    found = np.asarray(aten.logcumsumexp(x, 1).double().cpu())
    expected = np.logaddexp.accumulate(np.asarray(x.double().cpu()), 1)
    np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype is kernel.float16 else 1e-6)
    assert aten.logcumsumexp(x, 1).dtype is dtype


def test_extrema_so_far_and_where_they_are() -> None:
    x = aten.tensor([[3.0, 1.0, 4.0, 1.0], [2.0, 7.0, float("nan"), 8.0]])
    values, indices = aten.cummax(x, 1)
    np.testing.assert_equal(values.tolist(), [[3, 3, 4, 4], [2, 7, np.nan, np.nan]])
    assert indices.tolist() == [[0, 0, 2, 2], [0, 1, 2, 2]]
    values, indices = aten.cummin(x[0], 0)
    assert values.tolist() == [3, 1, 1, 1] and indices.tolist() == [0, 1, 1, 3]


def test_a_complex_logarithm_of_sums_so_far() -> None:
    x = aten.tensor([1 + 1j, 2 - 1j, 0.5j])
    expected = np.log(np.cumsum(np.exp(np.asarray(x.cpu(), np.complex128))))
    np.testing.assert_allclose(np.asarray(aten.logcumsumexp(x, 0).cpu()), expected, rtol=1e-5)
