"""Compiled reading and writing at indices, against NumPy and the reference in Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from dovetail_aten.kernel_support import array_kernel_table
from dovetail_cpu import CpuArrays
from dovetail_native import _core

from .layouts import LAYOUTS, numbers, spread, unaligned

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u4", "f2", BFLOAT16, "f4", "f8", "c8", "c16")
NUMBERS = {"?": True, "i4": -7, "i8": 2**40, "f4": -2.5, "f8": -0.1}
SHAPE = (5, 4, 6)
INDICES = {"C order": np.ascontiguousarray, "gaps": spread, "unaligned": unaligned}


class Plain(CpuArrays):
    """The cpu without compiled kernels."""

    def compiled(self, operator: str, reference: Any) -> Any:
        """Return the reference."""
        return reference


def declined(*_: Any, **__: Any) -> Any:
    """Stand for a reference that is not to be called."""
    raise AssertionError("the compiled kernel left its arguments to the reference")


@pytest.fixture(scope="module")
def reference() -> Any:
    """The kernels in Python by operator."""
    kernels = array_kernel_table(np, Plain()).kernels
    return lambda name, *args, **kwargs: kernels[name].fn(*args, **kwargs)


def compiled(name: str) -> Any:
    """Return a compiled kernel that may leave no arguments to its reference."""
    return _core.CompiledKernel(name, declined)


def array(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Return numbers, of floating dtypes also special ones."""
    is_real = np.dtype(dtype).kind in "f" or dtype is BFLOAT16
    with np.errstate(all="ignore"):
        return numbers(shape, "f8", seed, is_real).astype(dtype)


def index(shape: tuple[int, ...], size: int, seed: int = 0, least: int = 0) -> np.ndarray:
    """Return indices that occur several times."""
    return np.random.default_rng(seed).integers(least, size, shape)


def same(found: np.ndarray, expected: np.ndarray, *, zeros: bool = True) -> None:
    """Check values and bits, but for those of NaN, and the order in memory; signs of zeros too
    unless `zeros` is False.
    """
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if found.dtype == BFLOAT16:  # whose NaN NumPy does not know
        found, expected = found.astype("f4"), expected.astype("f4")
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        real = ~np.isnan(expected) & (zeros | (expected != 0))
        np.testing.assert_array_equal(np.signbit(found[real]), np.signbit(expected[real]))
    assert found.strides == expected.strides or 1 in found.shape


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_are_read_as_by_numpy(dtype, layout):
    x = LAYOUTS[layout](array(SHAPE, dtype))
    for axis, order, kind in product(range(3), INDICES.values(), ("i4", "i8")):
        sizes = [3, 2, 5]
        sizes[axis] = 9
        each = order(index(tuple(sizes), SHAPE[axis]).astype(kind))
        part = x[tuple([slice(None) if i == axis else slice(n) for i, n in enumerate(sizes)])]
        expected = np.take_along_axis(part, each, axis)
        np.testing.assert_array_equal(compiled("gather")(x, axis, each), expected)
        line = order(index((7,), SHAPE[axis]).astype(kind))
        expected = np.take(x, line, axis)
        np.testing.assert_array_equal(compiled("index_select")(x, axis - 3, line), expected)
        rows = order(index((2, 3), SHAPE[0]).astype(kind))
        matrix = x[:, 0]
        np.testing.assert_array_equal(compiled("embedding")(matrix, rows), np.take(matrix, rows, 0))
    places = index((3, 5), x.size, least=-x.size)
    np.testing.assert_array_equal(compiled("take")(x, places), x.reshape(-1)[places])


KEYS: tuple[tuple[Any, ...], ...] = (
    (index((3,), 5, 1, -5),),
    (None, index((2, 3), 4, 1, -4)),
    (None, None, index((), 6, 1)),
    (index((3,), 5), index((2, 1), 4)),
    (index((3,), 5), None, index((3,), 6)),
    (None, index((1,), 4), index((7,), 6, 1, -6)),
    (index((2, 1, 1), 5), index((3, 1), 4), index((4,), 6).astype("i4")),
)


