"""Tensors that a mapped function captures, or writes, have the gradients that a loop over the
samples gives, also where the operator has no batching rule and is mapped as the operators that it
calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail import Tensor
from dovetail.func import grad, vmap
from dovetail.testing import OpInfo, SampleInput, op_infos
from dovetail_dispatcher.registration.batching_rules import load_batching_rules

load_batching_rules()
SAMPLES = 2
INFOS = [
    info
    for info in op_infos("aten")
    if dovetail.float64 in info.dtypes
    and info.operator.derivative is not None
    and info.operator.batching_rule is None
]


def tensors(results: Any) -> list[Tensor]:
    """Return the results that have a gradient."""
    if isinstance(results, list | tuple):
        return [each for one in results for each in tensors(one)]
    return [results] if isinstance(results, Tensor) and results.dtype.is_floating_point else []


def weighted(results: Any) -> Tensor:
    """Return a sum of all elements in which each has another weight."""
    rng = np.random.default_rng(0)
    total = dovetail.zeros((), dtype=dovetail.float64)
    for each in tensors(results):
        weights = dovetail.tensor(rng.standard_normal(tuple(each.shape)))
        total = total + (weights * each).sum()
    return total


def functions(
    info: OpInfo, sample: SampleInput
) -> Iterator[tuple[Callable[..., Tensor], list[Tensor]]]:
    """Iterate over functions of one mapped and some captured tensors, with their arguments: each
    tensor of the sample is mapped once.
    """
    names = [argument.name for argument in info.operator.schema.arguments]
    inputs = [names.index(name) for name in info.operator.derivative.inputs]
    places = [
        place
        for place, value in enumerate(sample.arguments)
        if place in inputs and isinstance(value, Tensor) and value.dtype is dovetail.float64
    ]
    for mapped in places if len(places) > 1 else []:
        captured = [place for place in places if place != mapped]

        def call(x: Tensor, *others: Tensor, mapped: int = mapped, captured: Any = captured) -> Any:
            arguments = list(sample.arguments)
            for place, value in zip([mapped, *captured], [x, *others], strict=True):
                arguments[place] = value
            return weighted(info.op(*arguments, **sample.kwargs))

        yield call, [sample.arguments[place].detach() for place in (mapped, *captured)]


def gradients(call: Callable[..., Tensor], leaves: list[Tensor]) -> list[Tensor]:
    """Return the gradients of the sum of what `call` returns, zeros where there is none."""
    leaves = [each.clone().requires_grad_() for each in leaves]
    total = call(*leaves).sum()
    if not total.requires_grad:
        return [dovetail.zeros_like(leaf) for leaf in leaves]
    found = dovetail.autograd.grad(total, leaves, allow_unused=True)
    return [
        dovetail.zeros_like(leaf) if each is None else each
        for each, leaf in zip(found, leaves, strict=True)
    ]


def check(call: Callable[..., Tensor], x: Tensor, captured: list[Tensor]) -> None:
    """Compare the gradients of captured tensors with those of a loop over the samples."""
    batch = dovetail.stack([x] * SAMPLES)

    def looped(*others: Tensor) -> Tensor:
        return dovetail.stack([call(x, *others) for x in batch.unbind(0)])

    def mapped(*others: Tensor) -> Tensor:
        return vmap(lambda x: call(x, *others))(batch)

    wanted, found = gradients(looped, captured), gradients(mapped, captured)
    transform = grad(lambda *others: mapped(*others).sum(), tuple(range(len(captured))))
    for one, other, loop in zip(found, transform(*captured), wanted, strict=True):
        np.testing.assert_allclose(one.cpu().numpy(), loop.cpu().numpy(), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(other.cpu().numpy(), loop.cpu().numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.operators("info", INFOS)
def test_captured_tensors_have_the_gradients_of_a_loop(info: OpInfo) -> None:
    for sample in info.sample_inputs(dovetail.get_default_device(), dovetail.float64, False):
        for call, (x, *captured) in functions(info, sample):
            check(call, x, captured)


def in_place(info: OpInfo) -> Any:
    """Return the in-place variant of an operator, None if it has none."""
    base = f"{info.operator.base_name}_"
    return next(iter([v.handle for v in info.operator.variants if v.base_name == base]), None)


WRITING = [
    info
    for info in op_infos("aten")
    if dovetail.float64 in info.dtypes
    and info.operator.derivative is not None
    and info.operator.kind != "pointwise"
    and in_place(info) is not None
]


@pytest.mark.operators("info", WRITING)
def test_a_mapped_write_has_the_gradients_of_a_loop(info: OpInfo) -> None:
    for sample in info.sample_inputs(dovetail.get_default_device(), dovetail.float64, False):
        x, *others = sample.arguments
        if not isinstance(x, Tensor) or x.dtype is not dovetail.float64 or x.numel() == 0:
            continue

        def written(x: Tensor, others: Any = others, sample: SampleInput = sample) -> Tensor:
            return weighted(in_place(info)(x * 1, *others, **sample.kwargs))

        batch = dovetail.stack([x, x * 0.75])
        try:
            (wanted,) = gradients(
                lambda batch, f=written: dovetail.stack([f(x) for x in batch.unbind(0)]), [batch]
            )
        except RuntimeError:  # of shapes that do not fit
            continue
        (found,) = gradients(lambda batch, f=written: vmap(f)(batch), [batch])
        np.testing.assert_allclose(found.cpu().numpy(), wanted.cpu().numpy(), rtol=1e-7, atol=1e-9)
