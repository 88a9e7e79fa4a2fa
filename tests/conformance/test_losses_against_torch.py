"""Losses: dtypes that they refuse, arguments without a derivative, values at the edges, and writes
to what they return, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same, tried

PROGRAMS = Programs(
    {
        "labels of another dtype": lambda lib: lib.nn.functional.multilabel_margin_loss(
            lib.ones(2, 2), lib.tensor([[0, -1], [1, 0]], dtype=lib.int32)
        ),
        "a weight of a binary loss that requires grad": lambda lib: (
            lib.nn.functional.binary_cross_entropy_with_logits(
                lib.ones(2), lib.ones(2), lib.ones(2, requires_grad=True)
            )
        ),
        "a weight of positives that requires grad": lambda lib: (
            lib.nn.functional.binary_cross_entropy_with_logits(
                lib.ones(2), lib.ones(2), pos_weight=lib.ones(2, requires_grad=True)
            )
        ),
        "weights of classes that require grad": lambda lib: lib.nn.functional.cross_entropy(
            lib.ones(2, 2), lib.tensor([0, 1]), lib.ones(2, requires_grad=True)
        ),
        "a binary loss of integers": lambda lib: lib.nn.functional.binary_cross_entropy_with_logits(
            lib.tensor([1, 0]), lib.tensor([1, 0])
        ),
        "the gradient of a squared loss by its incoming gradient": lambda lib: lib.autograd.grad(
            lib.ops.aten.mse_loss_backward(
                w := lib.ones(2, 3, requires_grad=True), lib.ones(2, 3), lib.zeros(3), 1
            ).sum(),
            w,
        )[0],
    }
)


# Found by random programs.


@PROGRAMS("the loss of cross entropy, written in place")
def _(lib: Any) -> Any:
    found = []
    for dtype in (lib.float16, lib.bfloat16, lib.float32, lib.float64):
        for shape in ((2, 3), (1, 2), (0, 3), (40, 200)):
            for reduction in ("mean", "sum"):
                x = lib.ones(shape, dtype=dtype, requires_grad=True)
                loss = lib.nn.functional.cross_entropy(
                    x * 1, lib.zeros(shape[0], dtype=lib.int64), reduction=reduction
                )
                loss /= 2
                loss += 1
                loss.backward()
                loss.detach().fill_(3.0)
                found.append(
                    (str(loss.dtype).rpartition(".")[2], loss.item(), loss._version, len(x.grad))
                )
    return found


@PROGRAMS("the binary cross entropy of complex numbers")
def _(lib: Any) -> Any:
    x = lib.ones(2, dtype=lib.complex64)
    return tried(lambda: lib.nn.functional.binary_cross_entropy_with_logits(x, x))[0]


@PROGRAMS("a loss of certain predictions is no negative zero")
def _(lib: Any) -> Any:
    F = lib.nn.functional
    found = [
        str(
            F.cross_entropy(
                lib.ones(n, 1), lib.zeros(n, dtype=lib.int64), reduction=reduction
            ).item()
        )
        for n in (2, 5000)
        for reduction in ("mean", "sum")
    ]
    for weight in (None, lib.ones(3)):
        for shape in ((2, 3), (2, 3, 4), (3,)):
            for label in (0, -100):
                target = lib.zeros(shape[:1] * (len(shape) > 1) + shape[2:], dtype=lib.int64)
                target = lib.where(lib.arange(target.numel()).view(target.shape) > 0, label, target)
                for reduction in ("mean", "sum"):
                    loss = F.nll_loss(lib.zeros(shape), target, weight, reduction=reduction)
                    found.append(str(loss.item()))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)