@pytest.mark.parametrize("indices", KEYS, ids=lambda key: str([np.shape(each) for each in key]))
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_at_several_indices_are_read_and_written_as_by_the_reference(
    dtype, indices, reference
):
    x = array(SHAPE, dtype)
    found = compiled("index.Tensor")(x, indices)
    same(found, reference("index.Tensor", x, indices))
    given = found.shape
    for layout, make in LAYOUTS.items():
        each = make(x)
        for shape in (given, given[1:], ()):
            values = array(shape, dtype, 5)
            if layout == "gaps":
                values = spread(values)
            for accumulate in (False, True):
                with np.errstate(all="ignore"):
                    expected = reference("index_put", each, indices, values, accumulate)
                same(compiled("index_put")(each, indices, values, accumulate), expected)
    if np.dtype(dtype).kind == "c":
        return
    key = tuple([slice(None) if each is None else each for each in indices])
    for name in ("add", "multiply", "maximum", "minimum"):
        expected = x.copy()
        values = array(given, dtype, 6)
        with np.errstate(all="ignore"):
            getattr(np, name).at(expected, key, values)
        found = compiled("arrays.index_combine")(x, key, values, name)
        same(found, expected, zeros=name in ("add", "multiply"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_are_scattered_as_by_the_reference(dtype, layout, reference):
    x = LAYOUTS[layout](array(SHAPE, dtype))
    for axis, order in product(range(3), INDICES.values()):
        sizes = [3, 4, 5]
        sizes[axis] = 9
        each = order(index(tuple(sizes), SHAPE[axis]))
        source = LAYOUTS[layout](array((9, 9, 9), dtype, 3))
        with np.errstate(all="ignore"):
            for name in ("scatter.src", "scatter_add"):
                expected = reference(name, x, axis, each, source)
                same(compiled(name)(x, axis, each, source), expected)
            for reduce in ("sum", "prod", "amax", "amin"):
                if np.dtype(dtype).kind != "c" or reduce in ("sum", "prod"):
                    expected = reference("scatter_reduce.two", x, axis, each, source, reduce)
                    found = compiled("scatter_reduce.two")(x, axis, each, source, reduce)
                    same(found, expected, zeros=reduce in ("sum", "prod"))
        if dtype in NUMBERS:
            number = NUMBERS[dtype]
            expected = reference("scatter.value", x, axis, each, number)
            same(compiled("scatter.value")(x, axis, each, number), expected)
        number = np.array(1).astype(dtype)
        ordered = np.ascontiguousarray(x)
        expected = reference("scatter.src", ordered, axis, each, np.broadcast_to(number, (9, 9, 9)))
        same(compiled("arrays.scatter")(ordered, axis, each, number, False), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_slices_are_added_as_by_the_reference(dtype, layout, reference):
    x = LAYOUTS[layout](array(SHAPE, dtype))
    for axis, order in product(range(3), INDICES.values()):
        shape = list(SHAPE)
        shape[axis] = 11
        line = order(index((11,), SHAPE[axis]))
        source = LAYOUTS[layout](array(tuple(shape), dtype, 2))
        with np.errstate(all="ignore"):
            expected = reference("index_add", x, axis, line, source)
            same(compiled("index_add")(x, axis, line, source, alpha=1), expected)
            row = source[tuple([slice(1) if i == axis else slice(None) for i in range(3)])]
            expected = reference("index_add", x, axis, line, np.broadcast_to(row, shape))
            same(np.ascontiguousarray(compiled("arrays.index_add")(x, axis, line, row)), expected)
    one = np.array(3)
    last = x[..., :1].astype(dtype)
    with np.errstate(all="ignore"):
        expected = reference("index_add", x, 2, one, last)
    same(compiled("index_add")(x, 2, one, last), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_slices_and_elements_are_written_as_by_the_reference(dtype, layout, reference):
    x = LAYOUTS[layout](array(SHAPE, dtype))
    for axis, order in product(range(3), INDICES.values()):
        shape = list(SHAPE)
        shape[axis] = 3
        line = order(np.random.default_rng(axis).permutation(SHAPE[axis])[:3])
        source = LAYOUTS[layout](array(tuple(shape), dtype, 2))
        expected = reference("index_copy", x, axis, line, source)
        same(compiled("index_copy")(x, axis, line, source), expected)
        number = np.array(1).astype(dtype)
        ends = order(line - SHAPE[axis] * (line % 2))
        expected = reference("index_fill.int_Tensor", x, axis, ends, number)
        same(compiled("index_fill.int_Tensor")(x, axis, ends, number), expected)
    places = index((4, 5), x.size, least=-x.size)
    source = LAYOUTS[layout](array((5, 4), dtype, 3))
    for accumulate in (False, True):
        with np.errstate(all="ignore"):
            expected = reference("put", x, places, source, accumulate)
        same(compiled("put")(x, places, source, accumulate), expected)
    mask = LAYOUTS[layout](index(SHAPE, 2) > 0)
    mask = mask if mask.any() else ~mask
    source = array((11, 11), dtype, 4)
    expected = reference("masked_scatter", x, mask, source)
    same(compiled("masked_scatter")(x, mask, source), expected)


@pytest.mark.parametrize(
    ("dtype", "number"),
    (
        ("f4", 1e39),
        ("f4", True),
        ("i4", 2**31),
        ("i8", 2**63),
        ("i8", 1.5),
        ("?", 1),
        ("f4", 1j),
        ("f8", 10**400),
        ("i2", 3),
        ("c8", 1.0),
    ),
)
def test_numbers_of_other_kinds_and_beyond_a_dtype_are_the_references(dtype, number):
    x, line = np.zeros(3, dtype), np.array([1])
    for name in ("scatter.value", "index_fill.int_Scalar"):
        with pytest.raises(AssertionError, match="left its arguments"):
            compiled(name)(x, 0, line, number)


@pytest.mark.parametrize("number", (np.inf, -np.inf, np.nan, -0.0, 7, 1e-320))
def test_numbers_that_fill_are_rounded_as_by_the_reference(number, reference):
    for dtype in ("f4", "f8"):
        x, line = np.zeros((3, 2), dtype), np.array([1, -1])
        expected = reference("index_fill.int_Scalar", x, 0, line, number)
        same(compiled("index_fill.int_Scalar")(x, 0, line, number), expected)


@pytest.mark.parametrize("dtype", ("f2", BFLOAT16, "f4", "f8"), ids=str)
@pytest.mark.parametrize("padding", (-1, 2, 40))
def test_gradients_of_embeddings_are_those_of_the_reference(dtype, padding, reference):
    for layout, order in product(LAYOUTS.values(), INDICES.values()):
        grad = layout(array((3, 8, 17), dtype))
        rows = order(index((3, 8), 7))
        with np.errstate(all="ignore"):
            expected = reference("embedding_dense_backward", grad, rows, 7, padding, False)
        found = compiled("embedding_dense_backward")(grad, rows, 7, padding, False)
        same(found, expected)


WRONG: dict[str, Any] = {
    "gather": lambda bad: (np.ones(SHAPE), 1, bad[None, :, None]),
    "index_select": lambda bad: (np.ones(SHAPE), 1, bad),
    "embedding": lambda bad: (np.ones((4, 6)), bad),
    "index.Tensor": lambda bad: (np.ones(SHAPE), (None, bad - 4 * (bad < 0))),
    "take": lambda bad: (np.ones((2, 2)), bad - 4 * (bad < 0)),
    "index_put": lambda bad: (
        np.ones(SHAPE),
        (np.zeros(3, "i8"), bad - 4 * (bad < 0)),
        np.ones(()),
    ),
    "index_add": lambda bad: (np.ones(SHAPE), 1, bad, np.ones((5, 3, 6))),
    "scatter.src": lambda bad: (np.ones(SHAPE), 1, bad[None, :, None], np.ones((5, 3, 6))),
    "scatter_add": lambda bad: (np.ones(SHAPE), 1, bad[None, :, None], np.ones((5, 3, 6))),
    "scatter_reduce.two": lambda bad: (
        np.ones(SHAPE),
        1,
        bad[None, :, None],
        np.ones((5, 3, 6)),
        "prod",
    ),
    "index_copy": lambda bad: (np.ones(SHAPE), 1, bad, np.ones((5, 3, 6))),
    "index_fill.int_Scalar": lambda bad: (np.ones(SHAPE), 1, bad - 4 * (bad < 0), 2.0),
    "scatter.value": lambda bad: (np.ones(SHAPE), 1, bad[None, :, None], 2.0),
    "put": lambda bad: (np.ones((2, 2)), bad - 4 * (bad < 0), np.ones(3)),
    "embedding_dense_backward": lambda bad: (np.ones((3, 6)), bad, 4, -1, False),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("wrong", (-1, 4, np.iinfo("i8").max, np.iinfo("i8").min + 4))
def test_an_index_out_of_range_is_the_references_and_nothing_is_written(name, wrong, reference):
    bad = np.array([0, wrong, 1])
    args = WRONG[name](bad)
    before = args[0].copy()
    with pytest.raises(AssertionError, match="left its arguments"):
        compiled(name)(*args)
    with pytest.raises((IndexError, RuntimeError)):
        reference(name, *args)
    np.testing.assert_array_equal(args[0], before)


@pytest.mark.parametrize("name", ("index_select", "index.Tensor", "index_put"))
def test_indices_into_arrays_without_elements_are_the_references(name):
    x = np.ones((4, 0))
    args = {"index_select": (x, 0, np.array([9]))}.get(name, (x, (np.array([9]),), np.ones(0)))
    with pytest.raises(AssertionError, match="left its arguments"):
        compiled(name)(*args[: 2 if name == "index.Tensor" else 3])


def test_indices_reach_as_far_as_an_array_that_is_larger_than_memory():
    many = 1 << 40
    x = np.broadcast_to(np.float32(3), (many, 2))
    places = np.array([0, many - 1])
    np.testing.assert_array_equal(compiled("index_select")(x, 0, places), np.full((2, 2), 3, "f4"))
    np.testing.assert_array_equal(compiled("index.Tensor")(x[:1, :1], (places * 0,)), [[3], [3]])


@pytest.mark.parametrize("dtype", ("f2", BFLOAT16, "f4", "f8"), ids=str)
@pytest.mark.parametrize("reduce", ("amax", "amin"))
def test_of_zeros_the_one_that_was_there_is_kept_as_in_pytorch(reduce, dtype):
    x = np.array([0.0, -0.0, np.nan, 1], dtype)
    source = np.array([-0.0, 0.0, 1, np.nan], dtype)
    found = compiled("scatter_reduce.two")(x, 0, np.arange(4), source, reduce).astype("f4")
    np.testing.assert_array_equal(np.signbit(found[:2]), [False, True])
    assert np.isnan(found[2:]).all()


def test_many_elements_are_added_in_the_order_of_their_indices():
    x, source = array((300, 500), "f4"), array((300, 700), "f4", 1)
    places = index((300, 700), 500)
    expected = x.copy()
    with np.errstate(all="ignore"):
        np.add.at(expected, (np.arange(300)[:, None], places), source)
    np.testing.assert_array_equal(compiled("scatter_add")(x, 1, places, source), expected)


@pytest.mark.parametrize("count", (1, 255, 257, 2047, 2048, 2049, 5000))
def test_indices_that_all_rows_have_in_common_are_read_and_written(count):
    """2,048 are the most that are looked at once for all rows."""
    random = np.random.default_rng(count)
    x, places = array((3, 70), "f4"), random.integers(-70, 70, count)
    np.testing.assert_array_equal(
        compiled("index.Tensor")(x, (None, places)), np.take(x, places, 1, mode="wrap")
    )
    np.testing.assert_array_equal(
        compiled("index_select")(x, 1, places % 70), np.take(x, places % 70, 1)
    )
    added = np.zeros_like(x)
    np.add.at(added, (slice(None), places % 70), 1)
    np.testing.assert_array_equal(
        compiled("index_add")(np.zeros_like(x), 1, places % 70, np.ones((3, count), "f4")), added
    )
    places[-1] = 70
    kernel = _core.CompiledKernel("index_select", lambda *_: "the reference")
    assert kernel(x, 1, places) == "the reference"
