"""Compiled reductions against their references in double precision, in every layout."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dovetail

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import UNITS, close, helper, kernel
from .layouts import LAYOUTS, numbers

DTYPES = ("f4", "f8")
SHAPES = (
    (),
    (1,),
    (7,),
    (4, 5),
    (33, 10),
    (2, 300),
    (300, 2),
    (3, 40, 17),
    (2, 3, 1, 2),
    (260, 19),
)
NAMES = ("sum.dim_IntList", "nansum", "mean.dim", "amax", "amin", "logsumexp")
ORDERS = {f"norm of order {order}": order for order in (1, 2, float("inf"))}
VARIANCES = ("var.correction", "std.correction", "var_mean.correction", "std_mean.correction")
HALVES = (np.dtype("f2"), np.dtype(ml_dtypes.bfloat16))


def dims_of(ndim: int) -> list[tuple[int, ...]]:
    """Return all sets of axes, some counted from the end."""
    every = [axes for count in range(1, ndim + 1) for axes in combinations(range(ndim), count)]
    return [*every, *[(axes[0] - ndim, *axes[1:]) for axes in every]] if ndim else [()]


def reduction(name: str) -> Any:
    """Return the compiled kernel of a reduction."""
    return kernel("linalg_vector_norm" if name in ORDERS else name)


def call(name: str, compiled: Any, x: np.ndarray, dims: Any, keepdim: bool) -> Any:
    """Return the results of a reduction in a tuple."""
    if name in VARIANCES:
        made = compiled(x, dims, correction=0.5, keepdim=keepdim)
    elif name in ORDERS:
        made = compiled(x, ORDERS[name], dims, keepdim)
    else:
        made = compiled(x, dims, keepdim)
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", (*NAMES, *ORDERS, *VARIANCES))
def test_a_reduction_over_any_axes(name, dtype, layout):
    compiled = reduction(name)
    for seed, shape in enumerate(SHAPES):
        x = LAYOUTS[layout](numbers(shape, dtype, seed, False))
        before = x.copy()
        for dims in dims_of(len(shape)):
            for keepdim in (False, True):
                with np.errstate(all="ignore"):
                    exact = call(name, compiled.__wrapped__, x.astype("f8"), dims, keepdim)
                found = call(name, compiled, x, dims, keepdim)
                scale = max(np.abs(x).sum() if "sum" in name or name in ORDERS else 50, 1)
                for one, other in zip(found, exact, strict=True):
                    assert one.flags.c_contiguous
                    close(one, np.asarray(other).astype(dtype), 16 * UNITS[dtype], scale)
                # What is reduced whole is read as it lies in memory.
                if found[0].size > 1:
                    in_order = call(name, compiled, x.copy("C"), dims, keepdim)
                    for one, other in zip(found, in_order, strict=True):
                        assert one.tobytes() == other.tobytes(), (shape, dims)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", (*NAMES, *ORDERS, *VARIANCES))
def test_columns_of_permuted_axes_are_those_in_c_order(name, dtype):
    compiled = reduction(name)
    x = numbers((3, 71, 5, 67), dtype, 0, False)[:, 1:, :, 1:]
    for order in permutations(range(4)):
        given = x.transpose(order)
        in_order = given.copy("C")
        for dims in [dims for dims in dims_of(4) if len(dims) < 3]:
            found = call(name, compiled, given, dims, False)
            expected = call(name, compiled, in_order, dims, False)
            for one, other in zip(found, expected, strict=True):
                assert one.tobytes() == other.tobytes(), (order, dims)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", (*NAMES, *ORDERS, *VARIANCES))
def test_columns_of_any_length_have_the_bits_of_rows(name, dtype):
    compiled = reduction(name)
    for rows in (*range(2, 36), 63, 255, 256, 257, 271, 513):
        for width in (17, 64, 131, 200):
            x = numbers((rows, width), dtype, rows, False)
            found = call(name, compiled, x, (0,), False)
            expected = call(name, compiled, x.T.copy("C"), (1,), False)
            for one, other in zip(found, expected, strict=True):
                assert one.tobytes() == other.tobytes(), (rows, width)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_along_an_axis(dtype, layout):
    compiled = kernel("prod.dim_int")
    for seed, shape in enumerate(SHAPES):
        x = LAYOUTS[layout](1 + numbers(shape, dtype, seed, False) / 64)
        for axis in range(-len(shape), len(shape)):
            exact = np.prod(x.astype("f8"), axis)
            found = compiled(x, axis)
            close(found, exact.astype(dtype), 300 * UNITS[dtype])
            assert found.tobytes() == compiled(x.copy("C"), axis).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("sum", "mean", "prod", "max", "min"))
def test_everything_is_reduced(name, dtype):
    compiled = kernel(name)
    for shape in SHAPES:
        x = 1 + numbers(shape, dtype, 1, False) / 64
        for layout in ("C order", "gaps", "last axes swapped"):
            close(
                compiled(LAYOUTS[layout](x)),
                np.asarray(compiled.__wrapped__(x.astype("f8"))).astype(dtype),
                600 * UNITS[dtype],
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ("sum.dim_IntList", "nansum", "amax", "amin", "logsumexp", "prod.dim_int")
)
def test_special_numbers(name, dtype):
    compiled = kernel(name)
    x = numbers((60, 70), dtype, 0, True)
    x[0], x[1], x[2], x[3] = -np.inf, np.nan, np.inf, -0.0
    for given in (x, x.T, np.abs(x), x[:, :9], x[:, :1]):
        for axis in (0, 1):
            with np.errstate(all="ignore"):
                expected = compiled.__wrapped__(given.astype("f8"), axis).astype(dtype)
            found = compiled(given, axis)
            same = np.isfinite(expected) | (found == expected)
            assert (same | (np.isnan(found) & np.isnan(expected))).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("amax", "amin"))
def test_extrema_find_nan_wherever_it_is(name, dtype):
    compiled = kernel(name)
    for length in (3, 16, 17, 100, 256, 1100):
        for place in {0, 1, length // 2, length - 1}:
            x = numbers((length, 37), dtype, place, False)
            x[place, ::2] = np.nan
            expected = compiled.__wrapped__(x, 0)
            assert np.isnan(expected[::2]).all() and not np.isnan(expected[1::2]).any()
            np.testing.assert_array_equal(compiled(x, 0), expected)
            np.testing.assert_array_equal(compiled(x.T.copy(), 1), expected)
            np.testing.assert_array_equal(compiled(x[:, :3], (0, 1)), np.asarray(np.nan, dtype))


@pytest.mark.parametrize("dtype", ("?", "u1", "i4", "i8", "f4"))
def test_elements_that_are_not_zero_are_counted(dtype):
    x = (numbers((30, 70), "f4", 0, False) * 2).astype("i4").astype(dtype)
    compiled = kernel("count_nonzero")
    for given in (x, x.T, x[::2, ::-3], x[:0], x[3, 4], x[0, 0, None][:0]):
        for args in ((), (None,)):
            found, expected = compiled(given, *args), compiled.__wrapped__(given, *args)
            assert (found.dtype, found.shape) == (np.int64, ())
            assert found == expected == (given != 0).sum()
    np.testing.assert_array_equal(compiled(x, 1), (x != 0).sum(1))


@pytest.mark.parametrize("dtype", ("?", "u1", "i1", "i8", "f4"))
@pytest.mark.parametrize("name", ("any", "all"))
def test_truth_of_all_elements_is_that_of_the_reference(name, dtype):
    compiled = kernel(name)
    for x in (np.zeros((4, 6)), np.ones((4, 6)), np.eye(4, 6), np.zeros((0, 3)), np.ones(())):
        for given in (
            (x.astype(dtype), x.astype(dtype).T, x.astype(dtype)[..., ::-2][:3])
            if x.ndim
            else (np.asarray(x.astype(dtype)),)
        ):
            found, expected = np.asarray(compiled(given)), np.asarray(compiled.__wrapped__(given))
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert found == expected
    odd = np.full((5, 9), 2, np.uint8).view("?")  # any byte but 0 is true
    assert kernel("all")(odd) and kernel("any")(odd)


def test_sums_of_many_numbers_lose_no_more_than_pairwise_ones():
    x = np.random.default_rng(0).random((1 << 18, 9), "f4")
    exact = x.sum(0, "f8")
    for given, axis in ((x, 0), (x.T, 1), (np.ascontiguousarray(x.T), 1)):
        np.testing.assert_allclose(kernel("sum.dim_IntList")(given, axis), exact, 4e-7)
        np.testing.assert_allclose(
            kernel("var.correction")(given + np.float32(1000), axis), x.var(0, "f8", ddof=1), 1e-3
        )


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shape", ((1 << 19,), (700, 900), (300_000, 3), (40, 50, 300)))
def test_sums_of_many_halves_are_rounded_once(shape, dtype):
    x = numbers(shape, "f4", 0, False).astype(dtype)
    for given in (x, x.T, x[..., ::-1]):
        wide = given.astype("f8")
        for axis in range(given.ndim):
            for name, exact in (
                ("sum.dim_IntList", wide.sum(axis)),
                ("mean.dim", wide.mean(axis)),
                ("amax", wide.max(axis)),
            ):
                found = kernel(name)(given, (axis,))
                assert found.dtype == dtype
                slack = 2e-6 * np.abs(wide).sum(axis) / (given.shape[axis] if "mean" in name else 1)
                bound = np.abs(exact) * float(ml_dtypes.finfo(dtype).eps) / 2 * 1.0001 + slack
                assert (np.abs(found.astype("f8") - exact) <= bound).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("max.dim", "min.dim", "argmax", "argmin"))
def test_extrema_along_an_axis_with_their_indices(name, dtype, layout):
    compiled = kernel(name)
    for seed, shape in enumerate(SHAPES):
        x = LAYOUTS[layout](np.round(numbers(shape, dtype, seed, seed % 2 == 0)))
        for axis in range(-x.ndim, x.ndim):
            for keepdim in (False, True):
                found, expected = (
                    each if isinstance(each, tuple) else (each,)
                    for each in (compiled(x, axis, keepdim), compiled.__wrapped__(x, axis, keepdim))
                )
                for one, other in zip(found, expected, strict=True):
                    assert (one.dtype, one.shape) == (other.dtype, other.shape)
                    assert one.flags.c_contiguous
                    np.testing.assert_array_equal(one, other)
    with pytest.raises(IndexError):
        compiled(np.ones((2, 0), dtype), 1)
    with pytest.raises(IndexError):
        compiled(np.ones((2, 3), dtype), 2)


def test_more_than_two_billion_elements_are_not_copied():
    x = np.broadcast_to(np.float32(0.5), (1 << 31) + 7)
    assert kernel("sum")(x) == 2.0**30 + 3.5


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_half_precision_is_widened_exactly_and_rounded_once(dtype):
    every = np.arange(1 << 16, dtype="u2").view(dtype)
    wide = every.astype("f4")
    found = kernel("amax")(every[:, None], 1)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found.astype("f4"), wide)
    assert kernel("sum")(every[wide == 1]).dtype == dtype
    finite = every[np.isfinite(wide)]
    finite = finite[np.argsort(finite.astype("f4"), kind="stable")]
    pairs = np.stack([finite[:-1], finite[1:]], 1)  # their means are ties, which go to even
    with np.errstate(all="ignore"):
        expected = ((pairs[:, 0].astype("f4") + pairs[:, 1].astype("f4")) / 2).astype(dtype)
        found = kernel("mean.dim")(pairs, 1)
        np.testing.assert_array_equal(found.view("u2") & 0x7FFF, expected.view("u2") & 0x7FFF)
        doubled = (pairs.astype("f4").sum(1)).astype(dtype)
    np.testing.assert_array_equal(kernel("sum.dim_IntList")(pairs, 1), doubled)


@pytest.mark.parametrize("dtype", (*map(np.dtype, DTYPES), *HALVES), ids=str)
def test_nothing_is_reduced_as_by_the_reference(dtype):
    for name in ("sum.dim_IntList", "mean.dim", *list(ORDERS)[:2], "logsumexp"):
        compiled = reduction(name)
        for shape, axis in (((0, 3), 0), ((3, 0), 0), ((0,), 0)):
            with np.errstate(all="ignore"):
                found, expected = (
                    call(name, each, np.ones(shape, dtype), (axis,), False)[0]
                    for each in (compiled, compiled.__wrapped__)
                )
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(found.astype("f8"), expected.astype("f8"))
    with pytest.raises(RuntimeError):
        kernel("max")(np.ones(0, dtype))
    with pytest.raises(IndexError):
        kernel("amax")(np.ones((0, 2), dtype), (0,))


def test_wrong_axes_are_the_references():
    x = np.ones((2, 3), "f4")
    for name in (*NAMES, *ORDERS):
        for dims in ((2,), (0, 0), (0, -2), (-3,)):
            with pytest.raises((IndexError, RuntimeError)):
                call(name, reduction(name), x, dims, False)
    assert kernel("sum")(np.arange(4)).dtype == np.int64
    assert kernel("sum")(x, dtype=np.dtype("f8")).dtype == np.float64


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gradient_is_summed_to_the_shape_that_was_broadcast(dtype):
    for shape, wanted in (((4, 5), (5,)), ((4, 5), (4, 1)), ((2, 3, 4), (3, 1)), ((2, 3), ())):
        x = dovetail.tensor(numbers(shape, dtype, 0, False))
        small = dovetail.zeros(wanted, dtype=x.dtype, requires_grad=True)
        (small + x).mul(x).sum().backward()
        expected = x.double().sum_to_size(wanted).cpu().numpy()
        assert small.grad is not None
        close(small.grad.cpu().numpy(), expected.astype(dtype), 8 * UNITS[dtype], 30)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_integers_are_added_in_the_dtype_of_the_call(name: str, dtype: str) -> None:
    x = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for wanted in ("bool", "uint8", "int8", "int16", "int32", "int64", "float32"):
        for axes in (None, 0, (0, 1)) if name == "sum" else (None, 1):
            given = {} if axes is None else {"dim": axes}
            made = getattr(dovetail, name)(
                dovetail.from_numpy(x.copy()), **given, dtype=getattr(dovetail, wanted)
            )
            axis = axes if axes is None or isinstance(axes, tuple) else (axes,)
            expected = getattr(x.astype(wanted), name)(axis=axis, dtype=wanted)
            np.testing.assert_array_equal(made.numpy(), expected, strict=True)


@pytest.mark.filterwarnings("error")
def test_nan_is_true_without_a_warning() -> None:
    x = dovetail.tensor([[float("nan"), 0.0], [1.0, float("nan")]])
    for each in (x, x.double(), x.to(dovetail.complex64)):
        assert each.count_nonzero() == 3
        assert each.count_nonzero(0).tolist() == [2, 1]
        assert each.all(0).tolist() == [True, False]
        assert each.any(1).tolist() == [True, True]
        assert each.nonzero().tolist() == [[0, 0], [1, 0], [1, 1]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sum_to_the_shape_that_there_is_is_no_copy(dtype):
    x = numbers((2, 3), dtype, 0, False)
    summed = helper("sum_to")
    assert summed(x, (2, 3)) is x
    assert summed(x, (1, 3)).shape == (1, 3)
