"""Linear algebra gives PyTorch's values, gradients and errors where samples leave them open: phases
of vectors, matrices of which one triangle is read, and matrices that fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
import dovetail.testing

BOTH = (dovetail, torch)
RANDOM = np.random.default_rng(7)
REAL = RANDOM.standard_normal((2, 4, 4))
COMPLEX = REAL + 1j * RANDOM.standard_normal((2, 4, 4))
TALL = RANDOM.standard_normal((5, 3)) + 1j * RANDOM.standard_normal((5, 3))


def hermitian(lib: Any, x: Any) -> Any:
    return x @ x.mH + 3 * lib.eye(x.shape[-1], dtype=x.dtype)


def reconstructed(lib: Any, x: Any) -> Any:
    u, s, vh = lib.linalg.svd(x, full_matrices=False)
    return ((u * s.pow(2).unsqueeze(-2)) @ vh).abs().sum()


def of_slogdet(lib: Any, x: Any) -> Any:
    sign, logarithm = lib.linalg.slogdet(x)
    return logarithm.sum() + (sign * (2 - 1j if sign.is_complex() else 2)).real.sum()


LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda lib, x: lib.linalg.cholesky(hermitian(lib, x)).abs().sum(),
    "upper cholesky": lambda lib, x: (
        lib.linalg.cholesky(hermitian(lib, x), upper=True).abs().pow(3).sum()
    ),
    "eigenvalues of a Hermitian matrix": lambda lib, x: (
        lib.linalg.eigvalsh(hermitian(lib, x)).log().sum()
    ),
    "eigenvectors of a Hermitian matrix": lambda lib, x: (
        lib.linalg.eigh(hermitian(lib, x), UPLO="U")[1].abs().pow(3).sum()
    ),
    "eigenvalues": lambda lib, x: lib.linalg.eigvals(x).abs().sum(),
    "eigenvectors": lambda lib, x: lib.linalg.eig(x)[1].abs().pow(3).sum(),
    "singular vectors": lambda lib, x: sum(
        [each.abs().pow(3).sum() for each in lib.linalg.svd(x, full_matrices=False)]
    ),
    "reconstruction": reconstructed,
    "pinv of a Hermitian matrix": lambda lib, x: (
        lib.linalg.pinv(hermitian(lib, x), hermitian=True).abs().sum()
    ),
    "pinv": lambda lib, x: lib.linalg.pinv(x).abs().sum(),
    "slogdet": of_slogdet,
    "nuclear norm": lambda lib, x: lib.linalg.norm(x, "nuc", dim=(-2, -1)).sum(),
    "lu": lambda lib, x: sum([each.abs().pow(2).sum() for each in lib.linalg.lu(x)[1:]]),
    "matrix exponential": lambda lib, x: lib.matrix_exp(0.3 * x).abs().sum(),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("array", [REAL, COMPLEX], ids=["real", "complex"])
def test_gradients_are_pytorchs(name: str, array: Any) -> None:
    gradients = []
    for lib in BOTH:
        x = lib.tensor(
            array.tolist(), dtype=lib.complex128 if array.dtype == complex else lib.float64
        )
        x.requires_grad_()
        loss = LOSSES[name](lib, x)
        if loss.requires_grad:
            loss.backward()
            gradients.append(np.asarray(x.grad.tolist()))
    if gradients:
        np.testing.assert_allclose(*gradients, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["singular vectors", "reconstruction", "pinv", "nuclear norm"])
def test_gradients_of_matrices_that_are_not_square_are_pytorchs(name: str) -> None:
    for array in (TALL, TALL.T.copy()):
        gradients = []
        for lib in BOTH:
            x = lib.tensor(array.tolist(), dtype=lib.complex128, requires_grad=True)
            LOSSES[name](lib, x).backward()
            gradients.append(np.asarray(x.grad.tolist()))
        np.testing.assert_allclose(*gradients, rtol=1e-7, atol=1e-8)


def test_gradients_of_residuals_are_pytorchs() -> None:
    gradients = []
    for lib in BOTH:
        x = lib.tensor(TALL.tolist(), dtype=lib.complex128, requires_grad=True)
        side = (x[:, :2] ** 2).detach().requires_grad_()
        lib.linalg.lstsq(x, side, driver="gelsd")[1].sum().backward()
        gradients += [np.asarray(x.grad.tolist()), np.asarray(side.grad.tolist())]
    np.testing.assert_allclose(gradients[0], gradients[2], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(gradients[1], gradients[3], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("columns", [None, 1, 2])
@pytest.mark.parametrize("batch", [(), (2,), (2, 1)])
@pytest.mark.parametrize(
    ("driver", "rcond"),
    [
        *[("gels", None), ("gels", 0.9), ("gelsd", None), ("gelsd", 0.5), ("gelsd", -1.0)],
        *[("gelsd", 0.0), ("gelsd", 1.0), ("gelsd", 3.0), ("gelss", 0.5), ("gelss", -1.0)],
        *[("gelss", 0.0), ("gelss", 1.0), ("gelsy", None), (None, None)],
    ],
)
def test_least_squares_with_every_driver(
    driver: str | None, rcond: float | None, batch: tuple[int, ...], columns: int | None
) -> None:
    rng = np.random.default_rng(4)
    for rows in (2, 3, 5):
        matrix = rng.standard_normal((*batch, rows, 3))
        right = rng.standard_normal((*batch, rows) if columns is None else (*batch, rows, columns))
        found = []
        for lib in BOTH:
            a, b = (lib.tensor(each.tolist(), dtype=lib.float64) for each in (matrix, right))
            a.requires_grad_()
            made = lib.linalg.lstsq(a, b, rcond=rcond, driver=driver)
            found.append([np.asarray(each.tolist()) for each in made])
            if rcond is None:
                (made.solution.sum() + 3 * made.residuals.sum()).backward()
                found[-1].append(np.asarray(a.grad.tolist()))
        for ours, theirs in zip(*found, strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_gradient_of_a_determinant_of_0_is_that_of_cofactors(n: int) -> None:
    """Where PyTorch's LU factors have a zero at the end, its gradient is zero."""
    x = dovetail.ones(n, n, dtype=dovetail.float64) if n > 1 else dovetail.zeros(1, 1)
    x.requires_grad_()
    dovetail.linalg.det(x).backward()
    expected = [[1.0, -1.0], [-1.0, 1.0]] if n == 2 else [[float(n == 1)] * n] * n
    np.testing.assert_allclose(np.asarray(x.grad.tolist()), expected, atol=1e-7)
    both = dovetail.stack([x.detach(), 2 * dovetail.eye(n, dtype=x.dtype)])
    for found in (
        dovetail.func.vmap(dovetail.func.grad(dovetail.linalg.det))(both),
        dovetail.func.grad(lambda a: dovetail.linalg.det(a).sum())(both),
    ):
        np.testing.assert_allclose(found[0].tolist(), expected, atol=1e-7)
        np.testing.assert_allclose(found[1].tolist(), np.eye(n) * 2 ** (n - 1), atol=1e-7)


