# ruff: noqa: E501 - tables with a row per case read better unbroken
"""Indexing with every kind of index, compared with PyTorch: results, views, errors and warnings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from expressions import expressions, shown
from same_programs import Programs, assert_same, tried

import dovetail_aten
import dovetail_kernel

READS = """
x[torch.tensor(1)]._is_view() | x[torch.tensor(1, dtype=torch.uint8)].shape | x[[0, 1]].shape | x[[[0, 1], [0, 1]]].shape
x[[slice(0, 1)]] | x[[slice(0, 1), 0]] | x[[0, None]] | x[True].shape | x[False].shape | x[True, 0].shape
x[torch.tensor(True)].shape | x[np.array([0, 1])].shape | x[np.int64(1)].shape | x['a'] | x[1.5] | x[5] | x[0, 5]
x[0, 0, 0] | x[0, 0][0] | x[0, 0][...] | x[0, 0][None].shape | x[0, 0][()] | x[::-1] | x[0:'a'] | x[torch.tensor(0):]
x[torch.tensor([0.5])] | x[torch.tensor([5])] | x[torch.tensor([[0, 1]]), torch.tensor([0, 1, 2])]
x[torch.tensor([True, False])].shape | x[torch.tensor([True, False, True])] | x[:, torch.tensor([True, False, True])].shape
x[..., None].shape | x[..., ...].shape | x[None, ..., 0].shape | x[range(2)].shape | x[(0, 1),].shape | x[[]].shape
x[torch.tensor([0, 1], dtype=torch.uint8)] | x[torch.tensor([0, 1], dtype=torch.int32)]
x[torch.tensor([0, 1], dtype=torch.int8)] | x[[True, False]].shape | x[[0.5]] | x[['a']] | x[{}]
x[:]._is_view() | x[...]._is_view() | x[...] is x | x[0, 0][torch.tensor(True)].shape | x[None, True].shape | x[0:1.5]
x[[[0], [1]], [[0, 1]]].shape | x[-1] | x[-3] | x[:, -1] | x[0:1, 1:] | x[1:0].shape | x[::2] | x[:, ::2] | x[5:] | x[-10:1]
y[0, ..., 1].shape | y[..., 0].shape | y[torch.tensor([0, 1]), :, torch.tensor([0, 1])].shape
y[:, torch.tensor([[0, 1]])].shape | y[y > 5] | y[y[:, :, 0] > 5].shape | y[:, y[0] > 5].shape | y[None, None].shape
y[0, None, :, None].shape | y[(y > 5).unsqueeze(0)] | y[torch.tensor([0]), True].shape | y[1, 2, 3] | y[1][2][3]
x[True, torch.tensor([0, 1])].shape | x[[0, 1], torch.tensor([1, 2])] | x[torch.tensor([], dtype=torch.int64)].shape
x[0:2:0] | x[torch.tensor([[True, False, True], [False, True, False]])]
"""

WRITES = """
0, [1, 2, 3] | 0, np.ones(3) | 0, torch.ones(2) | 0, torch.ones(1, 3) | 0, torch.ones(2, 3) | torch.tensor([0, 1]), torch.ones(2)
torch.tensor([0]), torch.tensor(1) | torch.tensor([0]), torch.ones(3, dtype=torch.int64) | 0, torch.ones(3, dtype=torch.int64)
0, 'a' | 0, 1j | 0, True | torch.tensor([True, False]), 5 | (slice(None), torch.tensor([0, 2])), torch.tensor([[1.0], [2.0]])
5, 1 | (0, 0, 0), 1 | 'a', 1 | True, 1 | False, 1 | torch.tensor([0]), 1j | [0, 1], torch.ones(1, 2, 3) | 0, None
0, torch.ones(3, device='meta') | torch.tensor([0.5]), 1 | torch.tensor(1), 7 | (torch.tensor([5]),), 1 | ..., 3
slice(None), 4 | (slice(None), 1), 9.5 | (0, 1), torch.tensor(2.5) | None, 2 | (..., torch.tensor([0])), 8
[True, False], torch.ones(3) | torch.tensor([0, 0]), torch.tensor([[1.0, 2, 3], [1, 2, 3]]) | (slice(0, 1), 2), np.float32(3)
"""


class Ours(SimpleNamespace):
    """What the expressions need, under the names that PyTorch has for it."""

    def __init__(self) -> None:
        names = ("int64", "int32", "int8", "uint8", "float32")
        super().__init__(**{name: getattr(dovetail_kernel, name) for name in names})
        for name in ("tensor", "ones", "arange", "zeros"):
            setattr(self, name, getattr(dovetail_aten, name))


def outcome(package: Any, text: str, *, write: bool) -> tuple[str, list[str]]:
    """Return what an expression shows, or a tensor after a write."""
    x = package.arange(6.0).reshape(2, 3)
    names = {"torch": package, "np": np, "x": x, "y": package.arange(24).reshape(2, 3, 4)}

    def written() -> Any:
        index, value = eval(f"({text})", names)
        x[index] = value
        return x

    return shown(written if write else lambda: eval(text, names))


@pytest.mark.parametrize("text", expressions(READS))
def test_reading_by_index_is_as_in_pytorch(text: str) -> None:
    assert outcome(Ours(), text, write=False) == outcome(torch, text, write=False)


@pytest.mark.parametrize("text", expressions(WRITES))
def test_writing_by_index_is_as_in_pytorch(text: str) -> None:
    assert outcome(Ours(), text, write=True) == outcome(torch, text, write=True)


def masked_write_of_another_dtype(lib: Any) -> Any:
    a = lib.arange(4.0).reshape(2, 2)
    a[lib.tensor([[True, False], [False, True]])] = lib.tensor(5, dtype=lib.int64)
    return a


PROGRAMS = Programs(
    {
        "a masked write casts a 0-dim value": masked_write_of_another_dtype,
        "scatter of another dtype, even of nothing": lambda lib: lib.zeros(2).scatter(
            0, lib.zeros(0, dtype=lib.int64), lib.zeros(0, dtype=lib.int64)
        ),
        "scatter of fewer dimensions": lambda lib: lib.zeros(2, 2).scatter(
            0, lib.zeros(1, 2, dtype=lib.int64), lib.tensor(1.0)
        ),
        "index_add out of nothing": lambda lib: lib.ones(2, 1).index_add(
            1, lib.tensor(0), lib.ones(1)
        ),
        "index_select by a matrix": lambda lib: lib.ones(2).index_select(
            0, lib.zeros(1, 1, dtype=lib.bool)
        ),
        "index_select of a number": lambda lib: lib.tensor(1.0).index_select(
            0, lib.zeros(0, dtype=lib.int64)
        ),
        "an embedding of width zero": lambda lib: lib.nn.functional.embedding(
            lib.tensor([0]), lib.ones(2, 0, requires_grad=True)
        ),
    }
)


# Found by random programs.


@PROGRAMS("values with more dimensions than what index_put writes to")
def _(lib: Any) -> Any:
    x, twice, one = lib.zeros(2, 3), lib.tensor([0, 0]), lib.tensor([[0]])
    mask = lib.tensor([[True, False, False], [False, False, True]])
    return [
        tried(lambda index=index, shape=shape: x.index_put(index, lib.ones(shape)))
        for index, shape in [
            ((twice,), (1, 2, 1)),
            ((twice,), (1, 2, 3)),
            ((twice,), (2, 1)),
            ((twice, twice), (1, 2)),
            ((one,), (1, 1, 3)),
            ((mask,), (1, 2)),
            ((mask,), (2,)),
            ((lib.tensor(0),), (1, 3)),
        ]
    ]


@PROGRAMS("index_add of nothing to nothing")
def _(lib: Any) -> Any:
    x, no_index = lib.zeros(0, 3), lib.zeros(0, dtype=lib.int64)
    return x.index_add(0, no_index, x).tolist(), lib.ones(2, 3).index_add(0, no_index, x).tolist()


@PROGRAMS("index_put of what does not fit to nothing")
def _(lib: Any) -> Any:
    return tried(lambda: lib.zeros(0, 3).index_put((lib.tensor([0, 0]),), lib.zeros(5, 3)))[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)
