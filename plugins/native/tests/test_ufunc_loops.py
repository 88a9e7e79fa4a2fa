"""Loops of ufuncs called directly: bits, errors and warnings of NumPy's own call, in the order in
memory of the reference.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from threading import Thread
from typing import Any

import numpy as np
import pytest

from dovetail_cpu import CpuArrays

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

UFUNCS = sorted(
    {
        ufunc
        for ufunc in vars(np).values()
        if isinstance(ufunc, np.ufunc)
        and ufunc.signature is None
        and ufunc.nout == 1
        and ufunc.nin <= 2
    },
    key=lambda ufunc: ufunc.__name__,
)
DTYPES = ("?", "b", "H", "i", "l", "q", "e", "f", "d", "g", "F", "D")
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, np.inf, -np.inf, np.nan, 1e30, -1e-30, 1e-40)

Layout = Callable[[np.random.Generator, str], tuple[np.ndarray, ...]]


def values(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return numbers of all kinds that the dtype has."""
    found = random.normal(size=shape) * 3
    if np.dtype(dtype).kind in "fc":
        found = np.where(random.random(shape) < 0.3, random.choice(SPECIAL, shape), found)
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind == "c":
            return (found + 1j * random.normal(size=shape)).astype(dtype)
        return np.abs(found).astype(dtype) if np.dtype(dtype).kind == "u" else found.astype(dtype)


def pair(first: tuple[int, ...], second: tuple[int, ...]) -> Layout:
    return lambda random, dtype: (values(random, first, dtype), values(random, second, dtype))


def changed(layout: Layout, *changes: Callable[[np.ndarray], np.ndarray]) -> Layout:
    def arrays(random: np.random.Generator, dtype: str) -> tuple[np.ndarray, ...]:
        return tuple(
            [change(each) for change, each in zip(changes, layout(random, dtype), strict=True)]
        )

    return arrays


def unaligned(array: np.ndarray) -> np.ndarray:
    room = np.empty(array.nbytes + 1, np.uint8)
    made = room[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def same(array: np.ndarray) -> np.ndarray:
    return array


LAYOUTS: dict[str, Layout] = {
    "dense": pair((3, 5), (3, 5)),
    "one long row": pair((1031,), (1031,)),
    "single element and many": pair((), (4, 3)),
    "many and a single element": pair((4, 3), ()),
    "single elements": pair((), ()),
    "one element with dimensions": pair((1, 1), (1,)),
    "rows": pair((4, 17), (17,)),
    "columns": pair((4, 17), (4, 1)),
    "outer": pair((5, 1), (1, 7)),
    "many short rows": pair((300, 3), (3,)),
    "rows that share an operand": pair((9, 1, 11), (70, 11)),
    "rows of channels": pair((3, 1, 9), (3, 300, 9)),
    "elements of channels": pair((300, 1), (3, 300, 7)),
    "rows with gaps": changed(pair((9,), (300, 20)), same, lambda a: a[:, :9]),
    "single element and a long row": pair((), (200,)),
    "long row and a single element": pair((200,), ()),
    "no elements": pair((0, 3), (3,)),
    "four dimensions": pair((2, 3, 4, 5), (3, 1, 5)),
    "nine dimensions": pair((1, 2, 1, 2, 1, 2, 1, 2, 1), (2,)),
    "Fortran's order": changed(pair((5, 3), (5, 3)), np.asfortranarray, np.asfortranarray),
    "one in Fortran's order": changed(pair((5, 3), (5, 3)), np.asfortranarray, same),
    "transposed": changed(pair((2, 3, 4), (2, 3, 4)), np.transpose, np.transpose),
    "swapped axes": changed(
        pair((2, 3, 4), (2, 3, 4)), lambda a: a.swapaxes(0, 1), lambda a: a.swapaxes(0, 1)
    ),
    "gaps": changed(pair((6, 8), (3, 4)), lambda a: a[::2, ::2], same),
    "reversed": changed(pair((6, 5), (6, 5)), lambda a: a[::-1], same),
    "expanded": changed(pair((1, 4), (3, 4)), lambda a: np.broadcast_to(a, (3, 4)), same),
    "unaligned": changed(pair((3, 4), (3, 4)), unaligned, same),
    "other byte order": changed(
        pair((3, 4), (3, 4)), lambda a: a.astype(a.dtype.newbyteorder()), same
    ),
    "do not broadcast": pair((3, 4), (3, 5)),
}


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result, or the class and words of the error."""
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def check_same(found: Any, expected: Any) -> None:
    if not isinstance(expected, np.ndarray | np.generic):
        assert found == expected
        return
    assert type(found) is type(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if isinstance(expected, np.ndarray):
        moving = [axis for axis, size in enumerate(expected.shape) if size > 1]
        strides = [[each.strides[axis] for axis in moving] for each in (found, expected)]
        assert strides[0] == strides[1]
    # Of sixteen bytes ten are used; which zero is the greater half depends on the instructions.
    if expected.dtype.char in "gGe":
        np.testing.assert_array_equal(found, expected)
    else:
        assert found.tobytes() == expected.tobytes()


@cache
def operands(layout: str) -> list[tuple[np.ndarray, ...]]:
    random = np.random.default_rng(17)
    return [LAYOUTS[layout](random, dtype) for dtype in DTYPES]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_results_are_numpys(ufunc: np.ufunc, layout: str) -> None:
    loop, reference = core.UfuncLoop(ufunc), CpuArrays().in_order(ufunc)
    with np.errstate(all="ignore"):
        for given in operands(layout):
            arrays = given[: ufunc.nin]
            check_same(outcome(loop, *arrays), outcome(reference, *arrays))


ROOMS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    np.zeros_like,
    lambda plain: np.zeros((*plain.shape, 2), plain.dtype)[..., 0],
    lambda plain: np.zeros(plain.shape[::-1], plain.dtype).T,
    lambda plain: np.zeros(plain.shape, plain.dtype)[::-1] if plain.ndim else plain.copy(),
)
"""Make outputs of several layouts."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ufunc", [np.add, np.power, np.less, np.maximum, np.exp, np.isnan])
def test_results_written_into_out_are_numpys(ufunc: np.ufunc, layout: str) -> None:
    loop = core.UfuncLoop(ufunc)
    with np.errstate(all="ignore"):
        for given in operands(layout):
            arrays = given[: ufunc.nin]
            plain = outcome(ufunc, *arrays)
            for room in ROOMS if isinstance(plain, np.ndarray) else ():
                expected, found = room(plain), room(plain)
                assert ufunc(*arrays, out=expected) is expected
                assert loop(*arrays, out=found) is found
                check_same(found, expected)


