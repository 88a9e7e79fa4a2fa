"""Calls of functions of the Array API that are about shapes, indices, creation and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_calls import ALL, COMPLEX, FLOATS, INTEGERS, XPS, Drawn, Dtype, array, axis
from hypothesis import strategies as st


def along(draw: Any, dtype: str, **options: Any) -> Any:
    return array(draw, dtype, draw(XPS.array_shapes(min_dims=1, max_dims=3, min_side=1)), **options)


def sizes(draw: Any, dtype: str) -> Drawn:
    return (draw(XPS.array_shapes(min_dims=0, min_side=0)),), {"dtype": Dtype(dtype)}


def like(draw: Any, dtype: str) -> Drawn:
    other = draw(st.none() | st.sampled_from(ALL).map(Dtype))
    return (array(draw, dtype),), {"dtype": other}


def full(draw: Any, dtype: str) -> Drawn:
    value = {"b": True, "i": -3, "u": 7, "f": 1.5, "c": 1 + 2j}[np.dtype(dtype).kind]
    named = {"dtype": Dtype(dtype)} if draw(st.booleans()) and dtype not in COMPLEX else {}
    return (draw(XPS.array_shapes(min_dims=0)), value), {**named, "dtype": Dtype(dtype)}


def full_like(draw: Any, dtype: str) -> Drawn:
    value = {"b": True, "i": -3, "u": 7, "f": 1.5, "c": 1 + 2j}[np.dtype(dtype).kind]
    return (array(draw, dtype), value), {}


def ranges(draw: Any, dtype: str) -> Drawn:
    numbers = st.integers(0, 9) if dtype in INTEGERS else st.integers(-9, 9).map(lambda n: n / 2)
    start, stop = draw(numbers), draw(st.none() | numbers)
    step = draw(st.sampled_from([1, 2, 3] if dtype in INTEGERS else [1, 0.5, -0.5, 2]))
    return (start, stop, step), {"dtype": Dtype(dtype)}


def spaced(draw: Any, dtype: str) -> Drawn:
    ends = st.integers(-9, 9)
    named = {"dtype": Dtype(dtype), "endpoint": draw(st.booleans())}
    return (draw(ends), draw(ends), draw(st.integers(0, 6))), named


def eyes(draw: Any, dtype: str) -> Drawn:
    named = {"k": draw(st.integers(-5, 5)), "dtype": Dtype(dtype)}
    return (draw(st.integers(0, 4)), draw(st.none() | st.integers(0, 4))), named


def triangles(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype, draw(XPS.array_shapes(min_dims=2, max_dims=3, min_side=0)))
    return (x,), {"k": draw(st.integers(-3, 3))}


def grids(draw: Any, dtype: str) -> Drawn:
    parts = [array(draw, dtype, (draw(st.integers(0, 3)),)) for _ in range(draw(st.integers(1, 3)))]
    return tuple(parts), {"indexing": draw(st.sampled_from(["xy", "ij"]))}


def broadcast(draw: Any, dtype: str) -> Drawn:
    several = draw(XPS.mutually_broadcastable_shapes(2, max_dims=3, max_side=3))
    return tuple([array(draw, dtype, shape) for shape in several.input_shapes]), {}


def broadcast_to(draw: Any, dtype: str) -> Drawn:
    several = draw(XPS.mutually_broadcastable_shapes(1, max_dims=3, max_side=3, base_shape=(2, 3)))
    return (array(draw, dtype, several.input_shapes[0]), several.result_shape), {}


def joined(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype)
    place = axis(draw, x.ndim)
    count = draw(st.integers(1, 3))
    return ([array(draw, dtype, x.shape) for _ in range(count)],), {"axis": place}


def stacked(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype)
    place = draw(st.integers(-x.ndim - 1, x.ndim))
    return ([x, array(draw, dtype, x.shape)],), {"axis": place}


def expanded(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype)
    return (x,), {"axis": draw(st.integers(-x.ndim - 1, x.ndim))}


def flipped(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype)
    return (x,), {"axis": axis(draw, x.ndim, several=True)}


def moved(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype)
    places = st.integers(-x.ndim, x.ndim - 1)
    return (x, draw(places), draw(places)), {}


def permuted(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype)
    return (x, tuple(draw(st.permutations(range(x.ndim))))), {}


def repeated(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype)
    place = axis(draw, x.ndim)
    count = x.size if place is None else x.shape[place]
    each = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    return (x, np.asarray(each, np.int64) if draw(st.booleans()) else 2), {"axis": place}


def reshaped(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype)
    shape = draw(st.sampled_from([(x.size,), (1, x.size), x.shape[::-1]]))
    if x.size and draw(st.booleans()):
        shape = (-1,)
    return (x, shape), {"copy": draw(st.sampled_from([None, True]))}


def rolled(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype)
    place = axis(draw, x.ndim, several=True)
    one = st.integers(-5, 5)
    shift = tuple([draw(one) for _ in place]) if isinstance(place, tuple) else draw(one)
    return (x, shift), {"axis": place}


def squeezed(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype, draw(XPS.array_shapes(min_dims=1, max_dims=3, max_side=2)))
    places = [number for number, size in enumerate(x.shape) if size == 1]
    if not places:
        x, places = x[None], [0]
    return (x, tuple(draw(st.lists(st.sampled_from(places), unique=True, min_size=1)))), {}


def tiled(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype)
    return (x, tuple(draw(st.lists(st.integers(0, 2), max_size=4)))), {}


def unstacked(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype)
    return (x,), {"axis": axis(draw, x.ndim, none=False)}


def taken(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype)
    place = axis(draw, x.ndim, none=x.ndim == 1)
    size = x.shape[0 if place is None else place]
    kind = draw(st.sampled_from(["int64", "int32", "uint8"]))
    least = -size if kind != "uint8" else 0
    found = draw(st.lists(st.integers(least, size - 1), max_size=4))
    return (x, np.asarray(found, kind)), {"axis": place}


def taken_along(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype)
    place = axis(draw, x.ndim, none=False)
    shape = list(x.shape)
    shape[place] = draw(st.integers(0, 3))
    size, count = x.shape[place], int(np.prod(shape))
    found = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
    return (x, np.asarray(found, np.int64).reshape(shape)), {"axis": place}


def searched(draw: Any, dtype: str) -> Drawn:
    x = np.sort(array(draw, dtype, (draw(st.integers(0, 6)),), special=False))
    named: dict[str, Any] = {"side": draw(st.sampled_from(["left", "right"]))}
    if draw(st.booleans()):
        order = np.asarray(draw(st.permutations(range(len(x)))), np.int64)
        named["sorter"] = np.argsort(order)
        x = x[order]
    return (x, array(draw, dtype, special=False)), named


def chosen(draw: Any, dtype: str) -> Drawn:
    shape = draw(XPS.array_shapes(min_dims=0, max_dims=2))
    second: Any = array(draw, dtype, shape)
    if draw(st.booleans()):
        second = {"b": True, "i": 2, "u": 3, "f": 1.5, "c": 1 - 2j}[np.dtype(dtype).kind]
    return (array(draw, "bool", shape), array(draw, dtype, shape), second), {}


def found_in(draw: Any, dtype: str) -> Drawn:
    named = {"invert": draw(st.booleans())}
    return (array(draw, dtype, special=False), array(draw, dtype, special=False)), named


def nonzero(draw: Any, dtype: str) -> Drawn:
    return (along(draw, dtype),), {}


def ordered(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype, special=dtype not in FLOATS)
    return (x,), {"axis": axis(draw, x.ndim, none=False), "descending": draw(st.booleans())}


def converted(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype, special=False)
    return (x, Dtype(draw(st.sampled_from(ALL if dtype not in COMPLEX else COMPLEX)))), {}


def matrices(draw: Any, dtype: str) -> Drawn:
    shape = draw(
        st.sampled_from([((2, 3), (3, 2)), ((3,), (3,)), ((2, 2, 3), (3, 1)), ((3,), (3, 2))])
    )
    return tuple([array(draw, dtype, each, special=False) for each in shape]), {}


def vectors(draw: Any, dtype: str) -> Drawn:
    shape = draw(st.sampled_from([((2, 3), (3,)), ((3,), (3,)), ((2, 1, 3), (4, 3))]))
    return tuple([array(draw, dtype, each, special=False) for each in shape]), {"axis": -1}


def contracted(draw: Any, dtype: str) -> Drawn:
    axes = draw(st.sampled_from([0, 1, 2, ((1,), (0,)), ((0, -1), (1, 0))]))
    return tuple([array(draw, dtype, (2, 2), special=False) for _ in range(2)]), {"axes": axes}


def many_matrices(draw: Any, dtype: str) -> Drawn:
    shape = draw(st.sampled_from([(2, 3), (3, 3), (2, 3, 2), (2, 2, 2, 2)]))
    return (array(draw, dtype, shape, special=False),), {}


def square(draw: Any, dtype: str) -> Drawn:
    """Return matrices far from singular."""
    shape = draw(st.sampled_from([(1, 1), (3, 3), (2, 2, 2)]))
    x = array(draw, dtype, shape, special=False) + (30 * np.eye(shape[-1])).astype(dtype)
    return (x.astype(dtype),), {}


def hermitian(draw: Any, dtype: str) -> Drawn:
    (x,), _ = square(draw, dtype)
    return ((x + np.conj(np.swapaxes(x, -1, -2))),), {}


def systems(draw: Any, dtype: str) -> Drawn:
    (x,), _ = square(draw, dtype)
    right = draw(st.sampled_from([(*x.shape[:-1], 2), (x.shape[-1],)]))
    return (x, array(draw, dtype, right, special=False)), {}


def powers_of_matrices(draw: Any, dtype: str) -> Drawn:
    (x,), _ = square(draw, dtype)
    return (x, draw(st.integers(-1, 3))), {}


def crossed(draw: Any, dtype: str) -> Drawn:
    return tuple([array(draw, dtype, (2, 3), special=False) for _ in range(2)]), {"axis": -1}


def outer(draw: Any, dtype: str) -> Drawn:
    return tuple([array(draw, dtype, (n,), special=False) for n in (2, 3)]), {}


def normed(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype, special=False)
    named = {"axis": axis(draw, x.ndim, several=True), "keepdims": draw(st.booleans())}
    return (x,), {**named, "ord": draw(st.sampled_from([2, 1, np.inf, -np.inf, 3]))}


def matrix_normed(draw: Any, dtype: str) -> Drawn:
    named = {"ord": draw(st.sampled_from(["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]))}
    return many_matrices(draw, dtype)[0], {**named, "keepdims": draw(st.booleans())}


def transformed(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype, draw(st.sampled_from([(5,), (3, 4), (2, 3, 2)])), special=False)
    named = {"axis": axis(draw, x.ndim, none=False), "n": draw(st.sampled_from([None, 3, 6]))}
    return (x,), {**named, "norm": draw(st.sampled_from(["backward", "ortho", "forward"]))}


def transformed_all(draw: Any, dtype: str) -> Drawn:
    x = array(draw, dtype, draw(st.sampled_from([(5,), (3, 4), (2, 3, 2)])), special=False)
    return (x,), {"norm": draw(st.sampled_from(["backward", "ortho", "forward"]))}


def frequencies(draw: Any, dtype: str) -> Drawn:
    return (draw(st.integers(1, 7)),), {
        "d": draw(st.sampled_from([1.0, 0.5])),
        "dtype": Dtype(dtype),
    }


def shifted_spectra(draw: Any, dtype: str) -> Drawn:
    x = along(draw, dtype)
    return (x,), {"axes": axis(draw, x.ndim, several=True)}
