"""What is written to the results of an operator reaches the argument whose memory they show, and
its tangent: whether the schema says that they show it or not.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from frozen_arrays import unwritten_and_written

import dovetail
from dovetail import Tensor
from dovetail.func import jvp
from dovetail.testing import OpInfo, SampleInput, op_infos

pytestmark = pytest.mark.cpu_only(reason="the tests make backends of their own")

WITHOUT_TANGENT = {
    "detach": "what it returns has no tangent, and gets none",
    "_unsafe_view": "its argument is given up: nobody looks at it afterwards",
}
REFUSED_WITHOUT_MEMORY = {"unfold": "windows may overlap"}
INFOS = [
    info
    for info in op_infos("aten")
    if dovetail.float64 in info.dtypes
    and not info.operator.schema.is_mutable
    and info.operator.base_name not in WITHOUT_TANGENT
]


def samples(info: OpInfo, device: str) -> list[SampleInput]:
    """Return the samples of an operator whose first argument is a tensor of finite numbers."""
    found = info.sample_inputs(dovetail.device(device), dovetail.float64, False)
    return [
        sample
        for sample in found
        if sample.arguments
        and isinstance(sample.input, Tensor)
        and sample.input.dtype is dovetail.float64
        and sample.input.numel()
        and sample.input.isfinite().all()
    ]


def tensors(results: Any) -> list[Tensor]:
    """Return the tensors among results that can be multiplied by a number."""
    if isinstance(results, list | tuple):
        return [each for one in results for each in tensors(one)]
    return [results] if isinstance(results, Tensor) and results.dtype is dovetail.float64 else []


def written(info: OpInfo, sample: SampleInput, x: Tensor) -> Tensor:
    """Return a copy of `x` after the results of the operator were multiplied in place."""
    copy = x * 1.0
    results = tensors(info.op(copy, *sample.args, **sample.kwargs))
    for number, result in enumerate(results, 2):
        result.mul_(x.sum().cos() + number)
    return copy


@pytest.mark.operators("info", INFOS)
def test_a_write_to_a_result_reaches_what_it_shows_and_its_tangent(info: OpInfo) -> None:
    unwritten = unwritten_and_written()[0]
    for number, sample in enumerate(samples(info, "cpu")):
        x = sample.input.detach()
        try:
            value = written(info, sample, x)
        except (RuntimeError, IndexError, ValueError):
            continue  # what shows an element twice is not written
        if value.equal(x):
            continue
        step, direction = 1e-6, (x.flatten() + 1).cos().cumsum(0).reshape(x.shape)
        ahead, behind = (written(info, sample, x + way * step * direction) for way in (1, -1))
        found = jvp(partial(written, info, sample), (x,), (direction,))
        slope = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(found[1].numpy(), slope.numpy(), rtol=1e-5, atol=1e-6)
        if info.operator.base_name in REFUSED_WITHOUT_MEMORY:
            continue
        twin = samples(info, unwritten)[number]
        there = jvp(partial(written, info, twin), (x.to(unwritten),), (direction.to(unwritten),))
        for one, other in zip(there, found, strict=True):
            np.testing.assert_allclose(one.cpu().numpy(), other.numpy(), rtol=1e-12)