def by_permutations(x: Any) -> Any:
    """Return the determinant of a matrix of three rows as the polynomial that it is."""
    even = x[0, 0] * x[1, 1] * x[2, 2] + x[0, 1] * x[1, 2] * x[2, 0] + x[0, 2] * x[1, 0] * x[2, 1]
    odd = x[0, 2] * x[1, 1] * x[2, 0] + x[0, 0] * x[1, 2] * x[2, 1] + x[0, 1] * x[1, 0] * x[2, 2]
    return even - odd


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_all_derivatives_of_a_determinant_exist(rank: int) -> None:
    """PyTorch's second derivative is NaN where two singular values are zero."""
    func = dovetail.func
    columns = dovetail.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0], [2.0, 1.0, 1.0]])[:, :rank]
    x = (columns @ columns.mT).double()
    both = dovetail.stack([x, 2 * dovetail.eye(3, dtype=x.dtype)])
    for order in (1, 2, 3):
        for ways in itertools.product((func.jacfwd, func.jacrev), repeat=order):
            found, expected = dovetail.linalg.det, by_permutations
            for way in ways:
                found, expected = way(found), way(expected)
            dovetail.testing.assert_close(found(x), expected(x), atol=1e-8, rtol=1e-8)
            dovetail.testing.assert_close(
                func.vmap(found)(both), func.vmap(expected)(both), atol=1e-8, rtol=1e-8
            )


def test_a_determinant_of_many_rows_has_a_gradient_where_it_is_0() -> None:
    x = dovetail.eye(40, dtype=dovetail.float64)
    x[0, 0] = 0.0
    expected = dovetail.zeros_like(x)
    expected[0, 0] = 1.0
    dovetail.testing.assert_close(dovetail.func.grad(dovetail.linalg.det)(x), expected)


