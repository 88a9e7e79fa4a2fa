"""Compiled views against their references, for arrays of every layout and any arguments."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing
from dovetail_dispatcher.table import registry  # noqa: E402
from dovetail_kernel import backend, backend_key  # noqa: E402

from .layouts import LAYOUTS, numbers  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the kernels are those of the cpu"),
]

SHAPES = ((), (1,), (5,), (0,), (2, 3), (1, 4), (3, 1, 2), (0, 3), (2, 3, 4), (1, 1), (2, 1, 1, 2))
TRIALS = 40


def integer(drawn: random.Random, ndim: int) -> Any:
    return drawn.choice([*range(-ndim - 2, ndim + 3), True, None, 2.0, 2**70])


def end(drawn: random.Random, ndim: int) -> Any:
    return drawn.choice([None, 0, 1, 2, 3, 7, -1, -2, -9, sys.maxsize, -sys.maxsize - 1, 2**70])


def order(drawn: random.Random, ndim: int) -> Any:
    dims = [drawn.choice((d, d - ndim)) for d in drawn.sample(range(ndim), ndim)]
    if drawn.random() < 0.3:
        dims.insert(0, drawn.randrange(-3, 4))
    return drawn.choice((tuple, tuple, list))(dims)


def sizes(x: Any, drawn: random.Random) -> Any:
    rest, made = x.size, []
    for size in (1, 2, 3, 4, 5):
        if rest and rest % size == 0 and drawn.random() < 0.6:
            made.append(size)
            rest //= size
    made.append(rest)
    drawn.shuffle(made)
    if drawn.random() < 0.5:
        made[drawn.randrange(len(made))] = drawn.choice((-1, -1, -2, 0, 3))
    return tuple(drawn.choice((made, x.shape, (*x.shape, 1), ())))


def expanded(x: Any, drawn: random.Random) -> tuple[int, ...]:
    made = [
        drawn.choice((size, size, -1, 3)) if size != 1 else drawn.choice((1, 2, -1, 0))
        for size in x.shape
    ]
    made[:0] = drawn.choice(([], [], [1], [2, 3], [-1]))
    return tuple(made if drawn.random() < 0.9 else made[1:])


def pieces(x: Any, drawn: random.Random) -> tuple[int, ...]:
    size = x.shape[0] if x.ndim and drawn.random() < 0.8 else 3
    first = drawn.randrange(size + 1)
    return drawn.choice(((first, size - first), (size,), (0, size, 0), (first, -1), ()))


def diagonal(x: Any, drawn: random.Random) -> list[Any]:
    offset = drawn.choice((0, 0, 1, -1, 2, -2, 9, -9, 2**70))
    given = [offset, integer(drawn, x.ndim), integer(drawn, x.ndim)]
    return given[: drawn.randrange(4)]


def strided(drawn: random.Random) -> list[Any]:
    ndim = drawn.randrange(4)
    size = [drawn.choice((1, 1, 2, 3, 0, -1, 2**40)) for _ in range(ndim)]
    stride = [drawn.choice((0, 1, 1, 2, 5, -1, 2**61)) for _ in range(ndim)]
    offset = drawn.choice(([], [None], [0], [1], [3], [-1], [2**70]))
    return [size, stride if drawn.random() < 0.95 else stride[1:], *offset]


ARGUMENTS: dict[str, Callable[[Any, random.Random], tuple[list[Any], dict[str, Any]]]] = {
    "alias": lambda x, d: ([], {}),
    "detach": lambda x, d: ([], {}),
    "view": lambda x, d: ([sizes(x, d)], {}),
    "_unsafe_view": lambda x, d: ([sizes(x, d)], {}),
    "view_as_complex": lambda x, d: ([], {}),
    "t": lambda x, d: ([], {}),
    "transpose.int": lambda x, d: ([integer(d, x.ndim), integer(d, x.ndim)], {}),
    "permute": lambda x, d: ([order(d, x.ndim)], {}),
    "select.int": lambda x, d: ([integer(d, x.ndim), integer(d, 3)], {}),
    "slice.Tensor": lambda x, d: (
        [],
        {
            name: value
            for name, value in (
                ("dim", d.choice((0, 0, 1, -1, 5))),
                ("start", end(d, 1)),
                ("end", end(d, 1)),
                ("step", d.choice((1, 1, 2, 3, 100, 0, -1))),
            )
            if d.random() < 0.8
        },
    ),
    "unsqueeze": lambda x, d: ([integer(d, x.ndim)], {}),
    "squeeze": lambda x, d: ([], {}),
    "squeeze.dim": lambda x, d: ([integer(d, x.ndim)], {}),
    "expand": lambda x, d: ([expanded(x, d)], {}),
    "diagonal": lambda x, d: (diagonal(x, d), {}),
    "as_strided": lambda x, d: (strided(d), {}),
    "unbind.int": lambda x, d: ([integer(d, x.ndim)], {}),
    "split.Tensor": lambda x, d: ([d.randrange(-1, 5), integer(d, x.ndim)], {}),
    "split_with_sizes": lambda x, d: ([pieces(x, d), d.randrange(-2, 3)], {}),
}
LISTS = ("unbind.int", "split.Tensor", "split_with_sizes")


def kernel(name: str) -> Any:
    """Return the kernel of an operator on the cpu, which is compiled."""
    dovetail.ones(1)
    name, _, overload = name.partition(".")
    found = registry.find(f"aten::{name}", overload).newest(backend_key("Dense", backend("cpu")))
    assert isinstance(found.fn, core.CompiledKernel)
    return found.fn


def seen(call: Callable[..., Any], x: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        made = call(x, *args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    if isinstance(made, list):
        return "list", len(made), [described(each, x) for each in made]
    return described(made, x)


def described(made: Any, x: Any) -> Any:
    flags = made.flags
    return (
        type(made),
        made.dtype,
        made.shape,
        [step for step, size in zip(made.strides, made.shape, strict=True) if size > 1],
        made.__array_interface__["data"][0] if made.size else None,
        (flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned, flags.owndata),
        owner(made) is owner(x) or made.size == 0,
    )


def owner(array: Any) -> Any:
    """Return the array whose memory it is, behind what `as_strided` puts between."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