def overlapping(array: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield operands and outputs in the same memory."""
    yield array[:8], array[8:16], array[:8]
    yield array[:8], array[:8], array[:8]
    yield array[:8], array[8:16], array[1:9]
    yield array[1:9], array[:8], array[:8]
    yield array[:16:2], array[1:17:2], array[:8]
    yield array[:8], array[8:16], array[7::-1]
    yield array[3:4], array[8:16], array[:8]
    yield array[:9].reshape(3, 3), array[:9].reshape(3, 3).T, array[:9].reshape(3, 3)


@pytest.mark.parametrize("case", range(8))
@pytest.mark.parametrize("ufunc", [np.add, np.power, np.maximum])
def test_output_may_overlap_operands(ufunc: np.ufunc, case: int) -> None:
    made = []
    for function in (ufunc, core.UfuncLoop(ufunc)):
        array = np.linspace(1, 2, 20)
        a, b, out = list(overlapping(array))[case]
        function(a, b, out=out)
        made.append(array.tobytes())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((np.ones(3), 2), {}),
        ((np.ones(3), np.ones(3, "f")), {}),
        ((np.ones(3), [1, 2, 3]), {}),
        ((np.ones(3), np.float32(2)), {}),
        ((np.ones(3), np.ones(3)), {"dtype": "f"}),
        ((np.ones(3), np.ones(3)), {"where": np.array([True, False, True]), "out": np.zeros(3)}),
        ((np.ones(3), np.ones(3)), {"out": np.zeros(3, "f")}),
        ((np.ones(3), np.ones(3)), {"out": (np.zeros(3),)}),
        ((np.ones(3), np.ones(3)), {"out": None}),
        ((np.ones(3),), {}),
        ((), {}),
        ((np.ones(3), np.ones(3), np.zeros(3), 1), {}),
        ((np.ones(3), np.ones(3)), {"out": np.zeros(4)}),
        ((np.ones(3), np.ones(3)), {"out": np.broadcast_to(np.zeros(1), 3)}),
        ((np.ones(3), np.ones(3)), {"outt": np.zeros(3)}),
        ((np.ma.masked_array([1.0, 2.0]), np.ones(2)), {}),
        ((np.array([1, 2], object), np.array([1, 2], object)), {}),
        ((np.array(["a"]), np.array(["b"])), {}),
        ((np.array(["2020-01-01"], "M8[D]"), np.array([1], "m8[D]")), {}),
    ],
)
def test_other_calls_are_the_ufuncs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    found = outcome(core.UfuncLoop(np.add), *args, **kwargs)
    expected = outcome(np.add, *args, **kwargs)
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)


def test_error_in_a_loop_is_raised() -> None:
    power = core.UfuncLoop(np.power)
    for size in (3, 5000):
        with pytest.raises(ValueError, match="negative integer powers"):
            power(np.full(size, 2), np.full(size, -1))


def test_no_call_warns_or_heeds_the_error_state() -> None:
    divide = core.UfuncLoop(np.divide)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        assert np.isinf(divide(np.ones(3), np.zeros(3))).all()
        assert np.divide(np.ones(2), np.full(2, 2.0)).tolist() == [0.5, 0.5]  # no flag is left


def test_large_calls_run_side_by_side() -> None:
    add, x = core.UfuncLoop(np.add), np.arange(200_000.0)
    found: list[bool] = []
    threads = [
        Thread(target=lambda: found.append(all((add(x, x) == 2 * x).all() for _ in range(20))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_loop_shows_its_ufunc() -> None:
    loop = core.UfuncLoop(np.multiply)
    assert loop.__wrapped__ is np.multiply
    assert loop.__name__ == "multiply"
    assert repr(loop) == "<loop of <ufunc 'multiply'>>"


@pytest.mark.parametrize("wrong", [len, np.matmul, np.divmod, np.modf, None])
def test_only_elementwise_ufuncs_have_loops(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="UfuncLoop"):
        core.UfuncLoop(wrong)


def test_dispatched_arithmetic_runs_loops() -> None:
    from dovetail_native.ufunc_loops import compiled_kernel

    assert isinstance(compiled_kernel(np.add), core.UfuncLoop)
    assert compiled_kernel(np.add) is compiled_kernel(np.add)
    assert compiled_kernel(np.matmul) is np.matmul
    assert compiled_kernel(np.sum) is np.sum
    private = np.frompyfunc(lambda x: x, 1, 1)
    assert compiled_kernel(private) is private
