"""Derivatives and `vmap` together: of a batch of gradients, of a batch of samples, and inside of a
mapped function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differentiable_calls import differentiable_calls, differentiable_operators

import dovetail as dt

BATCH = 2

OFFSETS = {
    "as_strided": "an offset is that of the first sample, and not of every slice, as in PyTorch"
}
NOT_CONSISTENT = {
    **OFFSETS,
    "native_layer_norm_backward": "right only for the mean and deviation of the "
    "input, which the samples do not give",
    "nll_loss_backward": "right only for the total weight of the targets, "
    "which shifted samples do not give",
}
"""Operators whose samples cannot be compared, and why."""


def outputs_of(function: Any, inputs: list[Any]) -> list[Any]:
    """Return the differentiable results of a call."""
    return [each for each in function(*inputs) if each.requires_grad]


def weights_like(tensor: Any, seed: int) -> Any:
    values = np.cos(np.arange(tensor.numel()) * (seed + 1.0) + seed).reshape(tuple(tensor.shape))
    return dt.tensor(values, dtype=tensor.dtype)


def assert_close(found: Any, wanted: Any) -> None:
    if found is None or wanted is None:
        given = wanted if found is None else found
        assert given is None or not bool(given.abs().max() > 0)
        return
    np.testing.assert_allclose(
        np.asarray(found.detach()), np.asarray(wanted.detach()), rtol=1e-6, atol=1e-9
    )


def fresh(tensor: Any) -> Any:
    """Return a new leaf, inside of a transform too, where ``requires_grad_`` is refused."""
    leaf = tensor.detach()
    leaf.requires_grad = True
    return leaf


def leaves(inputs: list[Any]) -> list[Any]:
    return [each.detach().clone().requires_grad_() for each in inputs]


@pytest.mark.parametrize("name", differentiable_operators())
def test_a_batch_of_gradients_goes_backward_as_one_by_one(name: str) -> None:
    for function, given in differentiable_calls(name):
        inputs = leaves(given)
        for output in outputs_of(function, inputs):
            grads = [weights_like(output, seed) for seed in range(BATCH)]
            together = dt.autograd.grad(
                output,
                inputs,
                dt.stack(grads),
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=True,
            )
            for entry, grad in enumerate(grads):
                alone = dt.autograd.grad(output, inputs, grad, retain_graph=True, allow_unused=True)
                for found, wanted in zip(together, alone, strict=True):
                    assert_close(None if found is None else found[entry], wanted)


@pytest.mark.parametrize("name", [n for n in differentiable_operators() if n not in NOT_CONSISTENT])
def test_gradients_of_a_mapped_operator_are_those_of_a_loop(name: str) -> None:
    """The graph is that of the physical calls, which batching rules make."""
    for function, given in differentiable_calls(name):
        batches = [
            dt.stack([each.detach(), each.detach() * 0.75]).requires_grad_() for each in given
        ]
        mapped = dt.vmap(function)(*batches)
        rows = [function(*[batch[entry] for batch in batches]) for entry in range(BATCH)]
        for position, found in enumerate(mapped):
            if not found.requires_grad:
                continue
            wanted = dt.stack([row[position] for row in rows])
            weights = weights_like(found, position)
            for left, right in zip(
                dt.autograd.grad(found, batches, weights, retain_graph=True, allow_unused=True),
                dt.autograd.grad(wanted, batches, weights, retain_graph=True, allow_unused=True),
                strict=True,
            ):
                assert_close(left, right)


@pytest.mark.parametrize("name", [n for n in differentiable_operators() if n not in OFFSETS])
def test_gradients_inside_of_a_mapped_function_are_those_of_a_loop(name: str) -> None:
    """The graph is that of the wrapped tensors, and its formulas run on them."""
    for function, given in differentiable_calls(name):
        batches = [dt.stack([each.detach(), each.detach() * 0.75]) for each in given]

        def gradients(*one: Any, function: Any = function) -> tuple[Any, ...]:
            inputs = [fresh(each) for each in one]
            made = outputs_of(function, inputs)
            grads = dt.autograd.grad(
                made, inputs, [weights_like(each, 1) for each in made], allow_unused=True
            )
            return tuple(
                [
                    dt.zeros_like(x) if grad is None else grad
                    for x, grad in zip(inputs, grads, strict=True)
                ]
            )

        mapped = dt.vmap(gradients)(*batches)
        for entry in range(BATCH):
            for found, wanted in zip(
                mapped, gradients(*[batch[entry] for batch in batches]), strict=True
            ):
                assert_close(found[entry], wanted)