@pytest.mark.parametrize("transform", ["vmap of grad", "grad of vmap", "jacrev of vmap"])
def test_a_loss_that_depends_on_phases_is_refused_inside_of_transforms(transform: str) -> None:
    func = dovetail.func
    weights = dovetail.arange(16, dtype=dovetail.float64).reshape(4, 4)
    x = dovetail.tensor(COMPLEX[0].tolist(), dtype=dovetail.complex128)

    def loss(parts: Any) -> Any:
        vectors = dovetail.linalg.svd(dovetail.view_as_complex(parts))[0]
        return (vectors * weights).real.sum()

    def invariant(parts: Any) -> Any:
        vectors = dovetail.linalg.svd(dovetail.view_as_complex(parts))[0]
        return ((vectors * vectors.conj()).real * weights).sum()

    def derivative(of: Any) -> Any:
        if transform == "vmap of grad":
            return func.vmap(func.grad(of))
        if transform == "grad of vmap":
            return func.grad(lambda each: func.vmap(of)(each).sum())
        return func.jacrev(func.vmap(of))

    both = dovetail.view_as_real(dovetail.stack([x, 2 * x]))
    with pytest.raises(RuntimeError, match="specified up to multiplication by"):
        derivative(loss)(both)
    found = derivative(invariant)(both)
    looped = dovetail.stack([func.grad(invariant)(each) for each in both])
    if transform == "jacrev of vmap":
        found = found.diagonal(dim1=0, dim2=1).movedim(-1, 0)
    dovetail.testing.assert_close(found, looped)


def test_the_gradient_of_equal_singular_values_exists_and_that_of_their_vectors_does_not() -> None:
    for lib in BOTH:
        x = lib.eye(3, dtype=lib.float64).requires_grad_()
        lib.linalg.svdvals(x).sum().backward()
        assert np.allclose(np.asarray(x.grad.tolist()), np.eye(3))
        x = lib.eye(3, dtype=lib.float64).requires_grad_()
        loss = (lib.linalg.svd(x)[0] * lib.arange(9.0, dtype=lib.float64).reshape(3, 3)).sum()
        if lib is dovetail:
            with pytest.raises(RuntimeError, match="svd_backward"):
                loss.backward()
            assert x.grad is None
        else:
            loss.backward()
            assert not np.isfinite(np.asarray(x.grad.tolist())).all()


@pytest.mark.parametrize("name", ["eig", "eigh", "svd"])
def test_a_loss_that_depends_on_phases_is_refused(name: str) -> None:
    for lib in BOTH:
        x = lib.tensor(COMPLEX[0].tolist(), dtype=lib.complex128)
        x = (x + x.mH if name == "eigh" else x).requires_grad_()
        vectors = getattr(lib.linalg, name)(x)[0 if name == "svd" else 1]
        with pytest.raises(RuntimeError, match=r"specified up to multiplication by|invariant"):
            (vectors * lib.arange(16, dtype=lib.float64).reshape(4, 4)).real.sum().backward()


@pytest.mark.parametrize("name", ["eig", "eigh", "svd"])
def test_the_rounding_of_large_gradients_is_no_dependence_on_phases(name: str) -> None:
    found = []
    for scale in (1.0, 1e18):
        x = dovetail.tensor(COMPLEX[0].tolist(), dtype=dovetail.complex128)
        x = (x + x.mH if name == "eigh" else x).requires_grad_()
        vectors = getattr(dovetail.linalg, name)(x)[0 if name == "svd" else 1]
        weights = dovetail.arange(16, dtype=dovetail.float64).reshape(4, 4)
        ((vectors * vectors.conj()).real * weights).sum().mul(scale).backward()
        found.append(x.grad / scale)
    dovetail.testing.assert_close(found[1], found[0])


ERRORS: dict[str, Callable[[Any], Any]] = {
    "singular": lambda lib: lib.linalg.inv(lib.zeros(2, 2)),
    "one of a batch": lambda lib: lib.linalg.inv(lib.stack([lib.eye(2), lib.ones(2, 2)])),
    "second element": lambda lib: lib.linalg.inv(lib.ones(2, 2)),
    "inverse": lambda lib: lib.inverse(lib.zeros(2, 2)),
    "checked info": lambda lib: lib.linalg.inv_ex(lib.zeros(2, 2), check_errors=True),
    "solve": lambda lib: lib.linalg.solve(lib.zeros(2, 2), lib.ones(2)),
    "solve of a batch": lambda lib: lib.linalg.solve(lib.zeros(3, 2, 2), lib.ones(3, 2)),
    "not definite": lambda lib: lib.linalg.cholesky(-lib.eye(3)),
    "minor of order 2": lambda lib: lib.linalg.cholesky(lib.tensor([[1.0, 2.0], [2.0, 1.0]])),
    "old cholesky": lambda lib: lib.cholesky(lib.zeros(3, 2, 2)),
    "cholesky_inverse": lambda lib: lib.cholesky_inverse(lib.zeros(2, 2)),
    "nan": lambda lib: lib.linalg.svd(lib.full((2, 2), float("nan"))),
    "negative power": lambda lib: lib.linalg.matrix_power(lib.zeros(2, 2), -1),
}


