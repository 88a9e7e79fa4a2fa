"""Matrices that fail in a namespace that leaves NaN and goes on: refused as where NumPy raises."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail_aten.families.linalg.kernels.matrix_checks import LinAlgError
from dovetail_aten.kernel_support import array_kernel_table

cpu = pytest.importorskip("dovetail_cpu", reason="the capabilities of some backend are needed")

SINGULAR = np.ones((2, 2))
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])
BATCH = np.stack([np.eye(2), SINGULAR, np.zeros((2, 2)), np.full((2, 2), np.nan)])
CALLS = {
    "linalg_inv_ex": (SINGULAR,),
    "linalg_solve_ex": (SINGULAR, np.ones(2)),
    "linalg_cholesky_ex": (INDEFINITE,),
}


def silent(function: Any) -> Any:
    """Return a function that gives NaN, of the shapes of its results, where NumPy's raises."""

    def run(x: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(x, *args, **kwargs)
        except np.linalg.LinAlgError:
            usual = function(np.zeros_like(x) + np.eye(x.shape[-1]), *args, **kwargs)
        if isinstance(usual, tuple):
            return tuple(np.full_like(each, np.nan) for each in usual)
        return np.full_like(usual, np.nan)

    run.__name__ = function.__name__
    return run


class Silent:
    """NumPy, whose functions of matrices raise nothing."""

    linalg = SimpleNamespace(
        **vars(np.linalg)
        | {
            name: silent(getattr(np.linalg, name))
            for name in ("inv", "solve", "cholesky", "eigh", "eigvalsh", "eig", "eigvals", "svd")
        }
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.fixture(scope="module")
def kernels() -> Any:
    return array_kernel_table(Silent(), cpu.CpuArrays()).kernels


@pytest.fixture(scope="module")
def expected() -> Any:
    return array_kernel_table(np, cpu.CpuArrays()).kernels


@pytest.mark.parametrize("name", CALLS)
def test_what_fails_has_the_info_of_lapack(name, kernels, expected):
    for first in (CALLS[name][0], BATCH):
        args = (first, *CALLS[name][1:])
        if first is BATCH and name == "linalg_solve_ex":
            args = (BATCH, np.ones((4, 2, 1)))
        with np.errstate(all="ignore"):
            made, info = kernels[name].fn(*args)
            other, other_info = expected[name].fn(*args)
        assert info.any()
        np.testing.assert_array_equal(info, other_info)
        np.testing.assert_allclose(made[info == 0], other[info == 0])


@pytest.mark.parametrize("name", CALLS)
def test_what_fails_is_refused_where_errors_are_asked_for(name, kernels):
    with pytest.raises(LinAlgError):
        kernels[name].fn(*CALLS[name], check_errors=True)


def test_singular_values_of_nan_are_refused(kernels):
    for with_vectors in (True, False):
        with pytest.raises(LinAlgError, match="contained non-finite values"):
            kernels["_linalg_svd"].fn(BATCH, False, with_vectors)


def test_eigenvalues_of_a_symmetric_matrix_of_nan_are_nan(kernels):
    for with_vectors in (True, False):
        values, _ = kernels["_linalg_eigh"].fn(BATCH[3:], "L", with_vectors)
        assert np.isnan(values).all()


@pytest.mark.parametrize("name", ["_linalg_eigh", "linalg_eig", "linalg_eigvals", "_linalg_svd"])
def test_an_algorithm_that_does_not_converge_is_refused(name, monkeypatch):
    def no_values(function: Any) -> Any:
        def run(x: Any, *args: Any, **kwargs: Any) -> Any:
            found = function(x, *args, **kwargs)
            several = tuple(found) if isinstance(found, tuple) else (found,)
            if not np.array_equal(x.reshape(-1, 2, 2)[-1], INDEFINITE):
                return found
            made = tuple(np.full_like(each, np.nan) for each in several)
            return made if isinstance(found, tuple) else made[0]

        run.__name__ = function.__name__
        return run

    for each in ("eigh", "eig", "eigvals", "svd"):
        monkeypatch.setattr(Silent.linalg, each, no_values(getattr(np.linalg, each)))
    run = array_kernel_table(Silent(), cpu.CpuArrays()).kernels[name].fn
    run(np.eye(2))
    with pytest.raises(LinAlgError, match=r"\(Batch element 1\): The algorithm failed to converge"):
        run(np.stack([np.eye(2), INDEFINITE]))
