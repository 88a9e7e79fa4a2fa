"""The compiled softmax family against its reference, in every layout."""

from __future__ import annotations

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

import dovetail  # noqa: E402

from .compiled_kernels import UNITS, close, kernel, skip_uncompiled  # noqa: E402
from .layouts import LAYOUTS, numbers  # noqa: E402

FORWARD = ("_softmax", "_log_softmax", "_safe_softmax")
BACKWARD = ("_softmax_backward_data", "_log_softmax_backward_data")
SHAPES = (
    (),
    (1,),
    (7,),
    (0,),
    (3, 0),
    (0, 3),
    (4, 5),
    (33, 10),
    (2, 300),
    (3, 40, 17),
    (2, 3, 2, 2),
    (1, 4100),
    (260, 19),
)
DTYPES = ("f4", "f8")


def axes(array: np.ndarray) -> tuple[int, ...]:
    return tuple(range(-array.ndim, array.ndim)) or (0, -1)


@pytest.mark.parametrize("special", (False, True))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FORWARD)
def test_forward_agrees_with_the_reference(name, dtype, layout, special):
    compiled = kernel(name)
    rest = () if name == "_safe_softmax" else (False,)
    for seed, shape in enumerate(SHAPES):
        x = LAYOUTS[layout](numbers(shape, dtype, seed, special))
        before = x.copy()
        for dim in axes(x):
            with np.errstate(all="ignore"):
                expected = compiled.__wrapped__(x, dim, *rest)
            found = compiled(x, dim, *rest)
            # Both round the difference to the greatest element, which is of the size of it.
            close(found, expected, 16 * UNITS[dtype])
            assert found.flags.c_contiguous
            assert not np.may_share_memory(found, x)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BACKWARD)
def test_backward_agrees_with_the_reference(name, dtype, layout):
    compiled, forward = kernel(name), kernel(name.replace("_backward_data", ""))
    for seed, shape in enumerate(SHAPES):
        grad = LAYOUTS[layout](numbers(shape, dtype, seed, False))
        for dim in axes(grad):
            output = forward(numbers(shape, dtype, seed + 100, False), dim, False)
            output = output if layout == "expanded" else LAYOUTS[layout](output)
            arguments = (grad, output, dim, np.dtype(dtype))
            expected, found = compiled.__wrapped__(*arguments), compiled(*arguments)
            size = np.abs(grad).sum() + 1 if grad.size else 1
            close(found, expected, 8 * UNITS[dtype], float(size))
            assert found.flags.c_contiguous


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize("length", (1, 5, 16, 48, 49, 255, 256, 257, 4096, 4097, 9000))
def test_bits_depend_on_the_row_alone(name, dtype, length):
    compiled = kernel(name)
    rest = () if name == "_safe_softmax" else (False,)
    rows = numbers((19, length), dtype, length, False)
    expected = np.stack([compiled(row, 0, *rest) for row in rows])
    for found in (
        compiled(rows, 1, *rest),
        compiled(rows[:, None], 2, *rest)[:, 0],
        compiled(rows.T, 0, *rest).T,
        compiled(np.ascontiguousarray(rows.T), 0, *rest).T,
        compiled(np.stack([rows, rows], 2), 1, *rest)[:, :, 1],
        compiled(np.stack([rows] * 17, 2), 1, *rest)[:, :, 16],
    ):
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_is_accurate(dtype):
    x = numbers((200, 500), dtype, 3, False)
    exact = x.astype(np.longdouble)
    exact = exact - exact.max(1, keepdims=True)
    logarithm = exact - np.log(np.exp(exact).sum(1, keepdims=True))
    unit = UNITS[dtype]
    found = kernel("_softmax")(x, 1, False)
    # An exponential of a number of size n has n times the rounding error of that number.
    assert np.all(np.abs(found / np.exp(logarithm) - 1) <= (3 + np.abs(exact) / 2) * unit)
    found = kernel("_log_softmax")(x, 1, False)
    # Three roundings: of the difference, of the logarithm of the sum, of the result.
    bound = (np.abs(exact) + np.abs(logarithm) + 8) / 2 * unit
    assert np.all(np.abs(found - logarithm) <= bound)


def test_sums_of_long_rows_lose_no_more_than_pairwise_ones():
    x = np.zeros((1, 1 << 20), "f4")
    found = kernel("_softmax")(x, 1, False)
    assert np.all(found == np.float32(2.0**-20))
    found = kernel("_log_softmax")(x, 1, False)
    assert np.all(np.abs(found + np.log(2.0**20)) <= 2e-6)


def test_rows_without_a_finite_element():
    x = np.array([[-np.inf] * 4, [np.nan] + [-np.inf] * 3, [np.inf, 1, 2, 3]], "f4")
    for copies in (1, 30):
        rows = np.repeat(x, copies, 0)
        for array, dim in ((rows, 1), (rows.T.copy(), 0)):
            found = np.moveaxis(kernel("_safe_softmax")(array, dim), dim, 1)
            assert np.all(found[:copies] == 0)
            assert np.isnan(found[copies:]).all()
            found = np.moveaxis(kernel("_softmax")(array, dim, False), dim, 1)
            assert np.isnan(found).all()


@pytest.mark.parametrize("name", FORWARD)
def test_what_is_not_computed_is_the_references(name):
    compiled = kernel(name)
    rest = () if name == "_safe_softmax" else (False,)
    x = np.arange(6.0).reshape(2, 3)
    for dim in (2, -3, 1 << 70):
        with pytest.raises((IndexError, OverflowError)):
            compiled(x, dim, *rest)
    with pytest.raises(NotImplementedError):
        compiled(np.ones((2, 3), "i8"), 1, *rest)
    with pytest.raises(TypeError):
        compiled(x)
    half = compiled(x.astype("e"), 1, *rest)
    assert half.dtype == "e"
    np.testing.assert_allclose(half, compiled(x, 1, *rest), rtol=2e-3)


def test_a_gradient_of_another_shape_or_dtype_is_the_references():
    compiled = kernel("_softmax_backward_data")
    output = kernel("_softmax")(np.arange(6.0).reshape(2, 3), 1, False)
    with pytest.raises(RuntimeError):
        compiled(np.ones((2, 4)), output, 1, output.dtype)
    found = compiled(np.ones((2, 3), "f4"), output, 1, output.dtype)
    np.testing.assert_allclose(found, 0, atol=1e-6)


def test_the_interpreters_lock_is_free_and_arguments_live():
    # The caller's only reference may go away meanwhile; the kernel holds its own.
    from threading import Thread

    compiled = kernel("_softmax")
    x = numbers((400, 1000), "f4", 1, False)
    expected = compiled(x, 1, False)
    found: list[np.ndarray] = []
    threads = [Thread(target=lambda: found.append(compiled(x.copy(), 1, False))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(each.tobytes() == expected.tobytes() for each in found)


@pytest.mark.cpu_only(reason="the compiled kernels are those of the cpu")
def test_explain_says_where_a_kernel_is_compiled():
    skip_uncompiled()
    text = str(dovetail.explain(dovetail.ops.aten._softmax.default, dovetail.ones(2), 0, False))
    assert "compiled (table/softmax.c:" in text
    assert core.INSTRUCTION_SET in text
