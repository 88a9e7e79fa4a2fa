"""Many numbers in half precision: bit by bit what NumPy and ml_dtypes compute one by one."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import dovetail_cpu.functions.halves as module
from dovetail_cpu.functions.half_precision import MANY
from dovetail_cpu.functions.halves import ROUNDED_ONCE, SLOW, for_halves

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
ONE = sorted((each for each in ROUNDED_ONCE if each.nin == 1), key=lambda each: each.__name__)
TWO = sorted((each for each in ROUNDED_ONCE if each.nin == 2), key=lambda each: each.__name__)
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


@pytest.fixture
def blocks(monkeypatch):
    """Count the calls that were computed in blocks."""
    found = []
    compute = module._write
    monkeypatch.setattr(module, "_write", lambda *given: (found.append(1), compute(*given)))
    return found


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("ufunc", ONE, ids=lambda each: each.__name__)
def test_functions_of_every_number(ufunc, dtype, blocks):
    x = every(dtype)
    same(for_halves(ufunc)(x), ufunc(x))
    assert blocks


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("ufunc", TWO, ids=lambda each: each.__name__)
def test_functions_of_two(ufunc, dtype, blocks):
    x, y = shuffled(dtype, 0), shuffled(dtype, 1)
    same(for_halves(ufunc)(x, y), ufunc(x, y), ufunc not in EXTREMA)
    assert blocks
    near = np.random.default_rng(2).standard_normal((2, 1 << 17)).astype(dtype)
    same(for_halves(ufunc)(*near), ufunc(*near))
    same(for_halves(ufunc)(x, x), ufunc(x, x))


@pytest.mark.parametrize("ufunc", sorted(SLOW, key=lambda each: each.__name__))
def test_functions_that_are_slow_in_bfloat16_are_as_near(ufunc):
    x = every(HALVES[1])
    made, exact = for_halves(ufunc)(x), ufunc(x.astype(np.float64))
    nan = np.isnan(exact)
    np.testing.assert_array_equal(np.isnan(made), nan)
    expected = exact.astype(np.float32).astype(x.dtype)
    made, expected = (np.asarray(each[~nan], np.float64) for each in (made, expected))
    equal = made == expected
    assert equal.mean() > 0.999
    # What is rounded the other way lies halfway between two numbers.
    apart = np.abs(made - exact[~nan])[~equal] / np.abs(expected - exact[~nan])[~equal]
    assert (apart < 1.01).all()
    assert for_halves(ufunc)(x[:100]).dtype == x.dtype


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
            made, expected = for_halves(ufunc)(x, other), ufunc(x, other)
            same(made, expected)
            assert made.strides == expected.strides
    same(for_halves(np.sqrt)(x), np.sqrt(x))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_results_are_written_where_they_are_wanted(dtype):
    x, y = shuffled(dtype, 0), shuffled(dtype, 1)
    for out in (np.empty_like(x), np.empty(2 * x.size, dtype)[::2], np.empty_like(x)[::-1]):
        assert for_halves(np.multiply)(x, y, out=out) is out
        same(out, x * y)
    mask = np.empty(x.shape, bool)
    assert for_halves(np.less)(x, y, out=mask) is mask
    same(mask, x < y)
    # Of another dtype or shape it is left to NumPy.
    wide = np.empty(x.shape, np.float32)
    same(for_halves(np.add)(x, y, out=wide), np.add(x, y, out=np.empty_like(wide)))
    several = np.empty((2, x.size), dtype)
    same(for_halves(np.add)(x, y, out=several), np.add(x, y, out=np.empty_like(several)))
    with pytest.raises(ValueError, match="broadcast"):
        for_halves(np.add)(several, y, out=np.empty_like(x))
    with pytest.raises(ValueError, match="broadcast"):
        for_halves(np.add)(x, y[1:])


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shift", (0, 1, 3, MANY, -1, -5))
def test_operands_that_are_written_over(shift, dtype):
    x = shuffled(dtype, 0)
    start, stop = max(0, shift), x.size + min(0, shift)
    made, expected = x.copy(), x.copy()
    for memory, multiply in ((made, for_halves(np.multiply)), (expected, np.multiply)):
        source = memory[: stop - start] if shift >= 0 else memory[-shift:]
        multiply(source, memory[start:stop], out=memory[start:stop])
    same(made, expected)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_what_is_few_or_none_or_of_two_dtypes_is_left_alone(dtype, blocks):
    x = every(dtype)
    for each in (x[:0], x[:7], x[: MANY - 1], np.asarray(x[5])):
        same(for_halves(np.multiply)(each, each), np.multiply(each, each))
    assert not blocks
    single = x.astype(np.float32)
    same(for_halves(np.multiply)(x, single), np.multiply(x, single))
    same(for_halves(np.multiply)(single, single), np.multiply(single, single))
    empty = np.empty((0, MANY), dtype)
    same(for_halves(np.multiply)(empty, x[:MANY]), empty * x[:MANY])
    assert not blocks
    assert for_halves(np.absolute) is np.absolute
    assert for_halves(len) is len


def test_several_threads_share_the_blocks():
    from dovetail_cpu import get_num_threads, set_num_threads

    x, y = (shuffled(HALVES[0], seed, 1 << 20).reshape(1 << 10, -1) for seed in (0, 1))
    before = get_num_threads()
    set_num_threads(3)
    try:
        same(for_halves(np.multiply)(x, y), x * y)
        same(for_halves(np.multiply)(x.T, y), x.T * y)
        made = x.copy()
        for_halves(np.add)(made, y, out=made)
        same(made, x + y)
    finally:
        set_num_threads(before)


def test_nobody_is_warned():
    x = shuffled(HALVES[0], 0)
    with np.errstate(all="warn"):
        for size in (x.size, 100):
            for_halves(np.multiply)(x[:size], x[:size])
            for_halves(np.divide)(x[:size], np.zeros_like(x[:size]))
            for_halves(np.sqrt)(x[:size])


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
def test_operators_are_as_in_pytorch(name, dtype, blocks):
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


@pytest.mark.cpu_only(reason="the blocks are those of the cpu")
def test_routes_for_half_precision_compute_in_blocks(blocks):
    dovetail = pytest.importorskip("dovetail")
    x = dovetail.ones(MANY)
    x * x
    assert not blocks
    half = x.half()
    half * half
    assert blocks
    del blocks[:]
    half.rsqrt()
    assert blocks
    del blocks[:]
    half.add_(half)
    assert blocks
