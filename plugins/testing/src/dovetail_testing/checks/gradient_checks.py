"""Checks of derivatives: against differences, of both bodies, on meta tensors, in forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dovetail_aten as aten
from dovetail.testing import assert_close
from dovetail_aten import Tensor
from dovetail_autograd import forward_ad, grad, gradcheck, gradgradcheck
from dovetail_dispatcher.testing import OpInfo
from dovetail_kernel import Device, complex128, float64, restoring

from .samples import (
    DifferentiableCall,
    differentiable_calls,
    dtypes_of,
    is_inexact,
    quiet,
    results_of,
    samples_of,
)
from .variant_checks import offset, strided, transposed

__all__ = [
    "check_array_gradients",
    "check_constants",
    "check_forward_ad",
    "check_gradgrad",
    "check_gradients",
    "check_layout_gradients",
    "check_meta_gradients",
]


WHOLE_JACOBIAN = {"gradients": 40, "gradgrad": 12}
"""Up to how many elements of its leaves the gradients of a call are compared one by one: their
number, and the cost of each, grow with it. Of more a projection in a random direction is, to which
all of them contribute.
"""


def check_gradients(info: OpInfo, device: Device) -> None:
    """Compare gradients with numeric differentiation."""
    for call in differentiable_calls(info, "gradients", device):
        fast_mode = _has_many_elements(call, "gradients")
        assert gradcheck(call, call.leaves, check_undefined_grad=False, fast_mode=fast_mode)


def check_gradgrad(info: OpInfo, device: Device) -> None:
    """Compare gradients of gradients with numeric differentiation."""
    for call in differentiable_calls(info, "gradgrad", device):
        fast_mode = _has_many_elements(call, "gradgrad")
        assert gradgradcheck(call, call.leaves, check_undefined_grad=False, fast_mode=fast_mode)


def _has_many_elements(call: DifferentiableCall, check: str) -> bool:
    elements: int = sum([leaf.numel() for leaf in call.leaves])
    return elements > WHOLE_JACOBIAN[check]


def check_constants(info: OpInfo, device: Device) -> None:
    """Check that an operator without derivative gives constants, or raises in backward."""
    for dtype in dtypes_of(info, "constants", device, (float64, complex128)):
        for sample in samples_of(info, "constants", device, dtype, requires_grad=True):
            leaves = [each for each in sample.tensors() if each.requires_grad]
            with quiet():
                results = results_of(info.op(*sample.arguments, **sample.kwargs))
            for result in results:
                if not leaves or not is_inexact(result) or not result.requires_grad:
                    continue
                try:
                    grads = grad(result, leaves, aten.ones_like(result), allow_unused=True)
                except RuntimeError:
                    continue
                assert all(each is None for each in grads), (
                    "a result has a gradient, though supports_autograd is False"
                )


# -- backward --------------------------------------------------------------------------------------


def check_array_gradients(info: OpInfo, device: Device) -> None:
    """Check that gradients over arrays and over tensors (``create_graph``) agree."""
    for call in differentiable_calls(info, "array_gradients", device):
        leaves = call.fresh_leaves()
        outputs = call(*leaves)
        seeds = [aten.ones_like(each) * 0.7 + each.detach() * 0 for each in outputs]
        over_arrays = grad(outputs, leaves, seeds, retain_graph=True, allow_unused=True)
        over_tensors = grad(outputs, leaves, seeds, create_graph=True, allow_unused=True)
        assert_close(
            [_detached(each) for each in over_arrays],
            [_detached(each) for each in over_tensors],
            equal_nan=True,
        )


def check_layout_gradients(info: OpInfo, device: Device) -> None:
    """Check that gradients do not depend on how arguments lie in memory."""
    for call in differentiable_calls(info, "layout_gradients", device):
        expected = _gradients(call, call.fresh_leaves())
        for layout in (transposed, strided, offset):
            leaves = [layout(leaf.detach()).requires_grad_() for leaf in call.leaves]
            assert_close(_gradients(call, leaves), expected, equal_nan=True)


def _gradients(call: DifferentiableCall, leaves: list[Any]) -> list[Any]:
    outputs = call(*leaves)
    seeds = [aten.ones_like(each) * 0.7 for each in outputs]
    return [_detached(each) for each in grad(outputs, leaves, seeds, allow_unused=True)]


def _detached(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach()


def check_meta_gradients(info: OpInfo, device: Device) -> None:
    """Check that gradients on the meta device have the shapes and dtypes of real ones."""
    meta = Device("meta")
    for call in differentiable_calls(info, "meta_gradients", device):
        real = _described_gradients(call, device)
        assert _described_gradients(call, meta) == real, f"not {real}"


def _described_gradients(call: DifferentiableCall, device: Device) -> list[Any]:
    """Return shapes and dtypes of the gradients over arrays, and over tensors."""
    leaves = [leaf.to(device).detach().requires_grad_() for leaf in call.leaves]
    outputs = call(*leaves, device=device)
    seeds = [aten.ones_like(each) for each in outputs]
    described: list[Any] = []
    for create_graph in (False, True):
        grads = grad(
            outputs, leaves, seeds, retain_graph=True, create_graph=create_graph, allow_unused=True
        )
        described.append(
            [None if each is None else (tuple(each.shape), each.dtype) for each in grads]
        )
    return described


# -- forward mode ----------------------------------------------------------------------------------

STEP = 1e-6


def check_forward_ad(info: OpInfo, device: Device) -> None:
    """Compare tangents with differences of values, and with gradients, whose transpose they are."""
    for call in differentiable_calls(info, "forward_ad", device):
        primals = [leaf.detach() for leaf in call.leaves]
        tangents = [_direction(primal, place) for place, primal in enumerate(primals)]
        found = _pushed_forward(call, primals, tangents)
        above, below = [
            call(*[p + sign * STEP * t for p, t in zip(primals, tangents, strict=True)])
            for sign in (1, -1)
        ]
        differences = [(up - down) / (2 * STEP) for up, down in zip(above, below, strict=True)]
        for mine, other in zip(found, differences, strict=True):
            assert_close(mine, other, rtol=1e-4, atol=1e-6, check_dtype=False, equal_nan=True)
        _check_transpose(call, tangents, found)


@restoring(*forward_ad.dual_level.variables)
def _pushed_forward(call: DifferentiableCall, primals: list[Any], tangents: list[Any]) -> list[Any]:
    with forward_ad.dual_level():
        pairs = zip(primals, tangents, strict=True)
        duals = [forward_ad.make_dual(primal.clone(), tangent) for primal, tangent in pairs]
        unpacked: list[Any] = [forward_ad.unpack_dual(result) for result in call(*duals)]
    return [
        aten.zeros_like(each.primal) if each.tangent is None else each.tangent for each in unpacked
    ]


def _check_transpose(
    call: DifferentiableCall, tangents: Sequence[object], pushed: Sequence[object]
) -> None:
    """Check that ``<seed, J t> == <Jᵀ seed, t>``."""
    leaves = call.fresh_leaves()
    outputs = call(*leaves)
    seeds = [_direction(each, 5 + place).to(each.dtype) for place, each in enumerate(outputs)]
    grads = grad(outputs, leaves, seeds, materialize_grads=True)
    left, right = _inner(seeds, pushed), _inner(grads, tangents)
    assert_close(left, right, rtol=1e-6, atol=1e-8)


def _inner(left: Any, right: Any) -> float:
    pairs = zip(left, right, strict=True)
    return sum(float((one.conj() * other).sum().real) for one, other in pairs)


def _direction(tensor: Tensor, seed: int) -> Tensor:
    """Return a tangent for a tensor: fixed numbers without a pattern."""
    count = aten.arange(tensor.numel(), dtype=float64, device=tensor.device)
    numbers = count.reshape(tuple(tensor.shape))
    real = ((numbers + 1.0) * (1.7 + seed)).sin()
    made: Tensor = real + 1j * (numbers * (0.9 + seed)).cos() if tensor.is_complex() else real
    return made