def read(results: Any) -> None:
    """Have values computed that may be refused only then."""
    for each in results if isinstance(results, tuple) else (results,):
        each.tolist()


@pytest.mark.parametrize("name", ERRORS)
def test_a_matrix_that_fails_raises_pytorchs_error(name: str) -> None:
    texts = []
    for lib in BOTH:
        with pytest.raises(lib.linalg.LinAlgError) as raised:
            read(ERRORS[name](lib))
        assert isinstance(raised.value, RuntimeError)
        texts.append(str(raised.value).partition("\n")[0])
    assert texts[0].startswith(texts[1])


REFUSED = {
    "vector": lambda lib, f: f(lib.ones(3)),
    "not square": lambda lib, f: f(lib.ones(2, 3)),
    "int": lambda lib, f: f(lib.ones(2, 2, dtype=lib.int64)),
    "half": lambda lib, f: f(lib.ones(2, 2, dtype=lib.float16)),
}
NAMES = """
    cholesky cholesky_ex inv inv_ex det slogdet eig eigvals eigh eigvalsh qr svd svdvals lu_factor
    lu pinv matrix_rank cond ldl_factor matrix_exp norm matrix_norm vander
""".split()  # noqa: SIM905 - easier to read


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", REFUSED)
def test_shapes_and_dtypes_are_refused_in_pytorchs_words(name: str, case: str) -> None:
    outcomes = []
    for lib in BOTH:
        try:
            read(REFUSED[case](lib, getattr(lib.linalg, name)))
        except (RuntimeError, NotImplementedError) as error:
            outcomes.append((type(error), str(error).partition("\n")[0].removesuffix(".")))
        else:
            outcomes.append((None, ""))
    ours, theirs = outcomes
    assert ours[0] is theirs[0]
    if (name, case) not in OTHER_WORDS:
        assert ours[1].startswith(theirs[1])


OTHER_WORDS = {("lu_factor", "not square"): "PyTorch calls the kernel otherwise"}


def test_infos_are_lapacks_and_what_fails_is_not_silent() -> None:
    for lib in BOTH:
        x = lib.stack([lib.eye(2), lib.ones(2, 2), lib.zeros(2, 2)])
        for function in ("inv_ex", "lu_factor_ex"):
            assert getattr(lib.linalg, function)(x)[-1].tolist() == [0, 2, 1]
        solution, info = lib.linalg.solve_ex(x, lib.ones(3, 2, 1))
        assert info.tolist() == [0, 2, 1]
        assert not np.isfinite(np.asarray(solution[1:].tolist())).all()
        assert lib.linalg.cholesky_ex(x - 2)[1].tolist() == [1, 1, 1]
        assert lib.linalg.inv_ex(x).info.dtype == lib.int32


@pytest.mark.filterwarnings("ignore:torch:UserWarning")
def test_results_have_pytorchs_names() -> None:
    calls: list[Callable[[Any, Any], Any]] = [
        lambda lib, x: lib.linalg.eigh(x),
        lambda lib, x: lib.linalg.svd(x),
        lambda lib, x: lib.linalg.qr(x),
        lambda lib, x: lib.linalg.lu(x),
        lambda lib, x: lib.linalg.lu_factor_ex(x),
        lambda lib, x: lib.linalg.slogdet(x),
        lambda lib, x: lib.linalg.lstsq(x, x),
        lambda lib, x: lib.slogdet(x),
        lambda lib, x: lib.qr(x),
        lambda lib, x: lib.svd(x),
        lambda lib, x: lib.geqrf(x),
        lambda lib, x: lib.lu_unpack(*lib.linalg.lu_factor(x)),
        lambda lib, x: lib.triangular_solve(x, x),
        lambda lib, x: lib.linalg.eigh(x, out=(lib.empty(0), lib.empty(0))),
    ]
    for call in calls:
        found, expected = (call(lib, lib.eye(2)) for lib in BOTH)
        names = [
            name
            for name in dir(type(expected))
            if isinstance(getattr(found, name, None), dovetail.Tensor)
        ]
        assert type(found).__name__ == type(expected).__name__
        for name in names:
            assert getattr(found, name).shape == getattr(expected, name).shape
        assert len(found) == len(expected)
        assert all(
            [a is getattr(found, name) for a, name in zip(found, found._fields, strict=True)]
        )


