"""Samples of losses, and of their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dovetail_dispatcher.testing import SampleInput, TensorMaker

from ..makers import FLOATING, INEXACT, REAL_NUMBERS, indices, op_info, refusals, refused

info = partial(op_info, family="losses")

NONE, MEAN, SUM = 0, 1, 2
REDUCTIONS = (MEAN, NONE, SUM)


def reduced(loss: Any, reduction: int = MEAN) -> Any:
    return {NONE: lambda: loss, MEAN: loss.mean, SUM: loss.sum}[reduction]()


# -- of two tensors of one shape -------------------------------------------------------------------


def distances(*more: Any) -> Callable[[TensorMaker], Iterator[SampleInput]]:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for reduction in REDUCTIONS:
            for shape, target in (((2, 3), (2, 3)), ((), ()), ((2, 3), (3,))):
                if reduction == MEAN or shape == target:
                    yield SampleInput(make(shape), make(target), reduction, *more)
        yield SampleInput(make(0, 3), make(0, 3), SUM, *more)

    return samples


def distance_gradients(*more: Any) -> Callable[[TensorMaker], Iterator[SampleInput]]:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for reduction in REDUCTIONS:
            grad = make(2, 3) if reduction == NONE else make(())
            yield SampleInput(grad, make(2, 3), make(2, 3), reduction, *more)

    return samples


def smooth_l1(x: np.ndarray, y: np.ndarray, reduction: int = MEAN, beta: float = 1.0) -> Any:
    d = np.abs(x - y)
    return reduced(np.where(d < beta, 0.5 * d * d / (beta or 1), d - 0.5 * beta), reduction)


def averaged(grad: np.ndarray, x: np.ndarray, reduction: int) -> Any:
    return grad / (x.size if reduction == MEAN else 1)


def mse_gradient(grad: np.ndarray, x: np.ndarray, y: np.ndarray, reduction: int) -> Any:
    return 2 * (x - y) * averaged(grad, x, reduction)


def smooth_l1_gradient(
    grad: np.ndarray, x: np.ndarray, y: np.ndarray, reduction: int, beta: float
) -> Any:
    return np.clip((x - y) / beta, -1, 1) * averaged(grad, x, reduction)


def binary(make: TensorMaker) -> Iterator[SampleInput]:
    target: dict[str, Any] = {"low": 0.1, "high": 0.9}
    for reduction in REDUCTIONS:
        yield SampleInput(make(2, 3), make(2, 3, **target), None, None, reduction)
    weights = [make(shape, low=0.5, high=2, requires_grad=False) for shape in ((3,), (2, 3), (3,))]
    yield SampleInput(make(2, 3), make(2, 3, **target), weights[0], weights[2])
    yield SampleInput(make(2, 3), make(2, 3, **target), weights[1], None, SUM)
    yield SampleInput(make(()), make((), **target))


def cross_entropy_of_logits(
    x: Any, y: Any, weight: Any = None, pos_weight: Any = None, reduction: int = MEAN
) -> Any:
    pos = 1 if pos_weight is None else pos_weight
    loss = (1 - y) * x + (1 + (pos - 1) * y) * np.log1p(np.exp(-x))
    return reduced(loss if weight is None else loss * weight, reduction)


def huber(x: np.ndarray, y: np.ndarray, reduction: int = MEAN, delta: float = 1.0) -> Any:
    d = np.abs(x - y)
    return reduced(np.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def probabilities(make: TensorMaker) -> Iterator[SampleInput]:
    inside: dict[str, Any] = {"low": 0.1, "high": 0.7}
    for reduction in REDUCTIONS:
        yield SampleInput(make(2, 3, **inside), make(2, 3, **inside), None, reduction)
    weight = make(3, low=0.5, high=2, requires_grad=False)
    yield SampleInput(make(2, 3, **inside), make(2, 3, **inside), weight)
    yield SampleInput(make((), **inside), make((), **inside))
    yield SampleInput(make(0, 3, **inside), make(0, 3, **inside), None, SUM)


def binary_cross_entropy(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None, reduction: int = MEAN
) -> Any:
    loss = -(y * np.log(x) + (1 - y) * np.log1p(-x))
    return reduced(loss if weight is None else loss * weight, reduction)


def divergences(make: TensorMaker) -> Iterator[SampleInput]:
    for log_target in (False, True):
        for reduction in REDUCTIONS:
            target = make(2, 3, low=0.1, high=0.9)
            yield SampleInput(make(2, 3), target, reduction, log_target=log_target)
    yield SampleInput(make(()), make((), low=0.1, high=0.9))
    yield SampleInput(make(2, 3), make(3, low=0.1, high=0.9))


def kl_div(x: np.ndarray, y: np.ndarray, reduction: int = MEAN, *, log_target: bool = False) -> Any:
    return reduced(np.exp(y) * (y - x) if log_target else y * (np.log(y) - x), reduction)


def rates(make: TensorMaker) -> Iterator[SampleInput]:
    for reduction in REDUCTIONS:
        for log_input, full in ((True, False), (False, True)):
            x = make(2, 3, low=0.5, high=2)
            yield SampleInput(x, make(2, 3, low=1.5, high=4), log_input, full, 1e-8, reduction)


def poisson(
    x: np.ndarray, y: np.ndarray, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    rest = y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y)
    return reduced(loss + np.where(y > 1, rest, 0) if full else loss, reduction)


# -- of classes ------------------------------------------------------------------------------------


def classified(*, forward: bool = False) -> Callable[[TensorMaker], Iterator[SampleInput]]:
    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        weight = make(3, low=0.5, high=2, requires_grad=False)
        for reduction in REDUCTIONS:
            yield SampleInput(make(2, 3), indices(make, [2, 0]), None, reduction, -100)
            yield SampleInput(make(2, 3), indices(make, [1, 0]), weight, reduction, 0)
        yield SampleInput(make(3), indices(make, 1), None, MEAN, -100)

    return samples


def images(make: TensorMaker) -> Iterator[SampleInput]:
    yield from classified()(make)
    yield SampleInput(make(2, 3, 2), indices(make, [[0, 2], [1, 1]]), None, MEAN, -100)
    yield SampleInput(make(2, 3, 2, 1), indices(make, [[[0], [2]], [[1], [1]]]), None, NONE, -100)


PLACES = [[[0, 2], [1, 1]], [[2, 2], [0, 1]]]


def classes_of_places(make: TensorMaker) -> Iterator[SampleInput]:
    target = indices(make, PLACES)
    weight = make(3, low=0.5, high=2, requires_grad=False)
    for reduction in REDUCTIONS:
        yield SampleInput(make(2, 3, 2, 2), target, None, reduction, -100)
        yield SampleInput(make(2, 3, 2, 2), target, weight, reduction, 2)


def gradients_of_places(make: TensorMaker) -> Iterator[SampleInput]:
    target = indices(make, PLACES)
    for reduction in REDUCTIONS:
        grad = make(2, 2, 2) if reduction == NONE else make(())
        total = make.values(8.0)
        yield SampleInput(grad, make(2, 3, 2, 2), target, None, reduction, -100, total)


def nll_of_places(x: np.ndarray, target: np.ndarray, *more: Any) -> tuple[Any, Any]:
    lines = x.transpose(0, 2, 3, 1).reshape(-1, x.shape[1])
    loss, total = nll(lines, target.reshape(-1), *more)
    return loss.reshape(target.shape) if loss.size > 1 else loss, total


def nll_gradient_of_places(grad: np.ndarray, x: np.ndarray, target: np.ndarray, *more: Any) -> Any:
    lines = x.transpose(0, 2, 3, 1)
    flat = lines.reshape(-1, x.shape[1])
    made = nll_gradient(grad.reshape(-1) if grad.ndim else grad, flat, target.reshape(-1), *more)
    return made.reshape(lines.shape).transpose(0, 3, 1, 2)


def nll(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
) -> tuple[Any, Any]:
    """Return the loss, and the weight of all targets."""
    if x.ndim == 1:
        x, target = x[None], target[None]
        result, total = nll(
            x, target, weight, MEAN if reduction == NONE else reduction, ignore_index
        )
        return result, total
    target = target.astype(int)
    weights = np.ones(x.shape[1]) if weight is None else weight
    kept = (target != ignore_index) * weights[target]
    loss = -np.take_along_axis(x, target[:, None], 1)[:, 0] * kept
    if reduction == NONE:
        return loss, np.zeros(())
    return (loss.sum() / kept.sum() if reduction == MEAN else loss.sum()), kept.sum()


def class_gradients(make: TensorMaker) -> Iterator[SampleInput]:
    """Yield gradients with the total weight of the targets, which the formula takes for granted."""
    target = indices(make, [2, 0])
    for reduction in REDUCTIONS:
        grad = make(2) if reduction == NONE else make(())
        yield SampleInput(grad, make(2, 3), target, None, reduction, -100, make.values(2.0))


def nll_gradient(
    grad: np.ndarray,
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    reduction: int,
    ignore: int,
    total: np.ndarray,
) -> Any:
    result = np.zeros_like(x)
    scale = -np.broadcast_to(grad, target.shape) / (total if reduction == MEAN else 1)
    np.put_along_axis(result, target.astype(int)[:, None], scale[:, None], 1)
    return result


def entropies(make: TensorMaker) -> Iterator[SampleInput]:
    for reduction in REDUCTIONS:
        yield SampleInput(make(2, 3), indices(make, [2, 0]), None, reduction)
    yield SampleInput(make(2, 3), indices(make, [2, 0]), None, MEAN, -100, 0.2)
    yield SampleInput(make(2, 3), make(2, 3, low=0.1, high=0.9))
    yield SampleInput(make(3), indices(make, 1))


def cross_entropy(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    reduction: int = MEAN,
    ignore: int = -100,
    smoothing: float = 0.0,
) -> Any:
    if x.ndim == 1:
        x, target = x[None], np.asarray(target)[None]
    logits = x - np.log(np.exp(x).sum(1, keepdims=True))
    wanted = target if target.shape == x.shape else np.eye(x.shape[1])[target.astype(int)]
    wanted = wanted * (1 - smoothing) + smoothing / x.shape[1]
    loss = -(wanted * logits).sum(1)
    return loss.mean() if reduction == MEAN else reduced(loss, reduction)


no_class = refused(
    lambda make: SampleInput(make(2, 3), indices(make, [0, 3])),
    IndexError,
    "Target 3 is out of bounds",
)

OP_INFOS = [
    info("mse_loss", distances(), lambda x, y, r=MEAN: reduced((x - y) ** 2, r), FLOATING),
    info("l1_loss", distances(), lambda x, y, r=MEAN: reduced(np.abs(x - y), r), INEXACT),
    info("smooth_l1_loss", distances(0.4), smooth_l1, FLOATING),
    info(
        "huber_loss",
        distances(0.4),
        huber,
        FLOATING,
        errors=refused(
            lambda make: SampleInput(make(2), make(2), MEAN, 0.0),
            RuntimeError,
            "huber_loss does not support non-positive values for delta",
        ),
    ),
    info(
        "binary_cross_entropy",
        probabilities,
        binary_cross_entropy,
        FLOATING,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, low=1.5, high=2), make(2, low=0.1, high=0.9)),
                RuntimeError,
                "all elements of input should be between 0 and 1",
            ),
            (
                lambda make: SampleInput(make(2, low=0.1, high=0.9), indices(make, [0, 1])),
                RuntimeError,
                "Found dtype Long but expected Float",
            ),
        ),
    ),
    info(
        "kl_div",
        divergences,
        kl_div,
        FLOATING,
        errors=refused(
            lambda make: SampleInput(make(2), indices(make, [0, 1])),
            RuntimeError,
            "kl_div: Integral inputs not supported",
        ),
    ),
    info("poisson_nll_loss", rates, poisson, REAL_NUMBERS),
    info("binary_cross_entropy_with_logits", binary, cross_entropy_of_logits, FLOATING),
    info("nll_loss", classified(), lambda *args: nll(*args)[0], FLOATING, errors=no_class),
    info("nll_loss_nd", images, lambda *args: nll(*args)[0], FLOATING, errors=no_class),
    info("nll_loss_forward", classified(), nll, FLOATING),
    info(
        "nll_loss2d_forward",
        classes_of_places,
        nll_of_places,
        FLOATING,
        errors=refusals(
            (
                lambda make: SampleInput(make(2, 3), indices(make, PLACES), None, MEAN, -100),
                RuntimeError,
                r"only batches of spatial inputs supported \(4D tensors\)",
            ),
            (
                lambda make: SampleInput(
                    make(2, 3, 2, 2), indices(make, PLACES[0]), None, MEAN, -100
                ),
                RuntimeError,
                r"only batches of spatial targets supported \(3D tensors\)",
            ),
        ),
    ),
    info("cross_entropy_loss", entropies, cross_entropy, FLOATING),
    info("mse_loss_backward", distance_gradients(), mse_gradient, FLOATING),
    info("smooth_l1_loss_backward", distance_gradients(0.4), smooth_l1_gradient, FLOATING),
    info("nll_loss_backward", class_gradients, nll_gradient, FLOATING),
    info("nll_loss2d_backward", gradients_of_places, nll_gradient_of_places, FLOATING),
]
