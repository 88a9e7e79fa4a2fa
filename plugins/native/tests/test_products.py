"""Compiled products of small matrices: NumPy's bits, for operands of every layout."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing

from .compiled_kernels import kernel  # noqa: E402
from .layouts import LAYOUTS, numbers  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the kernels are those of the cpu"),
]

SIZES = (
    (1, 1, 1),
    (1, 5, 1),
    (3, 1, 4),
    (1, 7, 3),
    (4, 7, 1),
    (5, 8, 6),
    (17, 33, 9),
    (40, 30, 35),
)
LARGE = (80, 60, 70)
"""Left to the reference."""
DTYPES = ("f4", "f8", "c8", "c16")


def laid(layout: str, shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Return real and imaginary numbers in a layout."""
    x = numbers(shape, "f8", seed, special=False)
    x = x + 1j * numbers(shape, "f8", seed + 1, special=False) if dtype[0] == "c" else x
    return np.asarray(LAYOUTS[layout](np.asarray(x.astype(dtype))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "unaligned"])
def test_products_have_the_bits_of_numpy(layout: str, dtype: str) -> None:
    mm, bmm, mv = kernel("mm"), kernel("bmm"), kernel("mv")
    for rows, inner, columns in SIZES:
        x = laid(layout, (rows, inner), dtype, rows)
        for other in (layout, "C order"):
            y = laid(other, (inner, columns), dtype, columns)
            made = mm(x, y)
            assert made.dtype == x.dtype
            assert made.flags.c_contiguous
            np.testing.assert_array_equal(made, np.matmul(x, y))
        vector = laid(layout, (inner,), dtype, inner)
        np.testing.assert_array_equal(mv(x, vector), np.matmul(x, vector[:, None])[:, 0])
        batch = laid(layout, (3, rows, inner), dtype, rows)
        others = laid(layout, (3, inner, columns), dtype, columns)
        np.testing.assert_array_equal(bmm(batch, others), np.matmul(batch, others))


@pytest.mark.parametrize("dtype", (*DTYPES, "i8", "i4", "u1"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inner_products_are_those_of_the_reference(layout: str, dtype: str) -> None:
    near = {"rtol": 1e-5 if dtype in ("f4", "c8") else 1e-10, "atol": 1e-3}
    for size in (1, 2, 7, 40):
        x, y = [laid(layout, (size,), dtype, size + seed) for seed in range(2)]
        matrix = laid(layout, (3, size), dtype, size)
        for name, args in (
            ("dot", (x, y)),
            ("vdot", (x, y)),
            ("mv", (matrix, x)),
            ("mm", (matrix, matrix.T)),
            ("addmv", (matrix[:, 0], matrix, x)),
            ("addmv", (matrix[:1, 0], matrix, x)),
            ("addmv", (matrix[:, 0], matrix, x, 2, 3)),
        ):
            compiled = kernel(name)
            named = dict(zip(("beta", "alpha"), args[3:], strict=False))
            found, expected = [
                function(*args[:3], **named) for function in (compiled, compiled.__wrapped__)
            ]
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(found, expected, **near)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_with_products_are_those_of_the_reference(layout: str, dtype: str) -> None:
    addmm, linear = kernel("addmm"), dovetail.nn.functional.linear
    near = {"rtol": 1e-4 if dtype in ("f4", "c8") else 1e-10, "atol": 1e-3}
    for rows, inner, columns in (*SIZES, LARGE):
        x = laid(layout, (rows, inner), dtype, rows)
        y = laid(layout, (inner, columns), dtype, columns)
        for shape in ((rows, columns), (1, columns), (rows, 1), (columns,), (1,), ()):
            added = laid(layout, shape, dtype, 5)
            for factors in ({}, {"beta": 1, "alpha": 1.0}, {"beta": 2}, {"alpha": -1}, {"beta": 0}):
                found = addmm(added, x, y, **factors)
                expected = addmm.__wrapped__(added, x, y, **factors)
                np.testing.assert_allclose(found, expected, **near)
                assert found.dtype == expected.dtype
                assert found.shape == expected.shape
        if layout in ("negative steps", "overlapping"):
            continue
        bias = dovetail.from_numpy(np.ascontiguousarray(y[0] if inner else y))
        weight = dovetail.from_numpy(np.ascontiguousarray(y)).t()
        made = linear(dovetail.from_numpy(np.ascontiguousarray(x)), weight, bias)
        np.testing.assert_allclose(made.numpy(), x @ y + y[0], **near)


def test_products_that_do_not_fit_are_refused_as_before() -> None:
    x, y = dovetail.ones(2, 3), dovetail.ones(2, 3)
    for call in (
        lambda: dovetail.mm(x, y),
        lambda: dovetail.bmm(x[None], y[None]),
        lambda: dovetail.mv(x, y[:, 0]),
        lambda: dovetail.addmm(dovetail.ones(5), x, y.t()),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_products_of_nothing_are_zero() -> None:
    assert dovetail.mm(dovetail.ones(2, 0), dovetail.ones(0, 3)).tolist() == [[0.0] * 3] * 2
    assert dovetail.mm(dovetail.ones(0, 2), dovetail.ones(2, 3)).shape == (0, 3)


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize(
    "shape", ((16, 64, 32), (8, 200, 40), (33, 64, 40), (40, 128, 17), (7, 300, 90))
)
def test_products_with_a_transpose_are_those_with_a_copy_of_it(shape, dtype):
    rows, inner, columns = shape
    x, weight = (
        laid("C order", (rows, inner), dtype, 1),
        laid("C order", (columns, inner), dtype, 2),
    )
    near = {"rtol": 1e-4 if dtype == "f4" else 1e-10, "atol": 1e-3 if dtype == "f4" else 1e-9}
    exact = x.astype("f8") @ weight.T.astype("f8")
    bias = laid("C order", (columns,), dtype, 3)
    for turned in (weight.T, LAYOUTS["gaps"](weight).T, weight[:, ::-1][:, ::-1].T):
        np.testing.assert_allclose(kernel("mm")(x, turned), exact, **near)
        np.testing.assert_allclose(kernel("addmm")(bias, x, turned), exact + bias, **near)
    wide = np.concatenate((weight, weight), 1)[:, :inner]
    np.testing.assert_allclose(kernel("mm")(x, wide.T), exact, **near)


def test_products_beside_other_threads_are_the_same():
    x, y = laid("C order", (300, 200), "f4", 1), laid("C order", (250, 200), "f4", 2)
    expected, found = kernel("mm")(x, y.T), []
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: kernel("mm")(x, y.T), range(8)))
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=1e-4, atol=1e-3)
