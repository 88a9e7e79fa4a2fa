"""Checks of `vmap`: it gives what a loop over samples gives, for values and for gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dovetail_aten as aten
from dovetail.testing import assert_close
from dovetail_aten import Tensor
from dovetail_autograd import grad
from dovetail_autograd.transforms import vmap
from dovetail_dispatcher import Operator
from dovetail_dispatcher.testing import CheckSkipped, OpInfo, SampleInput
from dovetail_kernel import Device
from dovetail_kernel import bool as bool_

from .samples import (
    DifferentiableCall,
    assert_same,
    copied,
    differentiable_calls,
    quiet,
    representative_dtypes,
    results_of,
    samples_of,
)
from .variant_checks import variants

__all__ = [
    "check_batched_gradients",
    "check_vmap",
    "check_vmap_gradients",
    "check_vmap_inplace",
    "check_vmap_of_gradients",
]

ENTRIES = 3
LOOSE = 50.0
"""A batched product adds up in another order than single ones."""


def batch_of(tensor: Tensor) -> Tensor:
    """Return three different tensors, the first of which is `tensor`, as one."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return aten.stack([tensor, tensor * 0.5, tensor + 0.25])
    if tensor.dtype is bool_:
        return aten.stack([tensor, aten.logical_not(tensor), tensor])
    return aten.stack([tensor, tensor.flip([0]) if tensor.ndim else tensor, tensor])


def batched_places(sample: SampleInput, op: Operator) -> Iterator[tuple[int, ...]]:
    """Yield which of the tensors are batched: each alone, and all. What is written to always is."""
    count = len(sample.tensors())
    for chosen in [
        *[(place,) for place in range(count)],
        *([tuple(range(count))] if count > 1 else []),
    ]:
        if not op.schema.is_mutable or 0 in chosen:
            yield chosen


def with_tensors(sample: SampleInput, tensors: dict[int, Any]) -> SampleInput:
    """Return a sample with some of its tensors, by place, replaced."""
    places = iter(range(len(sample.tensors())))

    def put(tensor: Any) -> Any:
        place = next(places)
        return tensors.get(place, tensor)

    return sample.transform(put)


def check_vmap(info: OpInfo, device: Device) -> None:
    """Compare calls on batches with a loop."""
    found = False
    for dtype in representative_dtypes(info, "vmap", device):
        for sample in samples_of(info, "vmap", device, dtype):
            for places in batched_places(sample, info.operator):
                found = True
                with quiet():
                    _compare_with_loop(info, info.operator, sample, places)
    if not found:
        raise CheckSkipped("it takes no tensors")


def check_vmap_inplace(info: OpInfo, device: Device) -> None:
    """Compare in-place variants on batches with a loop."""
    for operator in variants(info, out=False):
        for dtype in representative_dtypes(info, "vmap_inplace", device):
            for sample in samples_of(info, "vmap_inplace", device, dtype):
                with quiet():
                    if isinstance(sample.input, Tensor) and _fits_in_place(operator, sample):
                        for places in batched_places(sample, operator):
                            _compare_with_loop(info, operator, sample, places)


def _fits_in_place(operator: Operator, sample: SampleInput) -> bool:
    """Say whether the result has the shape and dtype of `self`; `check_inplace` has the others."""
    given = copied(sample)
    try:
        operator.handle(*given.arguments, **given.kwargs)
    except RuntimeError:
        return False
    return True


def _compare_with_loop(
    info: OpInfo, operator: Operator, sample: SampleInput, places: tuple[int, ...]
) -> None:
    tensors = sample.tensors()
    batches = [batch_of(tensors[place]) for place in places]

    def one(*entries: Any) -> Any:
        given = with_tensors(sample, dict(zip(places, entries, strict=True)))
        made = [each for each in results_of(operator.handle(*given.arguments, **given.kwargs))]
        return [each for each in made if isinstance(each, Tensor)]

    rows = [one(*[batch[entry].clone() for batch in batches]) for entry in range(ENTRIES)]
    if not rows[0]:
        raise CheckSkipped("it gives no tensors")
    copies = [batch.clone() for batch in batches]
    together = vmap(one, randomness="different")(*copies)
    for mine, column in zip(together, zip(*rows, strict=True), strict=True):
        assert_same(mine, aten.stack(list(column)), info, loose=LOOSE)
    if operator.schema.is_mutable:
        assert_same(copies[0], aten.stack([row[0] for row in rows]), info, loose=LOOSE)
        assert copies[0]._version > 0, f"{operator.name} does not count the version of a batch"