@pytest.mark.parametrize("name", ["svd_lowrank", "pca_lowrank"])
def test_low_rank_factorizations_find_a_matrix_of_low_rank(name: str) -> None:
    dovetail.manual_seed(0)
    for shape in ((8, 5), (5, 8), (2, 6, 4)):
        a = RANDOM.standard_normal((*shape[:-1], 2)) @ RANDOM.standard_normal((2, shape[-1]))
        x = dovetail.tensor(a.tolist(), dtype=dovetail.float64)
        u, s, v = getattr(dovetail, name)(x, q=3)
        wanted = x - x.mean(-2, True) if name == "pca_lowrank" else x
        np.testing.assert_allclose(
            ((u * s.unsqueeze(-2)) @ v.mH).tolist(), wanted.tolist(), atol=1e-9
        )


@pytest.mark.filterwarnings("ignore:torch:UserWarning")
def test_old_names_take_what_pytorchs_take() -> None:
    for lib in BOTH:
        x = lib.tensor(REAL[0].tolist(), dtype=lib.float64)
        lu, pivots, infos = lib.lu(x, get_infos=True)
        assert lu.shape == (4, 4)
        assert pivots.dtype == lib.int32
        assert infos.tolist() == 0
        assert len(x.lu()) == 2
        assert lib.norm(x, "nuc").shape == ()
        assert lib.tensordot(x, x, dims=([0, 1], [0, 1])).shape == ()
        assert lib.tensordot(x, x, 1).shape == (4, 4)
        assert lib.cartesian_prod(x[0], x[1]).shape == (16, 2)
        assert lib.chain_matmul(x, x, x).shape == (4, 4)


PIVOTS: dict[str, list[int]] = {
    "below the first row": [0, 2],
    "beyond the last row": [1, 3],
    "fewer than steps": [2],
}


@pytest.mark.parametrize("name", PIVOTS)
def test_pivots_that_are_not_a_row_for_each_step_are_refused(name: str) -> None:
    for lib in BOTH:
        factors, pivots = lib.ones(2, 2), lib.tensor(PIVOTS[name], dtype=lib.int32)
        if lib is torch and name == "fewer than steps":
            continue  # it reads beyond their memory
        with pytest.raises(RuntimeError, match=r"must be between 1 and LU.size\(-2\) inclusive"):
            read(lib.lu_unpack(factors, pivots))


@pytest.mark.parametrize("shape", [(2, 0, 0), (2, 3, 0), (2, 3, 2)])
@pytest.mark.parametrize("which", [0, 1])
def test_no_reflections_are_differentiable(which: int, shape: tuple[int, ...]) -> None:
    for lib in BOTH:
        given = [lib.full(shape, float("nan")), lib.ones(2, 0)]
        given[which].requires_grad_()
        made = lib.linalg.householder_product(*given)
        assert made.requires_grad
        assert made.tolist() == lib.eye(*shape[1:]).expand(shape).tolist()


@pytest.mark.parametrize("lib", [dovetail, torch])
def test_the_error_of_linear_algebra_has_two_names(lib: Any) -> None:
    assert lib._C._LinAlgError is lib.linalg.LinAlgError


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 2, 2)])
def test_factors_that_svd_does_not_compute_lie_in_memory_as_those_of_pytorch(
    shape: tuple[int, ...],
) -> None:
    ours, theirs = (lib.svd(lib.ones(shape), compute_uv=False) for lib in (dovetail, torch))
    for mine, other in zip(ours, theirs, strict=True):
        assert (tuple(mine.shape), mine.stride()) == (tuple(other.shape), other.stride())


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("name", ["mm", "addmm", "addmm with factors"])
def test_the_gradient_of_the_second_matrix_lies_as_that_matrix(name: str, is_turned: bool) -> None:
    def gradient(lib: Any) -> Any:
        x, y = lib.arange(6.0).reshape(2, 3), lib.arange(12.0).reshape(3, 4)
        second = (y.t().contiguous().t() if is_turned else y).requires_grad_()
        if name == "mm":
            made = lib.mm(x, second)
        else:
            factors = {"beta": 2, "alpha": 3} if "factors" in name else {}
            made = lib.addmm(lib.ones(4), x, second, **factors)
        (found,) = lib.autograd.grad(made.square().sum(), second)
        return found.tolist(), found.stride()

    assert gradient(dovetail) == gradient(torch)
