"""Batches without samples, classes without members, and names that are taken: what modules and
losses do with them, beside PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same, tried

PROGRAMS = Programs()


def described(tensor: Any) -> Any:
    return tuple(tensor.shape), str(tensor.tolist())


for _shape in ((5, 0), (0, 3), (0, 0), (0, 3, 2), (2, 0, 2)):
    for _reduction in ("mean", "sum", "none"):

        @PROGRAMS(f"cross entropy of probabilities, {_shape}, {_reduction}")
        def cross_entropy(lib: Any, shape: Any = _shape, reduction: str = _reduction) -> Any:
            x = lib.ones(shape, requires_grad=True)
            loss = lib.nn.functional.cross_entropy(x, lib.ones(shape), reduction=reduction)
            loss.sum().backward()
            return described(loss.abs()), tuple(x.grad.shape)


def encoder(lib: Any, batch_first: bool, training: bool) -> Any:
    lib.manual_seed(0)
    layer = lib.nn.TransformerEncoderLayer(8, 2, batch_first=batch_first, dropout=0.0)
    layer.train(training)
    x = lib.ones((0, 3, 8) if batch_first else (3, 0, 8), requires_grad=training)
    y = layer(x)
    if training:
        y.sum().backward()
        return described(y), described(x.grad)
    return described(y)


for _first in (False, True):
    for _training in (False, True):
        PROGRAMS(f"an encoder without samples, {_first}, {_training}")(
            lambda lib, first=_first, training=_training: encoder(lib, first, training)
        )


@PROGRAMS("attention without samples")
def attention(lib: Any) -> Any:
    x = lib.ones(3, 0, 8)
    found = lib.nn.MultiheadAttention(8, 2, add_zero_attn=True)(x, x, x)
    return [described(each) for each in found]


@PROGRAMS("a buffer does not take the place of what is there")
def taken_names(lib: Any) -> Any:
    def module(kind: str) -> Any:
        made = lib.nn.Module()
        if kind == "attribute":
            made.a = 5
        elif kind == "parameter":
            made.a = lib.nn.Parameter(lib.ones(1))
        elif kind == "module":
            made.a = lib.nn.Module()
        elif kind == "buffer":
            made.register_buffer("a", lib.ones(2))
        return made

    def assigned(kind: str) -> Any:
        made = module(kind)
        made.a = lib.nn.Buffer(lib.ones(1))
        return sorted(name for name, _ in made.named_buffers()), made.a.tolist()

    kinds = ("attribute", "parameter", "module", "buffer", "nothing")
    return [tried(lambda kind=kind: assigned(kind), words=12) for kind in kinds]


@PROGRAMS("the second argument of to() is a dtype")
def arguments_of_to(lib: Any) -> Any:
    def calls(made: Any) -> Any:
        return [
            tried(lambda: made.to("cpu", True) is made, words=34),
            tried(lambda: made.to(None, True) is made, words=34),
            tried(lambda: made.to("cpu", None, True) is made, words=34),
            tried(lambda: made.to(lib.float32, True) is made, words=34),
        ]

    return calls(lib.nn.Linear(1, 1)), calls(lib.ones(1))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_the_same(name: str) -> None:
    assert_same(PROGRAMS[name])
