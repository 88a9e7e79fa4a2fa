"""Reductions, scans, order and matrix products."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype("float16"), BFLOAT16, np.dtype("float32"), np.dtype("float64"))
SINGLE = np.dtype("float32")


def array(*shape: int, dtype: np.dtype = SINGLE, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(0.5, 1.5, shape)).astype(dtype)


@pytest.mark.parametrize(
    "dtype", (*FLOATS, np.dtype("int32"), np.dtype("uint8"), np.dtype("bool")), ids=str
)
@pytest.mark.parametrize(
    "name", ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "count_nonzero")
)
def test_a_reduction_of_everything_agrees_with_pytorch(name, dtype, compare):
    if dtype.kind == "b" and name in ("argmax", "argmin"):
        pytest.skip("PyTorch has no argmax of bool")
    compare(name, array(3, 4, dtype=dtype))
    compare(name, array(dtype=dtype))
    if name in ("sum", "prod", "any", "all", "count_nonzero"):
        compare(name, array(0, 3, dtype=dtype))


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")  # of no elements
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("dim", ((0,), (1,), (-1,), (0, 2), (), None))
def test_a_reduction_over_dimensions_agrees_with_pytorch(dim, dtype, compare):
    for keepdim in (False, True):
        for x in (array(2, 3, 4, dtype=dtype), array(2, 0, 4, dtype=dtype)):
            compare("sum.dim_IntList", x, dim, keepdim)
            compare("mean.dim", x, dim, keepdim)
            compare("var.correction", x, dim, correction=1, keepdim=keepdim)
        compare("std.correction", array(2, 3, 4, dtype=dtype), dim, correction=0, keepdim=keepdim)
        if dim is not None:
            compare("amax", array(2, 3, 4, dtype=dtype), dim, keepdim)
            compare("amin", array(2, 3, 4, dtype=dtype), dim, keepdim)
            compare("logsumexp", array(2, 3, 4, dtype=dtype), dim or (0,), keepdim)


@pytest.mark.parametrize("dim", (0, 1, -1))
@pytest.mark.parametrize("keepdim", (False, True))
def test_a_reduction_over_one_dimension_agrees_with_pytorch(dim, keepdim, compare):
    x = np.random.default_rng(3).integers(0, 4, (3, 5)).astype(np.float32)
    for name in ("max.dim", "min.dim", "argmax", "argmin", "any.dim", "all.dim", "prod.dim_int"):
        compare(name, x, dim, keepdim)
        compare(name, x.astype(np.int64), dim, keepdim)
    compare("count_nonzero", x, dim)


@pytest.mark.parametrize("shape", ((300, 200), (4, 40, 200), (200, 300, 2)))
def test_a_sum_of_a_large_array_is_that_of_pytorch(shape, compare):
    x = array(*shape, dtype=np.dtype("float64"))
    for dim in ((0,), (-1,), (0, 1), None):
        compare("sum.dim_IntList", x, dim, True)
        compare("mean.dim", x, dim, False)
    compare("sum.dim_IntList", x[:, ::2], (0,))


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")
def test_a_reduction_of_a_number_takes_dimension_zero(compare):
    x = np.array(3.0, np.float32)
    for name in ("sum.dim_IntList", "mean.dim", "amax", "logsumexp", "var.correction"):
        compare(name, x, (0,))
    for name in ("max.dim", "argmin", "any.dim", "prod.dim_int", "cumsum", "sort"):
        compare(name, x, -1)
    compare("topk", x, 1)


def test_a_nan_is_the_greatest_and_the_least(compare):
    x = np.array([[1, np.nan, 3], [2, 5, 5]], np.float32)
    for name in ("max.dim", "min.dim", "argmax", "argmin"):
        compare(name, x, 1)
    for name in ("max", "min", "amax"):
        compare(name, x)


@pytest.mark.parametrize("dtype", ("int64", "float64"))
def test_a_reduction_converts_first_if_asked(dtype, compare):
    x = np.array([1.7, 2.7], np.float32)
    compare("sum", x, dtype=np.dtype(dtype))
    compare("prod", x, dtype=np.dtype(dtype))
    compare("cumsum", x, 0, dtype=np.dtype(dtype))
    compare("mean", np.array([1, 2]), dtype=np.dtype("float32"))


@pytest.mark.parametrize("order", (0, 0.5, 1, 2, 3, np.inf, -np.inf))
def test_a_norm_agrees_with_pytorch(order, compare):
    x = array(3, 4) - np.float32(1)
    compare("linalg_vector_norm", x, order)
    compare("linalg_vector_norm", x, order, (1,), True)
    compare("linalg_vector_norm", x.astype(np.complex64) * np.complex64(1 + 1j), order)
    compare("norm.Scalar", x, order)
    compare("norm.ScalarOpt_dim", x, order, (0,))


@pytest.mark.parametrize("dtype", (*FLOATS, np.dtype("int32"), np.dtype("bool")), ids=str)
@pytest.mark.parametrize("name", ("cumsum", "cumprod"))
def test_a_scan_agrees_with_pytorch(name, dtype, compare):
    for dim in (0, -1):
        compare(name, array(3, 4, dtype=dtype), dim)
        compare(name, array(0, 4, dtype=dtype), dim)


@pytest.mark.parametrize("descending", (False, True))
def test_sort_agrees_with_pytorch(descending, compare):
    compare("sort", np.array([[2, 1, 2], [np.nan, 3, 1]], np.float32), 1, descending)
    compare("sort", np.array([3, 1, 2]), 0, descending)
    compare("sort", np.zeros((0, 2), np.float32), 0, descending)


@pytest.mark.parametrize("largest", (False, True))
def test_topk_agrees_with_pytorch(largest, compare):
    compare("topk", np.array([[2, 1, 5, 4], [7, 3, 1, 0]], np.float32), 2, 1, largest)
    compare("topk", np.array([2, 1, 5], np.float32), 0, 0, largest)


def test_nonzero_agrees_with_pytorch(compare):
    for x in (np.array([[0, 1], [2, 0]]), np.array(3), np.array(0), np.zeros((0, 2))):
        compare("nonzero", x)


@pytest.mark.parametrize(
    ("name", "args", "error", "words"),
    (
        (
            "sum",
            (np.zeros(2), 3),
            IndexError,
            r"Dimension out of range \(expected to be in range of \[-1, 0\], but got 3\)",
        ),
        (
            "sum",
            (np.zeros((2, 2)), (0, 0)),
            RuntimeError,
            "dim 0 appears multiple times in the list of dims",
        ),
        (
            "mean",
            (np.zeros(2, np.int64),),
            RuntimeError,
            r"mean\(\): could not infer output dtype.* Got: Long",
        ),
        (
            "var.correction",
            (np.zeros(2, np.int64),),
            RuntimeError,
            "only support floating point and complex dtypes",
        ),
        (
            "amax",
            (np.zeros((0, 2)), (0,)),
            IndexError,
            r"amax\(\): Expected reduction dim 0 to have non-zero size",
        ),
        ("max", (np.zeros(0),), RuntimeError, r"max\(\): Expected reduction dim to be specified"),
        (
            "argmax",
            (np.zeros(0),),
            IndexError,
            r"argmax\(\): Expected reduction dim to be specified",
        ),
        ("min.dim", (np.zeros((0, 2)), 0), IndexError, "to have non-zero size"),
        ("topk", (np.zeros(2), 3), RuntimeError, "selected index k out of range"),
        (
            "linalg_vector_norm",
            (np.zeros(2, np.int64),),
            RuntimeError,
            "Expected a floating point or complex tensor",
        ),
        (
            "mm",
            (np.ones((2, 3)), np.ones((2, 3))),
            RuntimeError,
            r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)",
        ),
        ("mm", (np.ones(2), np.ones((2, 3))), RuntimeError, "self must be a matrix"),
        (
            "mm",
            (np.ones((2, 2)), np.ones((2, 2), SINGLE)),
            RuntimeError,
            "same dtype, but got: double != float",
        ),
        ("bmm", (np.ones((2, 2)), np.ones((2, 2))), RuntimeError, "batch1 must be a 3D tensor"),
        (
            "bmm",
            (np.ones((2, 2, 3)), np.ones((3, 3, 2))),
            RuntimeError,
            r"to be: \[2, 3\] but got: \[3, 3\]",
        ),
        (
            "mv",
            (np.ones((2, 3)), np.ones(2)),
            RuntimeError,
            r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)",
        ),
        ("dot", (np.ones(2), np.ones(3)), RuntimeError, "inconsistent tensor size"),
        (
            "dot",
            (np.ones(2, SINGLE), np.ones(2)),
            RuntimeError,
            "same dtype, but found Float and Double",
        ),
        (
            "addmm",
            (np.ones(3), np.ones((2, 3)), np.ones((3, 2))),
            RuntimeError,
            "The expanded size of the tensor",
        ),
    ),
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_a_wrong_call_raises_what_pytorch_raises(name, args, error, words, kernel):
    with pytest.raises(error, match=words):
        kernel(name, *args)


@pytest.mark.parametrize("dtype", (*FLOATS, np.dtype("int64"), np.dtype("complex64")), ids=str)
def test_products_agree_with_pytorch(dtype, compare):
    a, b, v = (
        array(3, 4, dtype=dtype),
        array(4, 2, dtype=dtype, seed=1),
        array(4, dtype=dtype, seed=2),
    )
    compare("mm", a, b)
    compare("mm", array(4, 3, dtype=dtype).T, b)
    compare("mm", array(0, 4, dtype=dtype), b)
    compare("mm", array(3, 0, dtype=dtype), array(0, 2, dtype=dtype))
    compare("bmm", array(2, 3, 4, dtype=dtype), array(2, 4, 5, dtype=dtype))
    compare("mv", a, v)
    compare("dot", v, array(4, dtype=dtype, seed=3))
    compare("vdot", v, array(4, dtype=dtype, seed=3))


@pytest.mark.parametrize(("beta", "alpha"), ((1, 1), (0, 1), (2, 3)))
def test_products_with_an_addend_agree_with_pytorch(beta, alpha, compare):
    a, b = array(3, 4), array(4, 2, seed=1)
    for addend in (array(2), array(3, 2), array(3, 1), array()):
        compare("addmm", addend, a, b, beta=beta, alpha=alpha)
    compare("addmv", array(3), a, array(4), beta=beta, alpha=alpha)
    compare("baddbmm", array(2, 3, 2), array(2, 3, 4), array(2, 4, 2), beta=beta, alpha=alpha)
    compare("addbmm", array(3, 2), array(2, 3, 4), array(2, 4, 2), beta=beta, alpha=alpha)


def test_an_addend_with_factor_zero_does_not_count(kernel):
    addend = np.full((2, 2), np.nan)
    np.testing.assert_array_equal(kernel("addmm", addend, np.eye(2), np.eye(2), beta=0), np.eye(2))


def test_sum_to_undoes_broadcasting(table):
    result = table.helpers["sum_to"](np.ones((2, 3, 4), np.float32), (3, 1))
    np.testing.assert_array_equal(result, np.full((3, 1), 8, np.float32))
    assert result.dtype == np.float32
