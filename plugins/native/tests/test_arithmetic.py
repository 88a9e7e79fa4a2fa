"""Arithmetic of several operands and a number against its reference, in every layout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import UNITS, kernel  # noqa: E402
from .layouts import LAYOUTS, numbers  # noqa: E402

CALLS = {
    "add.Tensor": (2, "alpha"),
    "sub.Tensor": (2, "alpha"),
    "addcmul": (3, "value"),
    "addcdiv": (3, "value"),
    "lerp.Scalar": (2, "weight"),
}
SHAPES = ((), (1,), (7,), (0,), (3, 0), (4, 5), (3, 40, 17), (2, 1500))
HALVES = (np.dtype("f2"), np.dtype(ml_dtypes.bfloat16))


def compiled_sum(name):
    def refuse(*args, **kwargs):
        raise ValueError(name)

    return core.CompiledKernel(name, refuse)


def same(found, expected):
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)
    if not np.iscomplexobj(found):
        signs = [np.signbit(each) & ~np.isnan(each) for each in (found, expected)]
        np.testing.assert_array_equal(*signs)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_references(name, dtype, layout):
    compiled, (count, number) = kernel(name), CALLS[name]
    for seed, shape in enumerate(SHAPES):
        operands = [
            LAYOUTS[layout](numbers(shape, dtype, seed + 10 * i, i == 1)) for i in range(count)
        ]
        calls = [operands]
        if shape and shape[-1]:
            calls.append([operands[0], *[each[..., :1] for each in operands[1:]]])
        for given in calls:
            for value in (0.3, -2, 0.75, 1e30, float("inf")):
                with np.errstate(all="ignore"):
                    expected = compiled.__wrapped__(*given, **{number: value})
                    found = compiled(*given, **{number: value})
                finite = ~(np.isnan(expected) & np.isnan(found))
                same(np.asarray(found)[finite], np.asarray(expected)[finite])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8", "f2", "i4", "u1", "?", "c8"))
@pytest.mark.parametrize("name", ("rsub.Scalar", "pow.Tensor_Scalar"))
def test_calls_of_an_array_and_a_number_are_the_references(name, dtype, layout):
    compiled = kernel(name)
    values = (0, 1, 2, 3, 2.0, 3.0, -2, 0.5, 0.3, True, 1e300, float("inf"), float("nan"), 1j)
    calls = [(value,) for value in values]
    if name == "rsub.Scalar":
        calls += [(2, alpha) for alpha in (1, 2, -0.3, True, 1e300, 1j)]
        calls += [(value, 1) for value in values]
    for seed, shape in enumerate(SHAPES):
        x = LAYOUTS[layout](numbers(shape, "f4", seed, dtype in ("f4", "f8")).astype(dtype))
        for args in calls:
            given = outcome(compiled, x, *args), outcome(compiled.__wrapped__, x, *args)
            if not isinstance(given[0], np.ndarray):
                assert given[0] == given[1]
                continue
            if name == "pow.Tensor_Scalar" and args == (0.3,) and dtype in UNITS:
                # NumPy's bits differ from layout to layout.
                np.testing.assert_allclose(*given, rtol=4 * UNITS[dtype])
            else:
                same(*given)
            steps = [
                [n for n, size in zip(each.strides, shape, strict=False) if size > 1]
                for each in given
            ]
            assert steps[0] == steps[1]


def outcome(call, *args):
    try:
        with np.errstate(all="ignore"):
            return np.asarray(call(*args))
    except (RuntimeError, TypeError, np.exceptions.DTypePromotionError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("number", (1, 0.3, -2.5, 60000))
def test_halves_are_subtracted_from_a_number(number, dtype):
    every = np.arange(1 << 16, dtype="u2").view(dtype)
    for alpha in (1, 0.3):
        with np.errstate(all="ignore"):
            expected = kernel("rsub.Scalar").__wrapped__(every, number, alpha)
            found = kernel("rsub.Scalar")(every, number, alpha)
            assert found.dtype == dtype
            same(found.astype("f4"), expected.astype("f4"))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_half_precision_is_rounded_once(name, dtype):
    compiled, (count, number) = kernel(name), CALLS[name]
    operands = [numbers((33, 70), "f4", seed, False).astype(dtype) for seed in range(count)]
    for layout in LAYOUTS.values():
        given = [layout(each) for each in operands]
        found = compiled(*given, **{number: 0.3})
        rounded = float(np.array(0.3, dtype)) if number == "alpha" else 0.3
        expected = compiled(*[each.astype("f4") for each in given], **{number: rounded})
        same(found.astype("f4"), expected.astype(dtype).astype("f4"))


@pytest.mark.parametrize("dtype", (np.dtype("f4"), np.dtype("f8"), *HALVES), ids=str)
@pytest.mark.parametrize(("name", "sign"), [("add.Tensor", 1), ("sub.Tensor", -1)])
def test_sums_are_written_where_they_are_wanted(name, sign, dtype):
    compiled = compiled_sum(name)
    x, y = [numbers((40, 50), "f4", seed, False).astype(dtype) for seed in (0, 1)]
    expected = kernel("add.Tensor")(x, y, alpha=0.3 * sign)
    for room in (np.empty_like(x), np.empty((40, 100), dtype)[:, ::2], np.empty((50, 40), dtype).T):
        assert compiled(x, y, alpha=0.3, out=room) is room
        np.testing.assert_array_equal(room, expected)
    for first, second in ((x.copy(), y), (x, y.copy()), (x[:, :1], y.copy())):
        out = first if first.base is None and first is not x else second
        expected = kernel("add.Tensor")(first, second, alpha=0.3 * sign)
        compiled(first, second, alpha=0.3, out=out)
        np.testing.assert_array_equal(out, expected)
    memory, other = x.reshape(-1).copy(), x.reshape(-1).copy()
    compiled(memory[1:], memory[:-1], alpha=0.5, out=memory[1:])
    np.testing.assert_array_equal(
        memory[1:], kernel("add.Tensor")(other[1:], other[:-1], alpha=0.5 * sign)
    )


def test_other_arguments_are_the_references():
    x = np.ones((2, 3), "f4")
    with pytest.raises((RuntimeError, ValueError)):
        kernel("addcmul")(x, np.ones(4, "f4"), x)
    with pytest.raises((RuntimeError, ValueError)):
        kernel("add.Tensor")(x, x[:, :1], alpha=2, out=x[:1])
    assert kernel("add.Tensor")(np.arange(3), np.arange(3), alpha=2).dtype == np.int64
    assert kernel("add.Tensor")(x.astype("c8"), x.astype("c8"), alpha=2j).dtype == np.complex64
