"""Compiled copies against their references, for arrays of every layout and any arguments."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing
from dovetail_kernel import backend  # noqa: E402

from .compiled_kernels import kernel  # noqa: E402
from .layouts import LAYOUTS, numbers  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the kernels are those of the cpu"),
]

SHAPES = (
    (),
    (1,),
    (5,),
    (0,),
    (2, 3),
    (1, 4),
    (4, 1),
    (3, 1, 2),
    (0, 3),
    (2, 3, 4),
    (2, 5, 5),
    (2, 19),
)
DTYPES = ("f4", "f8", "i8", "u1", "?", "c8", "f2")
TRIALS = 12


def laid(layout: Callable[[Any], Any], shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Return numbers of a dtype in a layout."""
    return np.asarray(layout(np.asarray(numbers(shape, "f4", seed, special=False)).astype(dtype)))


def dims(x: Any, drawn: random.Random) -> tuple[int, ...]:
    count = drawn.randrange(x.ndim + 2)
    return tuple([drawn.randrange(-x.ndim - 1, x.ndim + 1) for _ in range(count)])


def rolled(x: Any, drawn: random.Random) -> list[Any]:
    shift, dim = drawn.randrange(-9, 9), drawn.randrange(-x.ndim - 1, x.ndim + 1)
    return drawn.choice(([shift], [shift, dim], [(shift,), (dim,)], [(shift, 1), (dim, 0)], [()]))


def repeats(x: Any, drawn: random.Random) -> tuple[int, ...]:
    return tuple(
        [drawn.choice((0, 1, 1, 2, 3, -1)) for _ in range(x.ndim + drawn.choice((0, 0, 1, 2, -1)))]
    )


def padding(x: Any, drawn: random.Random) -> list[Any]:
    pads = tuple([drawn.choice((0, 1, 2, -1, -2)) for _ in range(drawn.randrange(2 * x.ndim + 3))])
    value = drawn.choice((0, 0.0, -0.0, 1, 2.5, -3, float("nan"), float("inf"), 1e300, 2j, True))
    return [pads, *drawn.choice(([], [value]))]


def joined(x: Any, drawn: random.Random) -> list[Any]:
    others = [x, x.copy(), x[:1] if x.ndim else x, x.astype("f4"), np.zeros(0, x.dtype), x.T]
    return [drawn.choices(others, k=drawn.randrange(4)), drawn.randrange(-3, 3)]


ARGUMENTS: dict[str, Callable[[Any, random.Random], list[Any]]] = {
    "zero_": lambda x, d: [x],
    "fill_.Scalar": lambda x, d: [
        x,
        d.choice((0, 1, 2.5, -1.0, 1e300, float("nan"), float("inf"))),
    ],
    "copy_": lambda x, d: [
        x,
        d.choice((x, x.astype("c8"), x.astype("f8"), x.reshape(-1)[:1].sum())),
    ],
    "clone": lambda x, d: [x],
    "repeat": lambda x, d: [x, repeats(x, d)],
    "constant_pad_nd": lambda x, d: [x, *padding(x, d)],
    "cat": joined,
    "stack": joined,
    "diag_embed": lambda x, d: [
        x,
        *d.choice(
            ([], [d.randrange(-4, 5)], [0, 0, 1], [1, -2, -1], [-1, -1, -2], [0, 1, 1], [2**62])
        ),
    ],
    "flip": lambda x, d: [x, dims(x, d)],
    "roll": lambda x, d: [x, *rolled(x, d)],
    "where.self": lambda x, d: [
        x.astype("f4") > 0,
        *d.sample([x, x.copy(), x.T if x.ndim < 2 else x], 2),
    ],
    "masked_fill.Scalar": lambda x, d: [x, x.astype("f4") > 0, d.choice((1, 2.5, float("nan")))],
    "tril": lambda x, d: [x, *d.choice(([], [d.randrange(-6, 7)], [2**40], [-(2**40)]))],
    "triu": lambda x, d: [x, *d.choice(([], [d.randrange(-6, 7)], [2**40], [-(2**40)]))],
}


def outcome(call: Callable[..., Any], args: list[Any]) -> Any:
    """Return what a copy is, or its error; `source` is another array or an argument."""
    try:
        made = call(*args)
    except Exception as error:
        return type(error), str(error)
    made = np.asarray(made)
    shares = [isinstance(x, np.ndarray) and np.shares_memory(made, x) for x in args]
    several = zip(made.strides, made.shape, strict=True)
    strides = [step for step, size in several if size > 1] if made.size else []
    return made.shape, made.dtype, strides, made.tobytes(), any(shares)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_copies_are_those_of_the_reference(name: str, layout: str) -> None:
    compiled, drawn = kernel(name), random.Random(f"{name} {layout}")
    fitted = 0
    for number, shape in enumerate(SHAPES):
        for dtype in DTYPES:
            x = laid(LAYOUTS[layout], shape, dtype, number)
            for _ in range(TRIALS):
                args = ARGUMENTS[name](x, drawn)
                found, expected = outcome(compiled, args), outcome(compiled.__wrapped__, args)
                assert found == expected, (shape, dtype, args)
                fitted += len(found) > 2
    assert fitted > 100


