"""Many numbers in half precision: bit by bit what NumPy and ml_dtypes compute one by one."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from .compiled_kernels import kernel  # noqa: E402
from .layouts import LAYOUTS  # noqa: E402

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
MANY = 1 << 14
SLOW = (np.exp, np.log, np.log2, np.sin, np.cos, np.tanh, np.log10)
_NAMES = """
    add subtract multiply divide reciprocal sqrt square floor ceil trunc rint absolute negative
    maximum minimum fmax fmin isnan isfinite signbit logical_not
    greater greater_equal less less_equal equal not_equal
"""
ROUNDED_ONCE = [getattr(np, name) for name in _NAMES.split()]
"""Functions whose results in single precision are those of real numbers, rounded."""
ONE = [each for each in ROUNDED_ONCE if each.nin == 1]
TWO = [each for each in ROUNDED_ONCE if each.nin == 2]
# Of 0 and -0 it is not said which is the greater.
EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)


def every(dtype):
    """Return every number of a dtype: NaN, infinities, subnormal ones and both zeros."""
    return np.arange(1 << 16, dtype=np.uint16).view(dtype)


def shuffled(dtype, seed, size=1 << 17):
    return np.random.default_rng(seed).permutation(np.tile(every(dtype), size >> 16))


def same(made, expected, signs=True):
    assert made.dtype == expected.dtype
    assert made.shape == expected.shape
    if made.dtype == bool:
        np.testing.assert_array_equal(made, expected)
        return
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(made), nan)
    made, expected = made[~nan], expected[~nan]
    if signs:
        made, expected = made.view(np.uint16), expected.view(np.uint16)
    np.testing.assert_array_equal(made, expected)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("ufunc", ONE, ids=lambda each: each.__name__)
def test_functions_of_every_number(ufunc, dtype):
    x = every(dtype)
    same(core.UfuncLoop(ufunc)(x), ufunc(x))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("ufunc", TWO, ids=lambda each: each.__name__)
def test_functions_of_two(ufunc, dtype):
    x, y = shuffled(dtype, 0), shuffled(dtype, 1)
    same(core.UfuncLoop(ufunc)(x, y), ufunc(x, y), ufunc not in EXTREMA)
    near = np.random.default_rng(2).standard_normal((2, 1 << 17)).astype(dtype)
    same(core.UfuncLoop(ufunc)(*near), ufunc(*near))
    same(core.UfuncLoop(ufunc)(x, x), ufunc(x, x))


@pytest.mark.parametrize("ufunc", sorted(SLOW, key=lambda each: each.__name__))
def test_functions_that_are_slow_in_bfloat16_are_as_near(ufunc):
    x = every(HALVES[1])
    made, exact = core.UfuncLoop(ufunc)(x), ufunc(x.astype(np.float64))
    nan = np.isnan(exact)
    np.testing.assert_array_equal(np.isnan(made), nan)
    expected = exact.astype(np.float32).astype(x.dtype)
    made, expected = (np.asarray(each[~nan], np.float64) for each in (made, expected))
    equal = made == expected
    assert equal.mean() > 0.999
    # What is rounded the other way lies halfway between two numbers.
    apart = np.abs(made - exact[~nan])[~equal] / np.abs(expected - exact[~nan])[~equal]
    assert (apart < 1.01).all()
    assert core.UfuncLoop(ufunc)(x[:100]).dtype == x.dtype


VIEWS = {
    "matrix": lambda x: x.reshape(256, 512),
    "columns": lambda x: x.reshape(256, 512)[:, ::2],
    "backwards": lambda x: x[::-1],
    "transposed": lambda x: x.reshape(256, 512).T,
    "planes": lambda x: x.reshape(16, 64, 128).transpose(1, 2, 0)[:, ::-1],
    "a row for all": lambda x: np.broadcast_to(x[:512], (256, 512)),
    "a column for all": lambda x: np.broadcast_to(x[:256, None], (256, 512)),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_views_and_broadcast_operands(view, dtype):
    x, y = VIEWS[view](shuffled(dtype, 0)), VIEWS[view](shuffled(dtype, 1))
    for other in (y, y[:1], y[..., :1], y.reshape(-1)[3], np.asarray(y.reshape(-1)[3])):
        for ufunc in (np.multiply, np.add, np.less):
            made, expected = core.UfuncLoop(ufunc)(x, other), ufunc(x, other)
            same(made, expected)
            assert made.strides == expected.strides
    same(core.UfuncLoop(np.sqrt)(x), np.sqrt(x))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_results_are_written_where_they_are_wanted(dtype):
    x, y = shuffled(dtype, 0), shuffled(dtype, 1)
    for out in (np.empty_like(x), np.empty(2 * x.size, dtype)[::2], np.empty_like(x)[::-1]):
        assert core.UfuncLoop(np.multiply)(x, y, out=out) is out
        same(out, x * y)
    mask = np.empty(x.shape, bool)
    assert core.UfuncLoop(np.less)(x, y, out=mask) is mask
    same(mask, x < y)
    # Of another dtype or shape it is left to NumPy.
    wide = np.empty(x.shape, np.float32)
    same(core.UfuncLoop(np.add)(x, y, out=wide), np.add(x, y, out=np.empty_like(wide)))
    several = np.empty((2, x.size), dtype)
    same(core.UfuncLoop(np.add)(x, y, out=several), np.add(x, y, out=np.empty_like(several)))
    with pytest.raises(ValueError, match="broadcast"):
        core.UfuncLoop(np.add)(several, y, out=np.empty_like(x))
    with pytest.raises(ValueError, match="broadcast"):
        core.UfuncLoop(np.add)(x, y[1:])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shift", (0, 1, 3, MANY, -1, -5))
def test_operands_that_are_written_over(shift, dtype):
    x = shuffled(dtype, 0)
    start, stop = max(0, shift), x.size + min(0, shift)
    made, expected = x.copy(), x.copy()
    for memory, multiply in ((made, core.UfuncLoop(np.multiply)), (expected, np.multiply)):
        source = memory[: stop - start] if shift >= 0 else memory[-shift:]
        multiply(source, memory[start:stop], out=memory[start:stop])
    same(made, expected)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_what_is_few_or_none_or_of_two_dtypes_is_left_alone(dtype):
    x = every(dtype)
    for each in (x[:0], x[:7], x[: MANY - 1], np.asarray(x[5])):
        same(core.UfuncLoop(np.multiply)(each, each), np.multiply(each, each))
    single = x.astype(np.float32)
    same(core.UfuncLoop(np.multiply)(x, single), np.multiply(x, single))
    same(core.UfuncLoop(np.multiply)(single, single), np.multiply(single, single))
    empty = np.empty((0, MANY), dtype)
    same(core.UfuncLoop(np.multiply)(empty, x[:MANY]), empty * x[:MANY])


def test_nobody_is_warned():
    x = shuffled(HALVES[0], 0)
    with np.errstate(all="warn"):
        for size in (x.size, 100):
            core.UfuncLoop(np.multiply)(x[:size], x[:size])
            core.UfuncLoop(np.divide)(x[:size], np.zeros_like(x[:size]))
            core.UfuncLoop(np.sqrt)(x[:size])


OPERATORS = {
    "mul": lambda x, y: x * y,
    "sub": lambda x, y: 1 - x,
    "sqrt": lambda x, y: x.sqrt(),
    "relu": lambda x, y: x.relu(),
    "clamp": lambda x, y: x.clamp(-0.5, 2),
    "clamp to NaN": lambda x, y: x.clamp(max=float("nan")),
    "clamp_": lambda x, y: x.clone().clamp_(-0.5, 2),
    "sign": lambda x, y: x.sign(),
    "add_": lambda x, y: x.clone().add_(y),
    "mul_ of a view": lambda x, y: x.clone()[::2].mul_(y[::2]),
    "gt": lambda x, y: x > y,
    "float": lambda x, y: x.float(),
    "floor": lambda x, y: x.floor(),
    "amax": lambda x, y: x.reshape(64, -1).amax(1),
}
INEXACT = {
    "sigmoid": lambda x, y: x.sigmoid(),
    "softmax": lambda x, y: x.reshape(64, -1).softmax(-1),
    "lerp": lambda x, y: x.lerp(y, 0.3),
    "mean": lambda x, y: x.reshape(64, -1).clamp(-8, 8).mean(1),
    "tanh": lambda x, y: x.tanh(),
}


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
@pytest.mark.parametrize("name", (*OPERATORS, *INEXACT))
def test_operators_are_as_in_pytorch(name, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is what operators are compared with")
    dovetail = pytest.importorskip("dovetail")
    found = []
    for library in (dovetail, torch):
        x, y = [
            library.from_numpy(shuffled(HALVES[0], seed, 1 << 16).astype(np.float32)).to(
                getattr(library, dtype)
            )
            for seed in (0, 1)
        ]
        x, y = x.nan_to_num(1, 3, -3), y.nan_to_num(2, 5, -5)
        result = (OPERATORS | INEXACT)[name](x, y)
        found.append(np.asarray(result.double() if result.dtype != library.bool else result))
    if name in OPERATORS:
        np.testing.assert_array_equal(*found)
    else:
        step = float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(*found, rtol=step, atol=step / 16)


def test_numbers_of_single_precision_are_rounded_with_the_result():
    number = np.array(0.3, np.float32)
    for dtype in HALVES:
        x = every(dtype)
        for ufunc in (np.multiply, np.subtract):
            for operands in ((x, number), (number, x), (np.asarray(x[77]), number)):
                expected = ufunc(*[np.asarray(each, np.float32) for each in operands])
                same(
                    np.asarray(core.UfuncLoop(ufunc, takes_singles=True)(*operands)),
                    expected.astype(dtype),
                )
        # Beside an array of single precision, NumPy's result is one.
        assert core.UfuncLoop(np.multiply)(x, number).dtype == np.float32
    with pytest.raises(ValueError, match="single precision"):
        core.UfuncLoop(np.gcd, takes_singles=True)


def test_distances_between_numbers_are_numpys():
    x = every(HALVES[0])
    same(core.UfuncLoop(np.nextafter)(x, x[::-1]), np.nextafter(x, x[::-1]))
    same(core.UfuncLoop(np.spacing)(x), np.spacing(x))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_conversions_are_numpys(layout, dtype):
    cast, single = kernel("_to_copy"), np.dtype(np.float32)
    x = LAYOUTS[layout](shuffled(dtype, 3).reshape(256, -1))
    for wanted in (single, np.dtype(np.float64), np.dtype(bool), *HALVES):
        made, expected = cast(x, dtype=wanted), cast.__wrapped__(x, dtype=wanted)
        assert made.dtype == wanted
        assert made.strides == expected.strides
        np.testing.assert_array_equal(made.astype("f8"), expected.astype("f8"))
    bits = np.random.default_rng(0).integers(0, 1 << 32, (256, 512), dtype=np.uint32)
    for wide in (bits.view(single), every(dtype).astype(single).reshape(256, -1)):
        same(cast(LAYOUTS[layout](wide), dtype=dtype), LAYOUTS[layout](wide).astype(dtype))
    for kind in "?bBhHiIqQ":
        whole = LAYOUTS[layout](bits.astype(kind))
        same(cast(whole, dtype=dtype), whole.astype(single).astype(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_singles_between_two_halves_are_rounded_to_even(dtype):
    finite = every(dtype)[np.isfinite(every(dtype).astype("f4"))].astype("f4")
    finite = np.unique(finite)
    middles = (finite[1:] / 2 + finite[:-1] / 2).astype("f4")
    beside = [np.nextafter(middles, np.float32(side)) for side in (-np.inf, np.inf)]
    x = np.concatenate([finite, middles, *beside, [np.inf, -np.inf, np.nan, 65520, 65519.996]])
    same(kernel("_to_copy")(x.astype("f4"), dtype=dtype), x.astype("f4").astype(dtype))


def statistics(x, count, weight):
    """Return means and positive numbers, of the dtype of weights."""
    return x[:, :count].astype(weight.dtype), abs(x[:, count : 2 * count]).astype(weight.dtype)


WIDENED = {
    "_softmax": lambda x, w: (x, 1, False),
    "_log_softmax": lambda x, w: (x, 0, False),
    "_softmax_backward_data": lambda x, w: (x, x[::-1], 1, x.dtype),
    "native_layer_norm": lambda x, w: (x, (32,), w, None, 1e-5),
    "native_layer_norm_backward": lambda x, w: (
        *(x, x[::-1], (32,), *statistics(x, 1, w), w, w, (True, True, True)),
    ),
    "_native_batch_norm_legit_functional": lambda x, w: (x, w, w, w, abs(w), True, 0.1, 1e-5),
    "native_batch_norm_backward": lambda x, w: (
        *(x, x[::-1], w, w, abs(w), w, abs(w), True, 1e-5, (True, True, True)),
    ),
    "native_group_norm": lambda x, w: (x[..., None], w, None, 24, 32, 1, 4, 1e-5),
    "native_group_norm_backward": lambda x, w: (
        *(x[..., None], x[::-1, :, None], *statistics(x, 4, w), w),
        *(24, 32, 1, 4, (True, True, True)),
    ),
    "var.correction": lambda x, w: (x, (1,)),
    "mm": lambda x, w: (x, x.T),
    "bmm": lambda x, w: (x[:, None], x[..., None]),
    "mv": lambda x, w: (x, w),
    "std_mean.correction": lambda x, w: (x, (0,)),
}
MIXED = [name for name in WIDENED if "norm" in name]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", WIDENED)
def test_kernels_of_single_precision_compute_half_precision(name, dtype):
    compiled = kernel(name)
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(24, 32)).astype(dtype), rng.normal(size=32).astype(dtype)
    for weight in (w, w.astype(np.float32)) if name in MIXED else (w,):
        args = WIDENED[name](x, weight)
        found, expected = compiled(*args), compiled.__wrapped__(*args)
        singles = [each.astype("f4") if isinstance(each, np.ndarray) else each for each in args]
        if name == "_softmax_backward_data":
            singles[-1] = np.dtype("f4")
        exact = compiled(*singles)
        if not isinstance(found, tuple):
            found, expected, exact = (found,), (expected,), (exact,)
        for one, other, wide in zip(found, expected, exact, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            same(np.asarray(one), wide.astype(one.dtype))


@pytest.mark.parametrize("name", MIXED)
def test_parameters_of_another_precision_are_refused(name):
    x, w = np.ones((24, 32), "f2"), np.ones(32, HALVES[1])
    if name == "native_layer_norm_backward":
        return  # the kernel takes what its forward refuses
    with pytest.raises(RuntimeError, match="mixed dtype"):
        kernel(name)(*WIDENED[name](x, w))
