"""Tangents in `no_grad` mode of leaves that require grad, for every operator with a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle.op_info_trials import differentiable, differentiable_results, results, samples

import dovetail
from dovetail.testing import OpInfo, SampleInput

pytestmark = pytest.mark.cpu_only(reason="the samples of the hunts are arrays of NumPy")


def tangents(info: OpInfo, sample: SampleInput, places: tuple[int, ...]) -> list[Any]:
    """Return the tangents of the results, all arguments that require grad varying."""
    tensors = sample.tensors()
    varied = [place for place, each in enumerate(tensors) if each.requires_grad]

    def body(*given: Any) -> Any:
        moved = dict(zip(varied, given, strict=True))
        values = iter([moved.get(place, each) for place, each in enumerate(tensors)])
        made = results(info.op, sample.transform(lambda tensor: next(values)))
        return tuple([made[place] for place in places])

    primals = tuple([tensors[place] for place in varied])
    along = tuple([dovetail.cos(each.detach() + k) for k, each in enumerate(primals)])
    with np.errstate(all="ignore"):
        return list(dovetail.func.jvp(body, primals, along)[1])


@pytest.mark.operators("info", differentiable())
def test_a_tangent_does_not_depend_on_the_grad_mode(info: OpInfo) -> None:
    for sample in samples(info, dovetail.float64)[:3]:
        places = differentiable_results(info, sample)
        expected = tangents(info, sample, places)
        with dovetail.no_grad():
            found = tangents(info, sample, places)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                mine.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-12
            )
