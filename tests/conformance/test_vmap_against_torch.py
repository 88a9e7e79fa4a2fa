# ruff: noqa: E501, PLW0108 - tables with a row per case read better unbroken, and alike
"""`vmap` gives what PyTorch's gives, and refuses what it refuses, in its words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Function = Callable[[Any], Callable[..., Any]]
"""Given the library, returns the function to be mapped."""

RNG = np.random.default_rng(7)
X, Y, Z = (RNG.standard_normal((3, 4)).astype("float32") for _ in range(3))
W = RNG.standard_normal((5, 4)).astype("float32")
CUBE = RNG.standard_normal((3, 4, 5)).astype("float32")
PLACES = np.array([2, 0, 1])


def of_library(lib: Any, value: Any) -> Any:
    """Return arrays in containers as tensors of a library."""
    if isinstance(value, np.ndarray):
        return lib.from_numpy(value.copy()).to(lib.get_default_device())
    if isinstance(value, (list, tuple)):
        return type(value)([of_library(lib, each) for each in value])
    if isinstance(value, dict):
        return {key: of_library(lib, each) for key, each in value.items()}
    return value


def as_arrays(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [as_arrays(each) for each in value]
    if isinstance(value, dict):
        return {key: as_arrays(each) for key, each in value.items()}
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


def run(lib: Any, function: Function, args: Any, options: dict[str, Any]) -> Any:
    vmap = torch.func.vmap if lib is torch else dovetail.vmap
    return vmap(function(lib), **options)(*of_library(lib, args))


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        found, wanted = list(found.values()), list(wanted.values())
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for left, right in zip(found, wanted, strict=True):
            assert_same(left, right)
        return
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype


VALUES: dict[str, tuple[Function, tuple[Any, ...], dict[str, Any]]] = {
    "a dot product": (lambda lib: lib.dot, (X, Y), {}),
    "another dimension": (lambda lib: lambda x: x.sum(0), (CUBE,), {"in_dims": 2}),
    "a dimension from the end": (lambda lib: lambda x: x.exp(), (CUBE,), {"in_dims": -2, "out_dims": -1}),
    "an argument that is shared": (lambda lib: lambda x, w: w @ x, (X, W), {"in_dims": (0, None)}),
    "arguments by keyword": (
        lambda lib: lambda x: _vmap(lib)(lambda y, w: (y * w).sum(1))(x, w=lib.tensor(W)),
        (X[:, None],),
        {},
    ),
    "results elsewhere": (lambda lib: lambda x: (x, x.sum()), (CUBE,), {"out_dims": (1, 0)}),
    "one dimension for two results": (lambda lib: lambda x: (x, x + 1), (CUBE,), {"out_dims": 1}),
    "a result that is shared": (lambda lib: lambda x: (x, lib.ones(2)), (X,), {}),
    "a result without batch": (lambda lib: lambda x: (x, lib.ones(2)), (X,), {"out_dims": (0, None)}),
    "containers in": (
        lambda lib: lambda d, pair: d["a"] * d["b"] + pair[0] - pair[1][0],
        ({"a": X, "b": Y}, (Z, [X])),
        {},
    ),
    "containers with dimensions": (
        lambda lib: lambda d: d["a"] + d["b"],
        ({"a": X, "b": Y[0]},),
        {"in_dims": ({"a": 0, "b": None},)},
    ),
    "containers out": (lambda lib: lambda x: {"s": x.sum(), "l": [x, (x * 2,)]}, (X,), {}),
    "two levels": (lambda lib: _nested(lib, lambda a, b: (a * b).sum()), (CUBE, CUBE), {}),
    "pairs": (
        lambda lib: lambda x: _vmap(lib)(lambda y: (x * y).sum())(lib.tensor(W)),
        (X,),
        {},
    ),
    "outer dimensions": (
        lambda lib: lambda x: _vmap(lib)(lambda a: a.cumsum(0), in_dims=1, out_dims=1)(x),
        (CUBE,),
        {"in_dims": 1, "out_dims": 2},
    ),
    "chunks": (lambda lib: lambda x: (x * 2, x.sum()), (CUBE,), {"chunk_size": 2, "in_dims": 1, "out_dims": (1, 0)}),
    "an index per sample": (lambda lib: lambda x, i: x[i], (X, PLACES), {}),
    "an index per sample behind a slice": (lambda lib: lambda x, i: x[:, i], (CUBE, PLACES), {}),
    "two indices per sample": (lambda lib: lambda x, i, j: x[i, j], (CUBE, PLACES, PLACES), {}),
    "an index into what is shared": (
        lambda lib: lambda x, i: x[:, i],
        (X, PLACES),
        {"in_dims": (None, 0)},
    ),
    "a mask that is shared": (lambda lib: lambda x: x[lib.tensor([True, False, True, True])], (X,), {}),
    "index_select": (lambda lib: lambda x, i: lib.index_select(x, 1, i), (CUBE, PLACES[:, None]), {}),
    "gather": (lambda lib: lambda x, i: x.gather(0, i), (X, np.tile(PLACES, (3, 1))), {}),
    "scatter": (lambda lib: lambda x, i: x.scatter(0, i, 5.0), (X, np.tile(PLACES, (3, 1))), {}),
    "assignment": (lambda lib: _assigning(lib), (X, Y), {}),
    "assignment by index": (lambda lib: _assigning_by_index(lib), (X, PLACES), {}),
    "writing to a batch": (lambda lib: lambda x, y: x.mul_(2).add_(y), (X, Y), {}),
    "weaker types of samples": (
        lambda lib: lambda x, y: (x + y, x > y, y * x),
        (X[:, 0].astype("float64"), X),
        {},
    ),
    "integers and numbers": (lambda lib: lambda x, y: (x + 1.5, x * y, x / y), (PLACES + 1, X), {}),
    "softmax": (lambda lib: lambda x: lib.softmax(x, -1).log(), (CUBE,), {}),
    "cross entropy": (
        lambda lib: lambda x, t: lib.nn.functional.cross_entropy(x, t, ignore_index=1),
        (CUBE, np.tile(PLACES + 1, (4, 1)).T.copy()),
        {},
    ),
    "cross entropy of one": (lambda lib: lib.nn.functional.cross_entropy, (X, PLACES), {}),
    "weighted cross entropy": (
        lambda lib: lambda x, t, w: lib.nn.functional.cross_entropy(x, t, weight=w),
        (CUBE, np.tile(PLACES + 1, (4, 1)).T.copy(), np.abs(CUBE[:, 0])),
        {},
    ),
    "losses": (
        lambda lib: lambda x, y: (
            lib.nn.functional.mse_loss(x, y),
            lib.nn.functional.l1_loss(x, y, reduction="none"),
            lib.nn.functional.binary_cross_entropy_with_logits(x, y.sigmoid()),
        ),
        (X, Y),
        {},
    ),
    "a layer": (
        lambda lib: lambda x, w: lib.nn.functional.linear(x, w, w[:, 0]),
        (CUBE, np.tile(W[None, :, :1], (3, 1, 5))),
        {},
    ),
    "layer norm": (lambda lib: lambda x, w: lib.nn.functional.layer_norm(x, (5,), w, w), (CUBE, CUBE[:, 0]), {}),
    "an embedding": (
        lambda lib: lib.nn.functional.embedding,
        (np.tile(PLACES[:2], (3, 2, 1)), CUBE),
        {},
    ),
    "one-hot": (lambda lib: lambda i: _one_hot(lib)(i, 4), (PLACES,), {}),
    "sort and topk": (lambda lib: lambda x: (*x.sort(), *x.topk(2)), (X,), {}),
    "extremes": (lambda lib: lambda x: (x.max(), x.argmax(), *x.min(0), x.argmin(1, keepdim=True)), (CUBE,), {}),
    "statistics": (
        lambda lib: lambda x: (x.mean(), x.var(), x.std(0), x.norm(), x.logsumexp(1), x.prod(), x.any(), x.all(0)),
        (CUBE,),
        {},
    ),
    "einsum": (lambda lib: lambda x, w: lib.einsum("ij,kj->ik", x, w), (CUBE, RNG.standard_normal((2, 5)).astype("f")), {"in_dims": (0, None)}),
    "products": (
        lambda lib: lambda m, v: (m @ v, v @ m.mT, lib.outer(v, v), m.mT @ m, lib.addmm(v, m, m.mT @ m)),
        (CUBE, CUBE[:, 0]),
        {},
    ),
    "shapes": (
        lambda lib: lambda x: (
            x.reshape(-1), x.t(), x.unsqueeze(0), x[None, ..., None].squeeze(), x.flatten(), x.expand(2, 4, 5),
            x.permute(1, 0), x.movedim(0, 1), x.view(2, 10), *x.split(3), *x.chunk(2, 1), x.diagonal(), x.tril(), x.roll(1),
            x.flip(0), x.repeat(2, 1), x[1:, ::2], x[-1], x.unbind(1)[0], x.contiguous().T,
        ),
        (CUBE,),
        {},
    ),
    "joining": (
        lambda lib: lambda x, y: (lib.cat([x, y]), lib.stack([x, y], -1), lib.cat([x, lib.ones(2)]), lib.hstack([x, y])),
        (X, Y),
        {},
    ),
    "new tensors": (
        lambda lib: lambda x: (lib.zeros_like(x) + x, x.new_ones(2), lib.ones(4), lib.arange(4) * x, lib.full_like(x, 3)),
        (X,),
        {},
    ),
    "samples without dimensions": (lambda lib: lambda x: (x.sum(), x.sum(0), x.softmax(0), x.cumsum(-1), x.sort(0)[0], x.max(), x.reshape(1)), (X[:, 0],), {}),
    "no samples": (lambda lib: lambda x: (x * 2, x.sum()), (X[:0],), {}),
    "complex numbers": (lambda lib: lambda x: (x.conj().resolve_conj(), x.real, lib.view_as_real(x), x.abs()), (X + 1j * Y,), {}),
    "conversions": (lambda lib: lambda x: (x.to(lib.float64), x.double(), x.long(), x.float()), (X,), {}),
}  # fmt: skip


def _vmap(lib: Any) -> Any:
    return torch.func.vmap if lib is torch else dovetail.vmap


def _nested(lib: Any, function: Any) -> Any:
    return _vmap(lib)(function)


def _one_hot(lib: Any) -> Any:
    return torch.nn.functional.one_hot if lib is torch else dovetail.ops.aten.one_hot


def _assigning(lib: Any) -> Any:
    def function(x: Any, y: Any) -> Any:
        made = lib.zeros_like(x)
        made[0] = y[1]
        made[1:3] = x[2:]
        made[3] += 1
        return made

    return function


def _assigning_by_index(lib: Any) -> Any:
    def function(x: Any, i: Any) -> Any:
        made = x.clone()
        made[lib.tensor([0, 3])] = 7.0
        return made.index_put((i,), x.sum())

    return function


@pytest.mark.parametrize("name", VALUES)
def test_a_mapped_function_gives_what_that_of_pytorch_gives(name: str) -> None:
    function, args, options = VALUES[name]
    assert_same(
        as_arrays(run(dovetail, function, args, options)),
        as_arrays(run(torch, function, args, options)),
    )


REFUSED: dict[str, tuple[Function, tuple[Any, ...], dict[str, Any]]] = {
    "sizes that differ": (lambda lib: lambda x, y: x + y, (X, W), {}),
    "too few in_dims": (lambda lib: lambda x, y: x + y, (X, Y), {"in_dims": (0,)}),
    "in_dims in a list": (lambda lib: lambda x, y: x + y, (X, Y), {"in_dims": [0, 0]}),
    "in_dims that are no numbers": (lambda lib: lambda x: x, (X,), {"in_dims": ("0",)}),
    "no in_dims": (lambda lib: lambda x: x, (X,), {"in_dims": None}),
    "nothing to map over": (lambda lib: lambda x: x, (X,), {"in_dims": (None,)}),
    "an in_dim out of range": (lambda lib: lambda x: x, (X,), {"in_dims": 2}),
    "in_dims for other keys": (
        lambda lib: lambda d: d["a"],
        ({"a": X, "b": Y},),
        {"in_dims": ({"a": 0},)},
    ),
    "a sample of a number": (lambda lib: lambda x, y: x * y, (X, 2), {}),
    "a tensor without dimensions": (lambda lib: lambda x: x, (np.array(1.0),), {}),
    "no arguments": (lambda lib: lambda: 1, (), {}),
    "item": (lambda lib: lambda x: x.sum().item(), (X,), {}),
    "a Python number": (lambda lib: lambda x: float(x.sum()), (X,), {}),
    "a condition": (lambda lib: lambda x: x if x.sum() > 0 else -x, (X,), {}),
    "is_nonzero": (lambda lib: lambda x: x.sum().is_nonzero(), (X,), {}),
    "writing to what is shared": (lambda lib: lambda x: lib.ones(4).mul_(x), (X,), {}),
    "assigning to what is shared": (
        lambda lib: lambda x: lib.ones(4).__setitem__(0, x[0]),
        (X,),
        {},
    ),
    "putting into what is shared": (
        lambda lib: lambda x: lib.ones(4).index_put_((lib.tensor([0]),), x[0]),
        (X,),
        {},
    ),
    "a number as result": (lambda lib: lambda x: 3, (X,), {}),
    "no result": (lambda lib: lambda x: None, (X,), {}),
    "a word among the results": (lambda lib: lambda x: (x, "word"), (X,), {}),
    "a batch where none is to be": (lambda lib: lambda x: x, (X,), {"out_dims": None}),
    "too many out_dims": (lambda lib: lambda x: (x, x), (X,), {"out_dims": (0, 0, 0)}),
    "too few out_dims": (lambda lib: lambda x: (x, x), (X,), {"out_dims": (0,)}),
    "out_dims that are no numbers": (lambda lib: lambda x: x, (X,), {"out_dims": "0"}),
    "an out_dim out of range": (lambda lib: lambda x: x, (X,), {"out_dims": 3}),
    "nonzero": (lambda lib: lambda x: x.nonzero(), (X,), {}),
    "a mask per sample": (lambda lib: lambda x: x[x > 0], (X,), {}),
    "masked_select": (lambda lib: lambda x: lib.masked_select(x, x > 0), (X,), {}),
    "allclose": (lambda lib: lambda x: lib.allclose(x, x), (X,), {}),
    "equal": (lambda lib: lambda x: lib.equal(x, x), (X,), {}),
    "one-hot without number of classes": (lambda lib: lambda i: _one_hot(lib)(i), (PLACES,), {}),
    "another randomness": (lambda lib: lambda x: x, (X,), {"randomness": "some"}),
    "chunks of nothing": (lambda lib: lambda x: x, (X,), {"chunk_size": 0}),
    "out=": (lambda lib: lambda x: lib.add(x, x, out=lib.empty_like(x)), (X,), {}),
    "random numbers": (lambda lib: lambda x: x + lib.randn(4), (X,), {}),
    "random numbers for a batch": (lambda lib: lib.rand_like, (X,), {}),
    "dropout": (lambda lib: lib.nn.functional.dropout, (X,), {}),
    "different numbers into what is shared": (
        lambda lib: lambda x: lib.zeros(4).uniform_(),
        (X,),
        {"randomness": "different"},
    ),
    "the same numbers from a batch": (
        lambda lib: lambda x: lib.bernoulli(x * 0),
        (X,),
        {"randomness": "same"},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_words(name: str) -> None:
    function, args, options = REFUSED[name]
    with pytest.raises(Exception) as theirs:
        run(torch, function, args, options)
    with pytest.raises(type(theirs.value)) as ours:
        run(dovetail, function, args, options)
    said, wanted = str(ours.value), str(theirs.value)
    assert beginning(said) == beginning(wanted)


def beginning(text: str) -> str:
    """Return what a text says first, without the names of operators and the structures it quotes."""
    text = re.sub(r"TreeSpec.*|has structure.*", "", text, flags=re.DOTALL)
    text = re.sub(
        r"vmap: \S+\(self", "vmap: OPERATOR(self", text.replace("inplace arithmetic", "inplace")
    )
    return " ".join(re.split(r"(?<=[\w`)])[.;](?:\s|$)", text)[0].split())[:90]


@pytest.mark.parametrize("randomness", ["different", "same"])
@pytest.mark.parametrize(
    "draw",
    [
        lambda lib, x: lib.randn(20),
        lambda lib, x: lib.rand_like(x),
        lambda lib, x: lib.rand_like(lib.ones(20)),
        lambda lib, x: lib.randint(0, 100, (20,)),
        lambda lib, x: lib.randperm(20),
        lambda lib, x: lib.bernoulli(lib.full((20,), 0.5)),
        lambda lib, x: x.clone().uniform_(),
        lambda lib, x: x.clone().normal_(),
        lambda lib, x: x.clone().bernoulli_(0.5),
        lambda lib, x: lib.nn.functional.dropout(x * 0 + 1),
        lambda lib, x: lib.nn.functional.dropout(lib.ones(20)),
        lambda lib, x: lib.native_dropout(x * 0 + 1, 0.5, True)[0],
        lambda lib, x: lib.native_dropout(lib.ones(20), 0.5, True)[1],
        lambda lib, x: lib.multinomial(lib.ones(20), 6),
    ],
)
def test_random_numbers_differ_between_samples_where_those_of_pytorch_do(
    draw: Any, randomness: str
) -> None:
    for chunk_size in (None, 2):
        drawn = [
            run(
                lib,
                lambda lib: lambda x: draw(lib, x),
                (np.ones((4, 20), "float32"),),
                {"randomness": randomness, "chunk_size": chunk_size},
            )
            for lib in (torch, dovetail)
        ]
        shapes = [tuple(each.shape) for each in drawn]
        assert shapes[0] == shapes[1]
        differ = [[bool((each[0] != each[row]).any()) for row in (1, 2)] for each in drawn]
        assert differ[0] == differ[1] == [randomness == "different"] * 2
