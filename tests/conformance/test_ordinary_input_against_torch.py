"""Numbers, sequences and dtypes of NumPy and Python as arguments, beside PyTorch's."""

from __future__ import annotations

import itertools
from math import nan
from typing import Any

import numpy as np
import pytest
import torch
from same_programs import Programs, assert_same, plain, tried

import dovetail

PROGRAMS = Programs()

ASSIGNED = [np.int64(3), np.uint8(3), np.int8(-1), np.bool_(True), np.float32(1), np.float64(2)]
INDICES = [
    np.array([0, 1], np.int8),
    np.array([0, 2], np.uint64),
    np.array(1, np.int16),
    np.array([[0], [1]], np.int32),
    np.array([]),
    np.zeros((0, 2)),
    np.array([], bool),
    np.array([True, False, True, True]),
]


class Numbers:
    """A sequence by its two methods alone."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> float:
        if place >= 3:
            raise IndexError(place)
        return place / 2


@PROGRAMS("numbers of NumPy are assigned")
def _(t: Any) -> Any:
    def assigned(value: Any, key: Any) -> Any:
        x = t.zeros(3)
        x[key] = value
        return x

    keys = (0, slice(0, 2), [0, 2])
    return [
        tried(lambda value=value, key=key: assigned(value, key), words=20)
        for value in [*ASSIGNED, np.array(3), np.array([3])]
        for key in keys
    ]


@PROGRAMS("arrays of any integers are indices")
def _(t: Any) -> Any:
    def written(index: Any) -> Any:
        x = t.zeros(4)
        x[index] = 5
        return x

    return [
        (
            tried(lambda index=index: t.arange(4.0)[index], words=20),
            tried(lambda index=index: t.arange(8.0).reshape(2, 4)[:, index].shape, words=20),
            tried(lambda index=index: written(index), words=20),
        )
        for index in INDICES
    ]


@PROGRAMS("sequences of many kinds become tensors")
def _(t: Any) -> Any:
    def made(data: Any) -> Any:
        tensor = t.tensor(data)
        return str(tensor.dtype).rpartition(".")[2], tensor.tolist()

    return [
        tried(lambda data=data: made(data), words=20)
        for data in (
            Numbers(),
            [Numbers(), Numbers()],
            [np.float32(1), 2],
            [np.float64(1), np.float32(2)],
            [np.int8(1), np.uint8(2)],
            [np.float16(1), True],
            [np.complex64(1), 2.0],
            [np.ones(2, np.float32), np.zeros(2, np.float32)],
            [t.tensor(1.0), t.tensor(2)],
            range(3),
            bytearray(b"abc"),
            {1: 2},
            {1, 2},
            ["a"],
        )
    ]


@PROGRAMS("Python's classes of numbers are dtypes")
def _(t: Any) -> Any:
    x = t.ones(3)
    return plain(
        [
            x.sum(dtype=int),
            x.mean(dtype=float),
            x.cumsum(0, dtype=float),
            x.new_zeros(2, dtype=bool),
            t.nn.functional.softmax(x, 0, dtype=float),
            t.nn.Linear(2, 2).to(float).weight.dtype,
            t.promote_types(int, float),
            t.can_cast(int, t.float32),
            t.can_cast(float, t.int64),
            t.finfo(float).eps,
            t.finfo(complex).dtype,
            t.iinfo(int).max,
            x.view(t.int32).to(complex).dtype,
        ]
    )


@PROGRAMS("sizes are containers of a tree")
def _(t: Any) -> Any:
    from importlib import import_module

    tree = import_module(f"{t.__name__}.utils._pytree")
    leaves, spec = tree.tree_flatten([t.Size([1, 2]), 3])
    back = tree.tree_unflatten(leaves, spec)
    return [leaves, type(back[0]).__name__, tuple(back[0])]


@PROGRAMS("tolerances may be tensors")
def _(t: Any) -> Any:
    def close(tolerance: float) -> str:
        limit = t.tensor(tolerance)
        return tried(
            lambda: t.testing.assert_close(t.ones(2), t.ones(2) + 1e-3, rtol=limit, atol=limit),
            words=0,
        )

    return [close(1e-2), close(1e-5)]


@PROGRAMS("a copy by NumPy keeps the order")
def _(t: Any) -> Any:
    return [
        np.array(t.ones(3, 4).T.cpu(), copy=True).flags.f_contiguous,
        np.array(t.ones(3, 4).T.cpu(), dtype=np.float64).flags.f_contiguous,
        np.array(t.ones(3, 4).cpu()).flags.c_contiguous,
    ]


SIZES = dict(zip("abcdijk", (2, 3, 4, 5, 6, 7, 8), strict=True))
EQUATIONS = [
    f"{left}->{''.join(result)}"
    for left, labels in (
        ("ij,jk", "ik"),
        ("aij,ajk", "aik"),
        ("ijk,kb", "ijb"),
        ("abij,abkj", "abik"),
    )
    for result in itertools.permutations(labels)
] + ["i,j->ji", "ij,j->ji", "ij->ji", "ab,cd->dcba", "ijk,jk->ki", "ij,ij,ij->ji"]


@PROGRAMS("einsum lays its result out")
def _(t: Any) -> Any:
    return [
        (
            equation,
            t.einsum(
                equation,
                *[
                    t.ones([SIZES[label] for label in term])
                    for term in equation.partition("->")[0].split(",")
                ],
            ).stride(),
        )
        for equation in EQUATIONS
    ]


@PROGRAMS("lists of empty arrays")
def _(lib: Any) -> Any:
    seen = []
    for shape in ((0,), (0, 3), (2, 0), (2, 0, 3)):
        for kind, count in itertools.product(("f8", "i4", "?", "c8"), (1, 3)):
            data = [np.empty(shape, kind)] * count
            for dtype in (None, lib.int64, lib.float16):
                made = lib.tensor(data, dtype=dtype)
                seen.append((tuple(made.shape), str(made.dtype).rpartition(".")[2]))
    return seen


@PROGRAMS("lists of arrays")
def _(t: Any) -> Any:
    results = []
    for dtype in (np.float32, np.float64, np.int8, np.int32, bool, np.complex64, np.float16):
        for order in "CF":
            part = np.asarray(np.arange(6).reshape(2, 3).astype(dtype), order=order)
            made = t.tensor([part, part])
            results += [made.stride(), t.tensor([part, part], dtype=made.dtype), made]
    source = np.ones(2)
    t.tensor([source, source]).add_(1)
    return [
        *plain(results),
        source.tolist(),
        plain(t.tensor([np.ones(2, np.float32), np.ones(2)])),
        plain(t.tensor([np.ones(2), [3, 4]])),
        tried(lambda: t.tensor([np.ones(2), np.ones(3)])),
        plain(t.tensor([np.ones(2) * 2.7, np.ones(2)], dtype=t.float32)),
        tried(lambda: t.tensor([np.ones(2) * 300, np.ones(2)], dtype=t.uint8)),
    ]


@PROGRAMS("split by the names of the function and of the method")
def _(t: Any) -> Any:
    x = t.arange(4)
    results = [
        t.split(x, split_size_or_sections=2),
        t.split(tensor=x, split_size_or_sections=[1, 3], dim=0),
        x.split(split_size=3),
    ]
    return plain(results)


@PROGRAMS("segments reduced by PyTorch's names and by its names of old")
def _(t: Any) -> Any:
    lengths = t.tensor([2, 1, 1])
    results = [
        tried(lambda reduce=reduce: t.segment_reduce(t.arange(4.0), reduce, lengths=lengths))
        for reduce in ("amax", "amin", "max", "min", "sum", "mean", "prod")
    ]
    return plain(results)


@PROGRAMS("gradients of segments with NaN")
def _(t: Any) -> Any:
    x = t.tensor([[1.0, nan, nan, 0.0, 2.0, nan, 3.0], [nan, 0.0, 2.0, 2.0, nan, nan, nan]])
    found = []
    for reduce in ("amax", "amin", "prod", "sum", "mean"):
        leaf = x.clone().requires_grad_()
        made = t.segment_reduce(leaf, reduce, lengths=t.tensor([[3, 2, 2]] * 2), axis=1)
        made.sum().backward()
        found += [each.nan_to_num(nan=-9.0) for each in (made.detach(), leaf.grad)]
    return plain(found)


@PROGRAMS("Python's types for dtypes, and numbers of tensors")
def _(t: Any) -> Any:
    x = t.ones(2)
    results = [
        *[tried(lambda kind=kind: x.type(kind), words=16) for kind in (float, int, bool)],
        x.to(float),
        t.empty(0).data_ptr(),
        t.ones(3)[3:].data_ptr(),
        x.data_ptr() == 0,
        t.ones(1).__long__(),
        t.zeros(1).__nonzero__(),
        tried(x.__nonzero__),
        tried(x.__long__),
    ]
    return plain(results)


@PROGRAMS("functions that are gone")
def _(t: Any) -> Any:
    x = t.eye(2)
    results = [
        *[
            tried(lambda name=name: getattr(t, name)(x, x))
            for name in ("eig", "lstsq", "matrix_rank", "solve", "symeig")
        ],
        *[
            tried(lambda name=name: getattr(x, name)(x))
            for name in ("eig", "lstsq", "solve", "symeig")
        ],
    ]
    return plain(results)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy.ndarrays")
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_programs_do_the_same(name: str) -> None:
    assert_same(PROGRAMS[name])


LAYOUTS = {
    "C": lambda t: t.arange(120.0).reshape(4, 5, 3, 2),
    "reversed": lambda t: t.arange(120.0).reshape(2, 3, 5, 4).permute(3, 2, 1, 0),
    "permuted": lambda t: t.arange(120.0).reshape(5, 4, 3, 2).permute(1, 0, 2, 3),
    "channels last": lambda t: (
        t.arange(120.0).reshape(4, 5, 3, 2).to(memory_format=t.channels_last)
    ),
    "with gaps": lambda t: t.arange(240.0).reshape(4, 5, 3, 4)[..., ::2],
    "expanded": lambda t: t.arange(20.0).reshape(4, 5, 1, 1).expand(4, 5, 3, 2),
}
ITEMS = {
    "all": lambda t, sizes: slice(None),
    "one": lambda t, sizes: 1,
    "some": lambda t, sizes: slice(0, 3, 2),
    "vector": lambda t, sizes: t.tensor([0, 1]),
    "column": lambda t, sizes: t.tensor([[0], [1]]),
    "transposed": lambda t, sizes: t.tensor([[0, 1], [1, 0]]).t(),
    "mask": lambda t, sizes: t.arange(sizes[0]) % 2 == 0,
    "mask of two": lambda t, sizes: (t.arange(sizes[0] * sizes[1]) % 2 == 0).reshape(
        sizes[0], sizes[1]
    ),
}


def _indexed(t: Any, layout: str, names: tuple[str, ...]) -> Any:
    x = LAYOUTS[layout](t)
    key, dim = [], 0
    for name in names:
        key.append(ITEMS[name](t, tuple(x.shape[dim:])))
        dim += 2 if name == "mask of two" else 1
    found = x[tuple(key)]
    strides = [step for step, size in zip(found.stride(), found.shape, strict=True) if size > 1]
    return tuple(found.shape), strides, found.reshape(-1).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_indexed_lies_in_memory_as_in_pytorch(layout: str) -> None:
    different = []
    for length in (1, 2, 3):
        for names in itertools.product(ITEMS, repeat=length):
            width = sum(2 if name == "mask of two" else 1 for name in names)
            if width > 4 or not {*names} - {"all", "one", "some"}:
                continue
            results = []
            for t in (torch, dovetail):
                try:
                    results.append(_indexed(t, layout, names))
                except IndexError:
                    results.append("IndexError")
            # A dimension that a slice left with one element counts in PyTorch's order.
            if results[0] != results[1] and not ("some" in names and 1 in results[0][0]):
                different.append((names, results[0][:2], results[1][:2]))
    assert different == []


@pytest.mark.parametrize("decimals", [400, -400, 308, 2**40, -(2**40), 3, -3])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rounding_to_more_decimals_than_a_float_has(decimals: int, dtype: str) -> None:
    found, wanted = [
        lib.round(lib.tensor([1.5, 0.0, -2e3], dtype=getattr(lib, dtype)), decimals=decimals)
        for lib in (dovetail, torch)
    ]
    assert repr(found.tolist()) == repr(wanted.tolist())


@pytest.mark.parametrize("name", ["tensor", "asarray", "as_tensor"])
@pytest.mark.parametrize("before", [[], [1.0]])
def test_a_list_that_contains_itself_is_refused(name: str, before: list[Any]) -> None:
    for lib in (dovetail, torch):
        data = list(before)
        data.append(data)
        with pytest.raises((ValueError, TypeError)):
            getattr(lib, name)(data)


def test_lists_are_nested_as_deep_as_tensors_have_dimensions() -> None:
    data: Any = 1.0
    for _ in range(64):
        data = [data]
    assert dovetail.tensor(data).ndim == torch.tensor(data).ndim == 64
    with pytest.raises(ValueError, match="too many dimensions"):
        dovetail.tensor([data])


@pytest.mark.parametrize("name, given", [("hsplit", (2, 1)), ("reshape", (2, 8)), ("tile", (2, 1))])
def test_functions_take_lists_that_are_spelled_out_as_methods_do(
    name: str, given: tuple[int, ...]
) -> None:
    x, theirs = dovetail.ones(4, 4), torch.ones(4, 4)
    with pytest.raises(TypeError):
        getattr(torch, name)(theirs, *given)
    wanted = getattr(theirs, name)(*given)
    found = getattr(dovetail, name)(x, *given)
    pieces = zip(wanted, found, strict=True) if name == "hsplit" else [(wanted, found)]
    assert all([tuple(a.shape) == tuple(b.shape) for a, b in pieces])
