"""Gradients of tensors without dimensions are the same whether the engine runs over arrays, which
may be scalars of NumPy there, or over tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail import Tensor
from dovetail.testing import OpInfo, SampleInput, op_infos

INFOS = [
    info
    for info in op_infos("aten")
    if dovetail.float64 in info.dtypes
    and info.operator.derivative is not None
    and not info.operator.schema.is_mutable
]


def tracked(results: Any) -> list[Tensor]:
    """Return the results that have a gradient."""
    if isinstance(results, list | tuple):
        return [each for one in results for each in tracked(one)]
    return [results] if isinstance(results, Tensor) and results.requires_grad else []


def is_input(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype is dovetail.float64


def gradients(info: OpInfo, sample: SampleInput, create_graph: bool) -> list[Any]:
    """Return the gradients of an operator whose arguments and results are computed of others."""
    dovetail.manual_seed(0)
    leaves = [
        each.detach().clone().requires_grad_() if is_input(each) else each
        for each in sample.arguments
    ]
    results = tracked(
        info.op(*[each * 1 if is_input(each) else each for each in leaves], **sample.kwargs)
    )
    inputs = [each for each in leaves if is_input(each)]
    if not results:
        return []
    scaled = [each * 3.0 for each in results]
    seeds = [dovetail.full_like(each, 0.7) for each in scaled]
    found = dovetail.autograd.grad(
        scaled, inputs, seeds, create_graph=create_graph, allow_unused=True
    )
    return [None if each is None else each.detach().cpu().numpy() for each in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.operators("info", INFOS)
def test_gradients_over_arrays_are_those_over_tensors(info: OpInfo) -> None:
    for sample in info.sample_inputs(dovetail.get_default_device(), dovetail.float64, False):
        if not any([is_input(each) and not each.ndim for each in sample.arguments]):
            continue
        try:
            wanted = gradients(info, sample, True)
        except RuntimeError as error:
            assert "differentia" in str(error) or "derivative" in str(error), error
            continue
        for found, other in zip(gradients(info, sample, False), wanted, strict=True):
            assert (found is None) == (other is None)
            if found is not None:
                np.testing.assert_allclose(found, other)
