"""The loss of connectionist temporal classification, beyond what its samples show."""

from __future__ import annotations

import math

import numpy as np

import dovetail
from dovetail import Tensor
from dovetail.autograd import gradcheck
from dovetail.nn import functional as F


def logits(seed: int = 0) -> Tensor:
    values = np.random.default_rng(seed).normal(size=(5, 2, 4))
    return dovetail.tensor(values.tolist(), dtype=dovetail.float64, requires_grad=True)


TARGETS = [[1, 2], [3, 3]]


def test_the_gradient_is_that_of_what_log_softmax_is_taken_of() -> None:
    targets = dovetail.tensor(TARGETS)
    for reduction in ("mean", "sum", "none"):
        assert gradcheck(
            lambda x, reduction=reduction: F.ctc_loss(
                x.log_softmax(2), targets, (5, 4), (2, 2), reduction=reduction
            ),
            logits(),
        )


def test_a_target_that_does_not_fit_is_infinitely_unlikely() -> None:
    x = logits().log_softmax(2)
    args = x, dovetail.tensor(TARGETS), (1, 5), (2, 2)
    assert F.ctc_loss(*args, reduction="none")[0].item() == math.inf
    assert F.ctc_loss(*args, reduction="none", zero_infinity=True)[0].item() == 0


def test_a_target_that_does_not_fit_has_no_gradient_where_its_loss_is_zero() -> None:
    x = logits()
    loss = F.ctc_loss(
        x.log_softmax(2), dovetail.tensor(TARGETS), (1, 5), (2, 2), zero_infinity=True
    )
    loss.backward()
    assert x.grad is not None
    assert not x.grad[:, 0].any()
    assert x.grad[:, 1].any()


def test_lengths_as_tensors_and_targets_one_after_another_give_the_same() -> None:
    x = logits().log_softmax(2)
    rows = F.ctc_loss(x, dovetail.tensor(TARGETS), (5, 4), (2, 1))
    flat = F.ctc_loss(
        x, dovetail.tensor([1, 2, 3]), dovetail.tensor([5, 4]), dovetail.tensor([2, 1])
    )
    assert abs(rows.item() - flat.item()) < 1e-12
