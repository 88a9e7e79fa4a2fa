"""What CuPy has not, or does otherwise than NumPy: the same results as on the cpu."""

from __future__ import annotations

import warnings

import pytest

import dovetail

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.skipif(not dovetail.cuda.is_available(), reason="there is no CUDA here")

POLYNOMIALS = (
    *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he"),
    *("laguerre_polynomial_l", "legendre_polynomial_p"),
)
SYMMETRIC = [[4.0, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 0.5, 9.0]]


def same(on_cuda, on_cpu):
    """Check values and dtypes, of tensors or of tuples of them."""
    if isinstance(on_cpu, tuple):
        for pair in zip(on_cuda, on_cpu, strict=True):
            same(*pair)
        return
    assert on_cuda.is_cuda and on_cuda.dtype is on_cpu.dtype
    dovetail.testing.assert_close(on_cuda.cpu(), on_cpu, equal_nan=True)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_every_degree_are_those_of_the_cpu(name):
    function = getattr(dovetail.special, name)
    x = dovetail.linspace(-1.5, 1.5, 7, dtype=dovetail.float64)
    degrees = dovetail.tensor([-2, -1, 0, 1, 2, 5, 9])[:, None]
    same(function(x.cuda(), degrees.cuda()), function(x, degrees))
    same(function(x.float().cuda(), 4), function(x.float(), 4))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_matrices_that_fail_say_so_and_where(dtype):
    good = dovetail.tensor(SYMMETRIC, dtype=getattr(dovetail, dtype))
    batch = dovetail.stack([good, -good, good.new_ones(3, 3), good])
    batch[3, 2, 2] = 0.5
    for function in (
        dovetail.linalg.cholesky_ex,
        dovetail.linalg.inv_ex,
        dovetail.linalg.lu_factor_ex,
        lambda x: dovetail.linalg.solve_ex(x, x[:, 0].unsqueeze(-1)),
    ):
        same(tuple(function(batch.cuda())), tuple(function(batch)))
    with pytest.raises(dovetail.linalg.LinAlgError, match="input is not positive-definite"):
        dovetail.linalg.cholesky(-good.cuda())
    with pytest.raises(dovetail.linalg.LinAlgError, match="singular"):
        dovetail.linalg.inv(dovetail.ones(2, 2, dtype=good.dtype, device="cuda"))


def test_what_the_library_has_not_is_said():
    with pytest.raises(NotImplementedError, match="LAPACK's sytrf is not available on device cuda"):
        dovetail.linalg.ldl_factor(dovetail.tensor(SYMMETRIC, device="cuda"))


@pytest.mark.parametrize("reduce", ["prod", "amax", "amin"])
@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "int64", "int32", "uint8", "complex64"]
)
def test_values_are_combined_also_at_repeated_places(reduce, dtype):
    if dtype == "complex64" and reduce != "prod":
        pytest.skip("complex numbers have no order")
    kind = getattr(dovetail, dtype)
    x = dovetail.arange(1, 7).reshape(3, 2).to(kind)
    values = dovetail.tensor([[3, 1], [2, 5], [2, 2], [1, 3]]).to(kind)
    places = dovetail.tensor([[0, 2], [0, 2], [2, 2], [0, 1]])
    for include_self in (True, False):
        results = [
            each.scatter_reduce(0, at, with_, reduce, include_self=include_self)
            for each, at, with_ in ((x.cuda(), places.cuda(), values.cuda()), (x, places, values))
        ]
        same(*results)


def test_extrema_at_places_keep_nan():
    nan = float("nan")
    x, values = dovetail.tensor([nan, 1.0, 2.0]), dovetail.tensor([5.0, nan, 7.0, 1.0])
    places = dovetail.tensor([0, 1, 2, 2])
    for reduce in ("amax", "amin"):
        found = x.cuda().scatter_reduce(0, places.cuda(), values.cuda(), reduce)
        same(found, x.scatter_reduce(0, places, values, reduce))


def test_choices_of_bfloat16_stay_bfloat16():
    x = dovetail.arange(3.0, device="cuda", dtype=dovetail.bfloat16)
    for found in (dovetail.where(x > 0, x, 7.0), x.masked_fill(x > 0, 7.0)):
        assert found.dtype is dovetail.bfloat16
    assert dovetail.where(x > 0, x, 7.0).tolist() == [7.0, 1.0, 2.0]


def test_what_is_expanded_takes_a_number():
    assert dovetail.zeros(1, device="cuda").expand(3).fill_(2).tolist() == [2.0] * 3
    rows = dovetail.ones(2, 1, device="cuda")
    assert rows.expand(2, 3).zero_().tolist() == [[0.0] * 3] * 2
    assert rows.tolist() == [[0.0], [0.0]]
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        rows.expand(2, 3).copy_(dovetail.ones(2, 3, device="cuda"))
    nothing = dovetail.zeros(0, 3, device="cuda", dtype=dovetail.bfloat16)
    assert nothing.copy_(dovetail.ones(3, device="cuda")).shape == (0, 3)