OTHER = (dovetail.uint8, dovetail.float64)
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "copy_": lambda x, y: x.copy_(y),
    "copy_ of another dtype": lambda x, y: x.copy_(y.to(OTHER[y.dtype.itemsize < 8])),
    "copy_ of a number": lambda x, y: x.copy_(y.reshape(-1)[:1].reshape(()) if y.numel() else x),
    "zero_": lambda x, y: x.zero_(),
    "fill_": lambda x, y: x.fill_(1),
    "fill_ of its own element": lambda x, y: x.fill_(x.reshape(-1)[-1]) if x.numel() else x,
    "setitem": lambda x, y: x.__setitem__(..., y),
}


WRITABLE = [name for name in LAYOUTS if name not in ("negative steps", "overlapping")]


@pytest.mark.parametrize("layout", WRITABLE)
@pytest.mark.parametrize("name", WRITES)
def test_writes_are_those_of_numpy(name: str, layout: str) -> None:
    for number, shape in enumerate(SHAPES):
        for dtype in DTYPES:
            written = []
            for lay in (LAYOUTS[layout], np.array):
                x = laid(lay, shape, dtype, number)
                if not x.flags.writeable:
                    continue
                x = dovetail.from_numpy(x)
                y = dovetail.from_numpy(np.arange(x.numel()).astype(dtype).reshape(shape))
                WRITES[name](x, y)
                written.append(x.numpy().copy())
            for each in written[1:]:
                np.testing.assert_array_equal(written[0], each)


def test_large_arrays_are_filled_to_the_end() -> None:
    for length in (1, 7, 4096, 4097, 100_003):
        for dtype in (dovetail.float32, dovetail.int64, dovetail.uint8, dovetail.complex64):
            x = dovetail.zeros(length, dtype=dtype)
            assert (x.fill_(3).numpy() == 3).all()
            assert (x[1:].zero_().numpy() == 0).all()
            assert x[0] == 3


def test_memory_that_takes_no_writes_is_left_as_it_is() -> None:
    x = dovetail.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.copy_(dovetail.zeros(3))
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_contiguous_array_is_itself_or_a_copy_in_c_order(layout: str) -> None:
    contiguous = backend("cpu").arrays.contiguous
    assert isinstance(contiguous, core.CompiledKernel)
    for number, shape in enumerate((*SHAPES, (70, 80), (3, 65, 40))):
        for dtype in DTYPES:
            x = laid(LAYOUTS[layout], shape, dtype, number)
            for each in (x, x.T):
                made = contiguous(each)
                assert made.flags.c_contiguous
                assert (made is each) == each.flags.c_contiguous
                np.testing.assert_array_equal(made, each)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_casts_are_those_of_the_reference_and_warn_of_nothing(layout: str) -> None:
    cast = kernel("_to_copy")
    for number, shape in enumerate(SHAPES):
        for dtype in ("f4", "f8", "i8", "u1", "?", "c8", "c16"):
            with np.errstate(all="ignore"):
                special = numbers(shape, "f8", number, special=True).astype(dtype)
            x = np.asarray(LAYOUTS[layout](np.asarray(special)))
            for wanted in map(np.dtype, ("f4", "f8", "i8", "i4", "u1", "?", "c8", "c16")):
                made = cast(x, dtype=wanted)  # a warning is an error
                with np.errstate(all="ignore"):
                    expected = cast.__wrapped__(x, dtype=wanted)
                np.testing.assert_array_equal(made, expected)
                assert made.dtype == wanted
                assert made.flags.c_contiguous == expected.flags.c_contiguous


@pytest.mark.parametrize("dtype", ("?", "u1", "i2", "f2", "f4", "i8", "c8", "c16"))
def test_elements_of_equal_and_of_other_bytes_fill_an_array(dtype: str) -> None:
    for value in (0, 1, -1, 3):
        if value < 0 and dtype in ("?", "u1"):
            continue
        for size in (1, 2, 31, 5000):
            room = np.full(size + 2, 2).astype(dtype)
            x = dovetail.from_numpy(room)[1:-1]
            x.fill_(value)
            expected = np.full(size + 2, 2).astype(dtype)
            expected[1:-1] = value
            np.testing.assert_array_equal(room, expected)
