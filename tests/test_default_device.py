"""The default device decides where a program's new tensors lie, and nothing about calls that are
given tensors: what an operator makes for itself lies where its arguments do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dovetail
from dovetail import Tensor, float32
from dovetail.testing import OpInfo, op_infos

X = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.fixture
def elsewhere() -> Iterator[dovetail.device]:
    """The device of the test run, while the default device is another one, without data."""
    device = dovetail.get_default_device()
    dovetail.set_default_device("meta")
    try:
        yield device
    finally:
        dovetail.set_default_device(device)


@pytest.mark.parametrize(
    "index",
    [
        [1, 0],
        ([[0, 1], [1, 0]],),
        [True, False],
        True,
        (slice(None), [0, 1, 0]),
        ([0, 1], [1, 2]),
        (..., [2]),
        (None, [1]),
    ],
    ids=str,
)
def test_a_list_is_an_index_on_the_device_of_what_it_indexes(
    elsewhere: dovetail.device, index: Any
) -> None:
    x = dovetail.tensor(X, device=elsewhere)
    expected = x.cpu().numpy()[index]
    assert x[index].device == x.device
    assert x[index].cpu().numpy().tolist() == expected.tolist()
    for value in (9.0, dovetail.tensor(9.0, device=elsewhere)):
        written, array = x.clone(), x.cpu().numpy().copy()
        written[index] = value
        array[index] = 9.0
        assert written.cpu().numpy().tolist() == array.tolist()


def places(value: Any) -> set[dovetail.device]:
    """Return the devices of the tensors in a result."""
    if isinstance(value, Tensor):
        return {value.device}
    return set().union(*map(places, value)) if isinstance(value, list | tuple) else set()


@pytest.mark.operators("info", op_infos("aten"))
def test_what_an_operator_makes_lies_where_its_arguments_do(
    info: OpInfo, elsewhere: dovetail.device
) -> None:
    dtype = float32 if float32 in info.dtypes else min(info.dtypes, key=str)
    writes = info.operator.schema.is_mutable
    differentiable = dtype is float32 and info.supports_autograd and not writes
    for sample in info.sample_inputs(elsewhere, dtype, differentiable)[:3]:
        given = places(sample.tensors())
        if not given:
            continue  # a factory, which the default device is for
        made = info.op(*sample.arguments, **sample.kwargs)
        assert places(made) <= given, sample
        results = made if isinstance(made, list | tuple) else [made]
        roots = [each for each in results if isinstance(each, Tensor) and each.requires_grad]
        leaves = [each for each in sample.tensors() if each.requires_grad]
        if roots and leaves:
            seeds = [dovetail.ones_like(each) for each in roots]
            grads = dovetail.autograd.grad(roots, leaves, seeds, allow_unused=True)
            assert places([each for each in grads if each is not None]) <= given, sample
