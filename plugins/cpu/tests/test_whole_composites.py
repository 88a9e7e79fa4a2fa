"""Operators that are composites elsewhere are computed at once here, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail
from dovetail import linalg
from dovetail.nn import functional as F
from dovetail_aten.families.linalg.composites import factorizations
from dovetail_aten.families.losses import composites as losses
from dovetail_aten.kernel_support import family_class
from dovetail_cpu.kernels.table import WHOLE_COMPOSITES

pytestmark = pytest.mark.cpu_only(reason="the kernels are those of the cpu")

RANDOM = np.random.default_rng(3)


def numbers(*shape, dtype=np.float64):
    made = RANDOM.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * RANDOM.standard_normal(shape)
    return dovetail.from_numpy(made.astype(dtype))


def assert_close(actual, expected, **more):
    dovetail.testing.assert_close(actual, expected, **more)


@pytest.mark.parametrize("family", WHOLE_COMPOSITES)
def test_a_family_has_the_kernels_that_are_expected_of_it(family):
    marked = [name for names in family_class(family).methods().values() for name in names]
    assert set(WHOLE_COMPOSITES[family]) <= set(marked)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
@pytest.mark.parametrize(("batch", "size"), [((), 70), ((16,), 9), ((2, 3), 2)])
def test_systems_with_lu_factors_are_solved(dtype, left, adjoint, batch, size):
    matrix, right = numbers(*batch, size, size, dtype=dtype), numbers(*batch, size, 5, dtype=dtype)
    right = right if left else right.mT
    made = linalg.lu_solve(*linalg.lu_factor(matrix), right, left=left, adjoint=adjoint)
    own = matrix.mH if adjoint else matrix
    assert_close(own @ made if left else made @ own, right, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("pivots", [[0, 2, 3], [1, 2, 4], [-1, 2, 3]])
def test_pivots_that_are_no_rows_are_refused(pivots):
    with pytest.raises(RuntimeError, match="pivots passed to lu_unpack must be between 1 and"):
        linalg.lu_solve(
            dovetail.eye(3), dovetail.tensor(pivots, dtype=dovetail.int32), dovetail.ones(3, 1)
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize(("batch", "size"), [((), 70), ((16,), 5)])
def test_systems_with_cholesky_factors_are_solved(dtype, upper, batch, size):
    matrix = numbers(*batch, size, size, dtype=dtype)
    matrix = matrix @ matrix.mH + 70 * dovetail.eye(size)
    factor = linalg.cholesky(matrix, upper=upper)
    rtol = 1e-3 if np.finfo(dtype).eps > 1e-10 else 1e-9
    right = numbers(*batch, size, 3, dtype=dtype)
    solution = dovetail.cholesky_solve(right, factor, upper=upper)
    assert_close(matrix @ solution, right, rtol=rtol, atol=rtol)
    inverse = dovetail.cholesky_inverse(factor, upper=upper)
    ones = dovetail.eye(size, dtype=matrix.dtype).expand(matrix.shape)
    assert_close(matrix @ inverse, ones, rtol=rtol, atol=rtol)


def test_the_inverse_of_a_singular_factor_is_refused():
    factors = dovetail.stack([dovetail.eye(2), dovetail.tensor([[1.0, 0.0], [1.0, 0.0]])])
    with pytest.raises(linalg.LinAlgError, match=r"Batch element 1\): The diagonal element 2"):
        dovetail.cholesky_inverse(factors)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(70, 70), (70, 50), (3, 4, 3), (2, 2, 5, 4)])
def test_reflections_are_multiplied_as_by_their_composites(dtype, shape):
    vectors, factors = dovetail.geqrf(numbers(*shape, dtype=dtype))
    expected = factorizations.linalg_householder_product(vectors, factors)
    assert_close(linalg.householder_product(vectors, factors), expected)
    for left in (True, False):
        other = numbers(*shape[:-1], 6, dtype=dtype) if left else numbers(*shape, dtype=dtype).mT
        for transpose in (True, False):
            expected = factorizations.ormqr(vectors, factors, other, left, transpose)
            made = dovetail.ormqr(vectors, factors, other, left, transpose)
            assert_close(made, expected)


def test_distances_of_rows_that_lie_close_together_have_exact_gradients():
    x = (numbers(4, 3) + 1e4).float().requires_grad_()
    F.pdist(x).sum().backward()
    exact = x.detach().double().requires_grad_()
    F.pdist(exact).sum().backward()
    assert_close(x.grad.double(), exact.grad, rtol=1e-4, atol=1e-4)


def test_a_score_of_nan_is_no_lost_margin():
    x = dovetail.tensor([[float("nan"), 0.0, 1.0]])
    assert F.multi_margin_loss(x, dovetail.tensor([1])).tolist() == pytest.approx(2 / 3)
    assert F.multi_margin_loss(x, dovetail.tensor([0])).tolist() == 0


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("ignored", [-100, 2, -1])
@pytest.mark.parametrize("dtype", [dovetail.float32, dovetail.float64, dovetail.float16])
def test_likelihoods_of_images_are_those_of_the_composite(reduction, ignored, dtype):
    x = numbers(3, 4, 5, 6).to(dtype)
    target = dovetail.from_numpy(RANDOM.integers(0, 4, (3, 5, 6)))
    target[0, 0] = ignored
    weight = numbers(4).abs().to(dtype)
    for own in (x, x.contiguous(memory_format=dovetail.channels_last)):
        for given in (None, weight):
            options = target, given, reduction, ignored
            loss, total = dovetail.ops.aten.nll_loss2d_forward(own, *options)
            expected = losses.nll_loss2d_forward(own, *options)
            assert_close(loss, expected[0])
            assert_close(total, expected[1])
            more = own, *options, total
            grad = dovetail.ones_like(loss)
            made = dovetail.ops.aten.nll_loss2d_backward(grad, *more)
            assert_close(made, losses.nll_loss2d_backward(grad, *more))


def test_a_class_of_an_image_that_there_is_not_is_refused():
    target = dovetail.zeros(1, 2, 2, dtype=dovetail.int64)
    target[0, 1, 1] = 3
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        F.nll_loss(dovetail.ones(1, 3, 2, 2), target)
