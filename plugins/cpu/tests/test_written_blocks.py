"""What is written block by block is what the same steps give on new arrays."""

from __future__ import annotations

import gc
import inspect
import math
from weakref import finalize

import numpy as np
import pytest

from dovetail_cpu import blocks, elementary, scratch, threads, written_gelu
from dovetail_cpu.written_activations import OF_HARD_ACTIVATIONS, OF_RECTIFIERS, OF_SIGMOIDS

KERNELS = sorted(
    {*OF_SIGMOIDS, *OF_RECTIFIERS, *OF_HARD_ACTIVATIONS, "threshold_backward"}
    - {"gelu", "gelu_backward", "plain_elu", "elu_backward"}
)
MORE = {
    "leaky_relu_backward": [
        (0.01, False),
        (0.3, True),
        (-0.5, False),
        (math.inf, False),
        (-0.0, 0),
    ],
    "softplus": [(), (2,), (1, 3.0)],
    "softplus_backward": [(1, 20), (2, 20), (1, 3.0)],
    "elu": [(), (1, 1.0, 1), (0.5,), (1.7, 1.05), (1, 1, 0.5)],
    "threshold_backward": [(0,), (0.5,), (-1.0,), (math.inf,)],
    "leaky_relu": [(), (1,), (0.0,), (-2.0,)],
    "hardtanh_backward": [(-1, 1), (-0.5, 2.0)],
}
EDGES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -1e-40, 1.0, -1.0, 3.0, -3.0, 90.0, -90.0]
SIZE = 2 * max(blocks._WHOLE, threads.SHARED_FROM // 2) + 77


def numbers(dtype, seed):
    """Return many numbers, with every edge value in the first block, the last and between."""
    rng = np.random.default_rng(seed)
    made = (rng.standard_normal(SIZE) * 4).astype(dtype)
    for start in (0, blocks._WHOLE - 20, SIZE - 40):
        made[start : start + len(EDGES)] = rng.permutation(EDGES)
    return made


def in_small_parts(function, arrays, *more, **kwargs):
    """Return what a kernel gives for parts so small that they are computed whole."""
    step = 1000
    with np.errstate(all="ignore"):
        return np.concatenate(
            [
                function(*[each[at : at + step] for each in arrays], *more, **kwargs)
                for at in range(0, SIZE, step)
            ]
        )


def same(made, expected, units=4):
    """Compare to some units in the last place, zeros with their signs."""
    limit = units * np.finfo(made.dtype).eps
    np.testing.assert_allclose(made, expected, rtol=limit, atol=1e-44)
    kept = ~np.isnan(expected)
    assert np.array_equal(np.signbit(made)[kept], np.signbit(expected)[kept])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_a_written_kernel_gives_what_the_generic_one_gives(
    name, dtype, kernel, table, generic_table
):
    names = inspect.signature(table.kernels[name].fn).parameters
    arrays = [
        numbers(dtype, seed)
        for seed, each in enumerate(names)
        if each in ("grad_output", "x", "output", "buffer")
    ]
    for more in MORE.get(name, [()]):
        made = kernel(name, *arrays, *more)
        assert made.dtype == dtype
        same(made, in_small_parts(generic_table.kernels[name].fn, arrays, *more))


@pytest.mark.parametrize("more", [(1, 1, 1, False), (1, 1, 1, True), (0.5, 1, 1, False)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_of_elu_gives_what_the_generic_one_gives(dtype, more, kernel, generic_table):
    grad, x = numbers(dtype, 0), numbers(dtype, 1)
    made = kernel("elu_backward", grad, *more, x)
    function = generic_table.kernels["elu_backward"].fn
    same(made, in_small_parts(lambda some, rest: function(some, *more, rest), [grad, x]))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_forms_of_gelu_are_within_their_error(dtype, approximate, kernel, generic_table):
    for name, count, limit in (("gelu", 1, 1.5e-6), ("gelu_backward", 2, 2e-5)):
        arrays = [numbers(dtype, seed) for seed in range(count)]
        made = kernel(name, *arrays, approximate=approximate)
        wide = [each.astype(np.float64) for each in arrays]
        expected = in_small_parts(generic_table.kernels[name].fn, wide, approximate=approximate)
        assert made.dtype == dtype
        if dtype == np.float64:
            limit = 1e-13
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isnan(made), np.isnan(expected))
        np.testing.assert_array_equal(made[~finite], expected[~finite])
        np.testing.assert_allclose(made[finite], expected[finite], limit, limit)


@pytest.mark.parametrize("form", ["F", "gaps", "expanded", "one"])
def test_other_memory_and_mixed_orders_agree(form, kernel):
    x = numbers(np.float32, 1)[: SIZE // 10 * 10].reshape(-1, 10)
    grad = numbers(np.float32, 2)[: x.size].reshape(x.shape)
    given = {
        "F": (np.asfortranarray(grad), np.asfortranarray(x)),
        "gaps": (np.repeat(grad, 2, 1)[:, ::2], x),
        "expanded": (np.broadcast_to(grad[:, :1], x.shape), x),
        "one": (np.array(2, np.float32), x),
    }[form]
    made = kernel("sigmoid_backward", *given)
    with np.errstate(all="ignore"):
        expected = given[0] * (given[1] * (1 - given[1]))
    same(made, expected)
    if form == "F":
        assert made.flags.f_contiguous


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_elementary_functions_agree_at_the_edges(name, fast, monkeypatch):
    monkeypatch.setattr(elementary, "FAST", {name} if fast else set())
    x = numbers(np.float32, 3)
    with np.errstate(all="ignore"):
        made, expected = getattr(elementary, name)(x), getattr(np, name)(x)
    np.testing.assert_allclose(made, expected, rtol=4e-7, atol=0)
    kept = ~np.isnan(expected)
    assert np.array_equal(np.signbit(made)[kept], np.signbit(expected)[kept])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threshold", [0, 0.5, -1.0])
def test_the_gradient_of_relu_on_several_threads(threshold, dtype, kernel):
    grad, x = numbers(dtype, 0), numbers(dtype, 1)
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(2)
        made = kernel("threshold_backward", grad, x, threshold)
    finally:
        threads.set_num_threads(before)
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, np.where(x <= threshold, dtype(0), grad))


def test_the_number_of_threads_does_not_change_a_written_result(kernel):
    x = np.random.default_rng(0).standard_normal(9 * blocks._WHOLE).astype(np.float32)
    before = threads.get_num_threads()
    try:
        made = []
        for number in (1, 3):
            threads.set_num_threads(number)
            made.append(kernel("gelu", x))
    finally:
        threads.set_num_threads(before)
    assert np.array_equal(*made)


@pytest.mark.parametrize("power", ["exp", "exp2"])
def test_gelu_by_either_power_is_within_a_few_units_of_the_exact_one(power, monkeypatch):
    unit = {"exp": 1.0, "exp2": 1 / math.log(2)}[power]
    scale = unit / written_gelu._PER_POWER[np.dtype(np.float32)]
    monkeypatch.setitem(written_gelu._POWER, np.dtype(np.float32), getattr(np, power))
    for name in ("_MINUS_HALF", "_LOGIT"):
        given = getattr(written_gelu, name)
        many = given if isinstance(given, list) else [given]
        scaled = [(each * scale).astype(np.float32) for each in many]
        monkeypatch.setattr(written_gelu, name, scaled if many is given else scaled[0])
    x = np.linspace(-20, 20, 100_001).astype(np.float32)
    made = [np.empty_like(x) for _ in range(4)]
    wide = x.astype(np.float64)
    share = np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in wide.tolist()])
    density = np.exp(-wide * wide / 2) / math.sqrt(2 * math.pi)
    with np.errstate(all="ignore"):
        written_gelu.write_gelu(*made[:3], x)
        assert (np.abs(made[0] - wide * share) <= 2e-7 * np.abs(wide)).all()
        written_gelu.write_gelu_gradient(*made, np.ones_like(x), x)
    assert np.abs(made[0] - (share + wide * density)).max() < 2.5e-7


def test_scratch_memory_begins_with_lines_of_the_cache():
    with scratch.Scratch() as memory:
        starts = [each.ctypes.data for each in memory]
        assert all(start % 64 == 0 for start in starts)
        assert len({start % 4096 for start in starts}) == len(starts)
        assert memory.shape == (scratch.ROOMS, scratch.BLOCK_BYTES)


def test_scratch_memory_is_never_shared_and_is_kept():
    with scratch.Scratch() as first, scratch.Scratch() as second:
        assert not np.shares_memory(first, second)
    with scratch.Scratch() as again:
        assert np.shares_memory(again, first)


def test_a_finalizer_that_computes_meanwhile_changes_nothing(kernel):
    x = np.random.default_rng(0).standard_normal(2 * blocks._WHOLE).astype(np.float32)
    expected = kernel("gelu", x)
    ran = []

    class Cycle:
        def __init__(self):
            self.own = self

    def write(out, room, given):
        room[...] = given
        finalize(Cycle(), lambda: ran.append(kernel("gelu", -x)))
        gc.collect()
        np.copyto(out, room)

    assert np.array_equal(blocks.written(write, 1, (x,), {}), x)
    assert ran
    assert np.array_equal(kernel("gelu", x), expected)
