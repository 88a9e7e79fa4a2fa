"""Indices, pivots, offsets and sizes that no array has: each is an error or an empty result, never
memory outside an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.nn import functional as F

HUGE = 2**63 - 1
FACTORIES: dict[str, Callable[[int], Any]] = {
    "zeros": dovetail.zeros,
    "ones": dovetail.ones,
    "empty": dovetail.empty,
    "full": lambda n: dovetail.full((n,), 1.0),
    "new_zeros": lambda n: dovetail.ones(1).new_zeros(n),
    "new_full": lambda n: dovetail.ones(1).new_full((n,), 2.0),
    "new_empty": lambda n: dovetail.ones(1).new_empty(n),
    "empty_permuted": lambda n: dovetail.empty_permuted((n, 2), (1, 0)),
    "arange": dovetail.arange,
    "arange of floats": lambda n: dovetail.arange(float(n)),
    "arange, step": lambda n: dovetail.arange(-n, n, 1),
    "linspace": lambda n: dovetail.linspace(0, 1, n),
    "logspace": lambda n: dovetail.logspace(0, 1, n),
    "eye": dovetail.eye,
    "randperm": dovetail.randperm,
    "hann_window": dovetail.hann_window,
    "bartlett_window": dovetail.bartlett_window,
    "kaiser_window": dovetail.kaiser_window,
    "tril_indices": lambda n: dovetail.tril_indices(n, n),
    "triu_indices": lambda n: dovetail.triu_indices(n, n, -n),
    "repeat": lambda n: dovetail.ones(2).repeat(n),
    "pad": lambda n: F.pad(dovetail.ones(2), (n, n)),
    "diag_embed": lambda n: dovetail.diag_embed(dovetail.ones(2), n),
    "diagflat": lambda n: dovetail.diagflat(dovetail.ones(2), -n),
    "interpolate, nearest": lambda n: F.interpolate(dovetail.ones(1, 1, 4), size=n),
    "interpolate, linear": lambda n: F.interpolate(dovetail.ones(1, 1, 4), size=n, mode="linear"),
    "adaptive_avg_pool1d": lambda n: F.adaptive_avg_pool1d(dovetail.ones(1, 4), n),
    "adaptive_max_pool2d": lambda n: F.adaptive_max_pool2d(dovetail.ones(1, 4, 4), n),
    "bincount": lambda n: dovetail.bincount(dovetail.tensor([n])),
    "bincount, minlength": lambda n: dovetail.bincount(dovetail.tensor([1]), minlength=n),
    "repeat_interleave": lambda n: dovetail.repeat_interleave(dovetail.tensor([n, n, n])),
}


@pytest.mark.parametrize("size", [HUGE, HUGE - 1, HUGE - 1000, 2**62, 2**61])
@pytest.mark.parametrize("name", FACTORIES)
def test_a_size_that_no_memory_holds_is_refused(name: str, size: int) -> None:
    with pytest.raises(RuntimeError, match=r"overflow|can't allocate"):
        FACTORIES[name](size)


LOOPS: dict[str, Callable[[], Any]] = {
    "adaptive_avg_pool1d": lambda: F.adaptive_avg_pool1d(dovetail.ones(1, 4), 2**48),
    "adaptive_max_pool1d": lambda: F.adaptive_max_pool1d(dovetail.ones(1, 4), 2**48),
    "combinations": lambda: dovetail.combinations(dovetail.ones(200), 100),
    "combinations with replacement": lambda: dovetail.combinations(dovetail.ones(20), 2**40, True),
    "tensor_split": lambda: dovetail.ones(3).tensor_split(2**48),
    "pad": lambda: F.pad(dovetail.ones(1, 4), (2**48, 0), mode="replicate"),
    "mvlgamma": lambda: dovetail.mvlgamma(dovetail.ones(()), 2**48),
    "interpolate": lambda: F.interpolate(
        dovetail.ones(1, 1, 4, 4), (2**45, 4), mode="bilinear", antialias=True
    ),
    "unbind": lambda: dovetail.ones(1).expand(2**48).unbind(),
    "unbind of rows": lambda: dovetail.ones(1, 1).expand(2, 2**48).unbind(1),
    "expand": lambda: dovetail.ones(2).expand(2**62, 2**62, 2),
    "list": lambda: list(dovetail.ones(1).expand(2**48)),
    "masked_select": lambda: dovetail.ones(1).expand(2**48).masked_select(dovetail.tensor(True)),
    "block_diag": lambda: dovetail.block_diag(*[dovetail.ones(1).expand(2**24, 1)] * 2**10),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_of_python_over_sizes_that_no_memory_holds_are_refused(name: str) -> None:
    with pytest.raises((RuntimeError, MemoryError), match=r"overflow|allocate"):
        LOOPS[name]()


@pytest.mark.parametrize("name", ["legendre_polynomial_p", "laguerre_polynomial_l"])
def test_recurrences_of_a_degree_that_no_time_suffices_for_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="degree"):
        getattr(dovetail.special, name)(dovetail.ones(2), dovetail.tensor([3, 2**62]))


CHEBYSHEV: dict[str, Callable[[Any, Any], Any]] = {  # by the angle
    "t": lambda n, t: np.cos(n * t),
    "u": lambda n, t: np.sin((n + 1) * t) / np.sin(t),
    "v": lambda n, t: np.cos((n + 0.5) * t) / np.cos(t / 2),
    "w": lambda n, t: np.sin((n + 0.5) * t) / np.sin(t / 2),
}


@pytest.mark.parametrize("kind", CHEBYSHEV)
@pytest.mark.parametrize("degree", [4095, 4096, 4097, 5001, 2**20, 2**20 + 1])
def test_polynomials_of_chebyshev_of_high_degree(kind: str, degree: int) -> None:
    angles = np.array([0.3, 1.0, 1.5, 2.0, 3.0])
    function = getattr(dovetail.special, f"chebyshev_polynomial_{kind}")
    shifted = getattr(dovetail.special, f"shifted_chebyshev_polynomial_{kind}")
    x = np.cos(angles)
    wanted = CHEBYSHEV[kind](degree, angles)
    np.testing.assert_allclose(
        function(dovetail.tensor(x), degree).cpu().numpy(), wanted, rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(
        shifted(dovetail.tensor((x + 1) / 2), degree).cpu().numpy(), wanted, rtol=1e-6, atol=1e-6
    )


def test_polynomials_of_chebyshev_of_high_degree_at_the_ends_and_outside() -> None:
    x = dovetail.tensor([1.0, -1.0, 2.0, -2.0], dtype=dovetail.float64)
    special = dovetail.special
    inf = float("inf")
    assert special.chebyshev_polynomial_t(x, 5001).round().tolist() == [1, -1, inf, -inf]
    assert special.chebyshev_polynomial_u(x, 5001).tolist() == [5002, -5002, inf, -inf]
    assert special.chebyshev_polynomial_u(x, 2**62).isinf().tolist() == [False, False, True, True]
    near = dovetail.tensor([1 + 1e-8, -1 - 1e-8], dtype=dovetail.float64)
    degree = dovetail.tensor(5001)
    growth = 5001 * np.arccosh(1 + 1e-8)
    values = special.chebyshev_polynomial_t(near, degree).cpu().numpy()
    np.testing.assert_allclose(values, [np.cosh(growth), -np.cosh(growth)], rtol=1e-9)


@pytest.mark.parametrize("name", ["hermite_polynomial_h", "hermite_polynomial_he"])
def test_polynomials_of_hermite_of_high_degree_are_not_finite(name: str) -> None:
    values = getattr(dovetail.special, name)(
        dovetail.tensor([0.5, 0.5]), dovetail.tensor([3, 2**62])
    )
    assert values.isfinite().tolist() == [True, False]


def test_windows_over_padding_alone_cost_what_their_elements_cost() -> None:
    x = dovetail.tensor([[[1.0, 2.0, 3.0, 4.0]]], dtype=dovetail.float64, requires_grad=True)
    result = F.avg_pool1d(x, 2**41, stride=1, padding=2**40)
    assert result.tolist() == [[[10 * 2.0**-41] * 5]]
    result.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[[5 * 2.0**-41] * 4]]


@pytest.mark.parametrize("dtype", [dovetail.float32, dovetail.float64])
def test_bins_over_the_whole_range_of_a_dtype(dtype: Any) -> None:
    greatest = dovetail.finfo(dtype).max
    x = dovetail.tensor([-1.0, -0.6, 0.0, 0.4, 0.6, 1.0], dtype=dtype) * greatest
    assert dovetail.histc(x, 4).tolist() == [2, 0, 2, 2]
    assert dovetail.histc(x, 4, 0.0, greatest).tolist() == [1, 1, 1, 1]


JOINED: dict[str, Callable[[list[Any]], Any]] = {
    "cat": dovetail.cat,
    "stack": dovetail.stack,
    "hstack": dovetail.hstack,
    "vstack": dovetail.vstack,
    "column_stack": dovetail.column_stack,
}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("position", [0, 1])
def test_numbers_beyond_the_common_dtype_are_infinite_without_a_warning(
    name: str, position: int
) -> None:
    parts = [dovetail.ones(1, dtype=dovetail.float16)]
    parts.insert(position, dovetail.tensor([-(2**63)]))
    result = JOINED[name](parts)
    assert result.dtype is dovetail.float16
    assert sorted(result.flatten().tolist()) == [-float("inf"), 1.0]


@pytest.mark.parametrize("factor", [float("inf"), -float("inf"), float("nan"), 1e300])
def test_a_scale_factor_that_is_no_size_is_refused(factor: float) -> None:
    with pytest.raises(RuntimeError, match="overflow"):
        F.interpolate(dovetail.ones(1, 1, 4), scale_factor=factor)


def test_the_meta_device_refuses_sizes_as_the_others_do() -> None:
    for make in (
        lambda: dovetail.zeros(2**62, device="meta"),
        lambda: dovetail.arange(HUGE, device="meta"),
        lambda: dovetail.diag_embed(dovetail.ones(2, device="meta"), 2**40),
    ):
        with pytest.raises(RuntimeError, match="overflow"):
            make()


@pytest.mark.parametrize("offset", [2**31, -(2**31), 2**31 - 1, -(2**63), HUGE, 4, -4])
def test_a_diagonal_beyond_the_corners_is_empty(offset: int) -> None:
    x = dovetail.ones(4, 4)
    assert x.diagonal(offset).shape == (0,)
    assert dovetail.diag(x, offset).shape == (0,)
    assert dovetail.diagonal_copy(x, offset).shape == (0,)
    assert dovetail.linalg.diagonal(x, offset=offset).shape == (0,)
    assert x.diagonal_scatter(dovetail.ones(0), offset).equal(x)
    y = x.clone().requires_grad_()
    y.diagonal(offset).sum().backward()
    assert y.grad is not None and not y.grad.any()
    assert x.tril(offset).sum() == (16 if offset > 0 else 0)
    assert x.triu(offset).sum() == (0 if offset > 0 else 16)


def test_triangles_of_long_thin_matrices_cost_what_their_elements_cost() -> None:
    assert dovetail.triu_indices(HUGE, 2).tolist() == [[0, 0, 1], [0, 1, 1]]
    assert dovetail.tril_indices(2, HUGE).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert dovetail.tril_indices(2**40, 2, 1 - 2**40).tolist() == [[2**40 - 1], [0]]
    assert dovetail.triu_indices(2, 2**40, 2**40 - 1).tolist() == [[0], [2**40 - 1]]


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_places_of_triangles_are_numpys(name: str) -> None:
    for rows in range(5):
        for columns in range(5):
            for offset in range(-6, 7):
                found = getattr(dovetail, f"{name}_indices")(rows, columns, offset)
                mask = getattr(np, name)(np.ones((rows, columns)), offset)
                assert np.array_equal(found.cpu().numpy(), np.nonzero(mask))


# -- what a backward trusts ------------------------------------------------------------------------

WRONG = [10, -1, 2**40, -(2**40), HUGE, -(2**63)]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("padding_idx", [-1, 2])
@pytest.mark.parametrize("shape", [(3, 2), (3, 20), (600, 64)])
def test_the_gradient_of_embedding_refuses_rows_that_are_not_there(
    wrong: int, by_frequency: bool, padding_idx: int, shape: tuple[int, int]
) -> None:
    indices = dovetail.arange(shape[0]) % 10
    indices[1] = wrong
    with pytest.raises(IndexError, match="out of range"):
        dovetail.ops.aten.embedding_dense_backward(
            dovetail.ones(*shape), indices, 10, padding_idx, by_frequency
        )


def embedded(weight: Any, indices: Any) -> Any:
    return F.embedding(indices, weight)


def bagged(weight: Any, indices: Any) -> Any:
    return F.embedding_bag(indices, weight, dovetail.tensor([0, 1]))


def entropy(weight: Any, indices: Any) -> Any:
    return F.cross_entropy(weight, indices)


def likelihood(weight: Any, indices: Any) -> Any:
    return F.nll_loss(weight, indices)


@pytest.mark.parametrize("wrong", [64, -1, 2**40, -(2**63)])
@pytest.mark.parametrize("rows", [5, 700])
@pytest.mark.parametrize("function", [embedded, bagged, entropy, likelihood])
def test_indices_that_change_before_the_backward_are_looked_at_again(
    function: Callable[..., Any], rows: int, wrong: int
) -> None:
    weight = dovetail.ones(rows, 64 if function in (entropy, likelihood) else 20)
    weight.requires_grad_()
    indices = dovetail.arange(rows) % 5
    loss = function(weight, indices).sum()
    indices.data[1] = wrong if function in (entropy, likelihood) or wrong != 64 else rows
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        loss.backward()
    assert weight.grad is None


@pytest.mark.parametrize(
    "pivots",
    [
        [2**31 - 1, 1, 2, 3],
        [-(2**31), -(2**31), 3, 4],
        [0, 2, 3, 4],
        [5, 2, 3, 4],
        [1, 2, 3, -4],
        [-2, -2, -3, 4],
        [-1, 1, 2, 3],
    ],
)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_pivots_that_no_factorization_returns_are_refused(
    pivots: list[int], batch: tuple[int, ...]
) -> None:
    matrix = dovetail.eye(4, dtype=dovetail.float64).expand(*batch, 4, 4)
    steps = dovetail.tensor([1, 2, 3, 4], dtype=dovetail.int32).repeat(*batch, 1)
    steps[..., :] = dovetail.tensor(pivots, dtype=dovetail.int32)
    with pytest.raises(RuntimeError, match="Pivots given to ldl_solve"):
        dovetail.linalg.ldl_solve(matrix, steps, matrix)


@pytest.mark.parametrize("complex_", [False, True])
def test_pivots_of_factorizations_with_blocks_are_taken(complex_: bool) -> None:
    r = np.random.default_rng(0)
    for size in range(1, 9):
        for _ in range(10):
            a = r.integers(-1, 2, (size, size)).astype(np.complex128 if complex_ else np.float64)
            if complex_:
                a = a + 1j * r.integers(-1, 2, (size, size))
            matrix = dovetail.tensor(a + a.conj().T + 0.25 * np.diag(r.random(size)))
            factors, pivots = dovetail.linalg.ldl_factor(matrix, hermitian=complex_)
            right = dovetail.ones(size, 1, dtype=matrix.dtype)
            found = dovetail.linalg.ldl_solve(factors, pivots, right, hermitian=complex_)
            scale = 1 + float(found.abs().max())
            assert (matrix @ found - right).abs().max() < 1e-8 * scale


@pytest.mark.parametrize("shape", [(4, 5), (1, 20), (3,), (16,), (2, 2, 2), (17, 9), (), (300,)])
@pytest.mark.parametrize("count", [1, 3, 15, 16, 17, 64, 500, 1700])
def test_rows_of_any_shape_are_added_on_both_sides_of_every_threshold(
    shape: tuple[int, ...], count: int
) -> None:
    index = np.arange(count) * 7 % 10
    source = np.arange(count * int(np.prod(shape)), dtype=np.float32).reshape(count, *shape) % 11
    expected = np.zeros((10, *shape), np.float32)
    np.add.at(expected, index, source)
    places, rows = dovetail.tensor(index), dovetail.tensor(source)
    found = dovetail.zeros(10, *shape).index_add(0, places, rows)
    assert np.array_equal(found.cpu().numpy(), expected)
    x = dovetail.zeros(10, *shape, requires_grad=True)
    x.index_select(0, places).backward(rows)
    assert x.grad is not None and np.array_equal(x.grad.cpu().numpy(), expected)


@pytest.mark.parametrize("row", [3, -1])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_a_row_that_is_not_in_the_table_is_none_of_the_next_sample(
    row: int, by_frequency: bool
) -> None:
    def gradient(grad: Any, rows: Any) -> Any:
        return dovetail.ops.aten.embedding_dense_backward(grad, rows, 3, -1, by_frequency)

    grad = dovetail.ones(2, 3, 2)
    right = dovetail.func.vmap(gradient)(grad, dovetail.tensor([[0, 1, 2], [0, 1, 2]]))
    assert right.cpu().numpy().tolist() == np.ones((2, 3, 2)).tolist()
    with pytest.raises(IndexError, match="index out of range"):
        dovetail.func.vmap(gradient)(grad, dovetail.tensor([[0, 1, row], [0, 1, 2]]))


@pytest.mark.parametrize("number", [0.1, 0.3, 1 / 3, 1e10 + 0.1])
def test_equal_numbers_do_not_deviate(number: float) -> None:
    for dtype in (dovetail.float32, dovetail.float64):
        x = dovetail.full((2, 7), number, dtype=dtype, requires_grad=True)
        deviation = x.std(1)
        assert deviation.tolist() == [0, 0]
        (gradient,) = dovetail.autograd.grad(deviation.sum(), x)
        assert gradient.abs().max() == 0