# -- gradients -------------------------------------------------------------------------------------

PAIR = 2


def check_batched_gradients(info: OpInfo, device: Device) -> None:
    """Check that a batch of gradients goes backward as one by one."""
    for call in differentiable_calls(info, "batched_gradients", device):
        leaves = call.fresh_leaves()
        for output in call(*leaves):
            seeds = [weights_like(output, seed) for seed in range(PAIR)]
            options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
            together: Any = grad(
                output, leaves, aten.stack(seeds), is_grads_batched=True, **options
            )
            for entry, seed in enumerate(seeds):
                alone = grad(output, leaves, seed, **options)
                for mine, other in zip(together, alone, strict=True):
                    assert_gradient(None if mine is None else mine[entry], other)


def check_vmap_gradients(info: OpInfo, device: Device) -> None:
    """Check that gradients of a mapped operator, over its batched calls, are those of a loop."""
    for call in differentiable_calls(info, "vmap_gradients", device):
        batches = [batch.requires_grad_() for batch in pairs(call)]
        mapped = vmap(call)(*batches)
        rows = [call(*[batch[entry] for batch in batches]) for entry in range(PAIR)]
        for place, mine in enumerate(mapped):
            if not mine.requires_grad:
                continue
            loop = aten.stack([row[place] for row in rows])
            weights = weights_like(mine, place)
            options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
            for left, right in zip(
                grad(mine, batches, weights, **options),
                grad(loop, batches, weights, **options),
                strict=True,
            ):
                assert_gradient(left, right)


def check_vmap_of_gradients(info: OpInfo, device: Device) -> None:
    """Check that gradients inside a mapped function are those of a loop."""
    for call in differentiable_calls(info, "vmap_of_gradients", device):
        batches = pairs(call)

        def gradients(*one: Any, call: DifferentiableCall = call) -> tuple[Any, ...]:
            leaves = [fresh(each) for each in one]
            made = [each for each in call(*leaves) if each.requires_grad]
            weights = [weights_like(each, 1) for each in made]
            grads = grad(made, leaves, weights, allow_unused=True)
            both = zip(leaves, grads, strict=True)
            return tuple([aten.zeros_like(x) if each is None else each for x, each in both])

        mapped = vmap(gradients)(*batches)
        for entry in range(PAIR):
            loop = gradients(*[batch[entry] for batch in batches])
            for mine, other in zip(mapped, loop, strict=True):
                assert_gradient(mine[entry], other)


def pairs(call: DifferentiableCall) -> list[Any]:
    """Return two different values of each leaf, as one tensor."""
    return [aten.stack([leaf.detach(), leaf.detach() * 0.75]) for leaf in call.leaves]


def fresh(tensor: Any) -> Any:
    """Return a new leaf, inside of a transform too, where ``requires_grad_`` is refused."""
    leaf = tensor.detach()
    leaf.requires_grad = True
    return leaf


def weights_like(tensor: Any, seed: int) -> Any:
    """Return a gradient for a tensor: fixed numbers without a pattern."""
    values = np.cos(np.arange(tensor.numel()) * (seed + 1.0) + seed).reshape(tuple(tensor.shape))
    return aten.tensor(values, dtype=tensor.dtype, device=tensor.device)


def assert_gradient(found: Any, expected: Any) -> None:
    """Check that two gradients agree; none is one of zeros."""
    if found is None or expected is None:
        given = expected if found is None else found
        assert given is None or not bool((given != 0).any()), "a gradient is missing"
        return
    assert_close(found.detach(), expected.detach(), rtol=1e-6, atol=1e-9, equal_nan=True)