@pytest.mark.parametrize("dims", [(2, 1, 0), (0, 2, 1), (1, 2, 0)])
def test_functions_of_every_element_keep_the_order_of_dimensions_in_memory(dims):
    on_cpu = dovetail.linspace(0.1, 0.9, 24).reshape(2, 3, 4).permute(dims)
    on_cuda = on_cpu.cuda()
    row = on_cpu[0, 0]
    for function in (
        lambda x, row: x.sin(),
        lambda x, row: x * 2 + row,
        lambda x, row: row - x,
        lambda x, row: dovetail.where(x > 0.5, x, row),
        lambda x, row: x.erf(),
        lambda x, row: x.sigmoid(),
        lambda x, row: x.frexp()[0],
        lambda x, row: dovetail.special.i0(x),
        lambda x, row: x.remainder(0.3),
        lambda x, row: x[:1].expand(x.shape) + x,
        lambda x, row: x.contiguous() + x,
    ):
        found, expected = function(on_cuda, row.cuda()), function(on_cpu, row)
        assert found.stride() == expected.stride()
        same(found, expected)


def test_the_garbage_collector_finds_nothing_after_a_trace():
    import gc

    x = dovetail.ones(2, device="cuda")
    for _ in range(2):
        with warnings.catch_warnings(), dovetail.tracing():
            x + 1
    gc.collect()
    with dovetail.tracing():
        x + 1
    assert gc.collect() == 0


BESSEL = "i0 i0e i1 i1e " + " ".join(
    f"{kind}{order}"
    for kind in ("bessel_j", "bessel_y", "modified_bessel_i", "scaled_modified_bessel_k")
    for order in (0, 1)
)


@pytest.mark.parametrize("name", BESSEL.split())
def test_bessel_functions_at_infinity_and_far_out_are_those_of_the_cpu(name):
    function = getattr(dovetail.special, name)
    for dtype in (dovetail.float32, dovetail.float64):
        x = [float("inf"), -float("inf"), float("nan"), -3.0, 0.5, 100.0]
        x = dovetail.tensor(x, dtype=dtype)
        same(function(x.cuda()), function(x))


@pytest.mark.parametrize("name", ["i0e", "i1e"])
def test_scaled_bessel_functions_of_any_number_are_those_of_the_cpu(name):
    function = getattr(dovetail.special, name)
    for dtype, least in ((dovetail.float32, -30), (dovetail.float64, -300)):
        positive = dovetail.logspace(least, -least, 400, dtype=dtype)
        x = dovetail.cat([positive, dovetail.linspace(1, 1000, 500, dtype=dtype), -positive])
        same(function(x.cuda()), function(x))


@pytest.mark.parametrize("order", [0, 1])
def test_scaled_bessel_functions_of_the_second_kind_are_those_of_the_cpu(order):
    function = getattr(dovetail.special, f"scaled_modified_bessel_k{order}")
    for dtype, most in ((dovetail.float32, 30), (dovetail.float64, 300)):
        large = dovetail.logspace(-3, most, 400, dtype=dtype)
        x = dovetail.cat([large, dovetail.linspace(1, 1000, 500, dtype=dtype)])
        same(function(x.cuda()), function(x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_exponentials_of_many_matrices_are_those_of_the_cpu(dtype):
    real = "float32" if dtype in ("float32", "complex64") else "float64"
    x = dovetail.linspace(-2, 3, 36, dtype=getattr(dovetail, real)).reshape(2, 2, 3, 3)
    x = x.to(getattr(dovetail, dtype))
    x[1] *= 4
    x[0, 0] *= 1e-4
    same(x.cuda().matrix_exp(), x.matrix_exp())
    same(x[0, 1].cuda().matrix_exp(), x[0, 1].matrix_exp())


def test_the_exponential_of_a_matrix_that_is_not_finite_leaves_others_as_they_are():
    x = dovetail.eye(3, dtype=dovetail.float64).repeat(3, 1, 1)
    x[1, 0, 2] = float("nan")
    x[2, 1, 1] = float("inf")
    made = x.cuda().matrix_exp().cpu()
    dovetail.testing.assert_close(made[0], x[0].matrix_exp())
    assert made[1:].isnan().any(-1).any(-1).all()


@pytest.mark.parametrize("left", [True, False])
def test_systems_broadcast_as_on_the_cpu(left):
    matrix = dovetail.tensor(SYMMETRIC, dtype=dovetail.float64)
    many = matrix.repeat(2, 1, 1) + dovetail.arange(2.0)[:, None, None]
    sides = dovetail.arange(18.0, dtype=dovetail.float64).reshape(2, 3, 3)
    for a, b in ((matrix, sides), (many, sides[0]), (many[None], sides[:, None]), (many, sides)):
        result = dovetail.linalg.solve(a.cuda(), b.cuda(), left=left)
        same(result, dovetail.linalg.solve(a, b, left=left))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "complex128"])
def test_a_number_is_multiplied_to_places_as_on_the_cpu(dtype):
    x = dovetail.tensor([[1, 2], [3, 4], [5, 6]], dtype=getattr(dovetail, dtype))
    index = dovetail.tensor([[2, 0], [2, 1]])
    same(
        x.cuda().scatter(0, index.cuda(), 2, reduce="multiply"),
        x.scatter(0, index, 2, reduce="multiply"),
    )


def test_dropout_of_complex_numbers_is_refused_as_on_the_cpu():
    for device in ("cpu", "cuda"):
        x = dovetail.ones(3, dtype=dovetail.complex64, device=device)
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
            dovetail.nn.functional.dropout(x, 0.5)