WITHOUT_PAIRS = ("Fortran's order", "negative steps", "gaps", "one element")
"""Layouts in which no two elements of a row lie side by side, in order."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_views_are_those_of_the_reference(name: str, layout: str) -> None:
    compiled, drawn = kernel(name), random.Random(f"{name} {layout}")
    fitted = 0
    for number, shape in enumerate(SHAPES):
        x = np.asarray(LAYOUTS[layout](numbers(shape, "f4", number, special=False)))
        if number % 3 == 2:
            x.setflags(write=False)
        for _ in range(TRIALS):
            args, kwargs = ARGUMENTS[name](x, drawn)
            found = seen(compiled, x, args, kwargs)
            assert found == seen(compiled.__wrapped__, x, args, kwargs), (shape, args, kwargs)
            fitted += len(found) > 2
    assert fitted > 20 or (name == "view_as_complex" and layout in WITHOUT_PAIRS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_views_hold_the_memory_and_nothing_else(name: str) -> None:
    compiled, drawn = kernel(name), random.Random(name)
    x = np.ones((2, 1, 2) if name not in ("t",) else (2, 2), "f4")
    calls = [ARGUMENTS[name](x, drawn) for _ in range(200)]
    before = sys.getrefcount(x), sys.getrefcount(x.dtype)
    for args, kwargs in calls:
        seen(compiled, x, args, kwargs)
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(x.dtype)
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 100


def test_a_view_of_a_view_has_the_owner_for_base() -> None:
    x = np.arange(24.0).reshape(2, 3, 4).copy()
    first = kernel("select.int")(x, 0, 1)
    second = kernel("slice.Tensor")(first, 1, start=1)
    assert first.base is second.base is x
    second[...] = 0
    assert x[1, :, 1:].sum() == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_windows_are_those_of_numpy(layout: str) -> None:
    compiled, drawn, fitted = kernel("unfold"), random.Random(layout), 0
    for number, shape in enumerate(SHAPES):
        x = np.asarray(LAYOUTS[layout](numbers(shape, "f4", number, special=False)))
        for _ in range(TRIALS):
            dim = drawn.randrange(-x.ndim - 1, x.ndim + 1)
            size, step = drawn.randrange(-1, 5), drawn.randrange(-1, 4)
            found = seen(compiled, x, [dim, size, step], {})
            if len(found) == 2 or not x.ndim or not x.size:
                assert found[:2] == seen(compiled.__wrapped__, x, [dim, size, step], {})[:2]
                continue
            windows = np.lib.stride_tricks.sliding_window_view(x, size, dim) if size else None
            made = compiled(x, dim, size, step)
            assert made.base is x or made.base is x.base
            if windows is not None:
                picked = np.moveaxis(np.moveaxis(windows, dim % x.ndim, 0)[::step], 0, dim % x.ndim)
                np.testing.assert_array_equal(made, picked)
                fitted += 1
    assert fitted > 10


LISTS_OF_VIEWS: dict[str, Callable[[Any], Any]] = {
    "chunk": lambda x: x.chunk(2),
    "split": lambda x: x.split(3),
    "split_with_sizes": lambda x: x.split([1, 3]),
    "unbind": lambda x: x.unbind(0),
}


@pytest.mark.parametrize("name", LISTS_OF_VIEWS)
def test_each_view_of_a_list_knows_its_base_and_takes_no_write(name: str) -> None:
    x = dovetail.ones(4, 2, requires_grad=True) * 2
    pieces = LISTS_OF_VIEWS[name](x)
    assert len(pieces) >= 2
    for piece in pieces:
        for view in (piece, piece[:1], piece.view(-1)):
            assert view._is_view()
            assert view._base is x
            assert view._version == x._version
            with pytest.raises(RuntimeError, match="multiple"):
                view.mul_(2)
    for piece in LISTS_OF_VIEWS[name](x.view(4, 1, 2)):
        assert piece._base is x


@pytest.mark.parametrize("name", LISTS_OF_VIEWS)
def test_each_view_of_a_list_of_constants_shows_what_is_written(name: str) -> None:
    x = dovetail.zeros(4, 2)
    for number, piece in enumerate(LISTS_OF_VIEWS[name](x)):
        piece.fill_(number + 1)
        assert x._version == piece._version == number + 1
    assert (x > 0).all()


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_pairs_that_begin_between_pairs_are_refused(dtype):
    compiled = kernel("view_as_complex")
    numbers = np.ones(12, dtype)
    assert compiled(numbers[2:].reshape(5, 2)).shape == (5,)
    for given in (numbers[1:9].reshape(4, 2), numbers.reshape(4, 3)[:, :2]):
        with pytest.raises(RuntimeError, match="divisible by 2"):
            compiled(given)
