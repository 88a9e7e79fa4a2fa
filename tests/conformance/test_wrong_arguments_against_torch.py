"""Arguments that are missing or of the wrong type raise what they raise in PyTorch: a TypeError."""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import tried

import dovetail
from dovetail.testing import OpInfo, op_infos
from dovetail_kernel import Device
from dovetail_testing.checks.samples import dtypes_of, samples_of

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

CALLS = {
    "result_type of dtypes": lambda lib, x: lib.result_type(lib.float32, lib.float64),
    "result_type of text": lambda lib, x: lib.result_type(x, "a"),
    "promote_types of tensors": lambda lib, x: lib.promote_types(x, x),
    "flip": lambda lib, x: lib.flip(x),
    "x.flip": lambda lib, x: x.flip(),
    "flip None": lambda lib, x: lib.flip(x, None),
    "permute": lambda lib, x: lib.permute(x),
    "x.permute": lambda lib, x: x.permute(),
    "x.reshape": lambda lib, x: x.reshape(),
    "x.view": lambda lib, x: x.view(),
    "x.expand": lambda lib, x: x.expand(),
    "x.repeat": lambda lib, x: x.repeat(),
    "x.tile": lambda lib, x: x.tile(),
    "cat of a tensor": lambda lib, x: lib.cat(x),
    "cat of a number": lambda lib, x: lib.cat([x, 1]),
    "topk by a fraction": lambda lib, x: lib.topk(x, 1.5),
    "cumsum None": lambda lib, x: lib.cumsum(x, None),
    "full of nothing": lambda lib, x: lib.full((2,), None),
    "full of text": lambda lib, x: lib.full((2,), "a"),
    "linspace by a fraction": lambda lib, x: lib.linspace(0, 1, 2.5),
    "randperm of a fraction": lambda lib, x: lib.randperm(2.5),
    "x + text": lambda lib, x: x + "a",
    "x < text": lambda lib, x: x < "a",
    "x // text": lambda lib, x: x // "a",
    "shapes of fractions": lambda lib, x: lib.broadcast_shapes(1.5),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_raises_as_in_pytorch(call: str) -> None:
    with pytest.raises(Exception) as theirs:
        CALLS[call](torch, torch.arange(4.0))
    with pytest.raises(theirs.type):
        CALLS[call](dovetail, dovetail.arange(4.0))


def public(info: OpInfo) -> Any:
    return getattr(dovetail, info.operator.base_name, None)


PUBLIC = [
    info
    for info in op_infos("aten")
    if public(info) is not None and hasattr(torch, info.operator.base_name)
]


class Nothing:
    """A value of no type that operators know."""


@pytest.mark.parametrize("info", PUBLIC, ids=lambda info: info.name.partition("::")[2])
def test_each_argument_of_an_operator_that_is_missing_or_nothing_known_is_a_type_error(
    info: OpInfo,
) -> None:
    dtypes = dtypes_of(info, "out", Device("cpu"))
    sample = next(iter(samples_of(info, "out", Device("cpu"), dtypes[0])), None)
    if sample is None:
        pytest.skip("there is no sample")
    function, given = public(info), list(sample.arguments)
    for place in range(len(given)):
        wrong = [*given[:place], Nothing(), *given[place + 1 :]]
        with pytest.raises((TypeError, ValueError)):
            function(*wrong, **sample.kwargs)
    if info.operator.base_name == "trace":
        return  # trace() is the former name of tracing(), and still accepted
    kinds = (TypeError, ValueError)
    try:
        found = getattr(torch, info.operator.base_name)()
    except Exception as theirs:
        with pytest.raises(kinds if isinstance(theirs, kinds) else type(theirs)):
            function()
    else:  # of no tensors: atleast_1d() is (), block_diag() a matrix without elements
        assert getattr(function(), "shape", ()) == getattr(found, "shape", found)


NONE = {
    "amax": lambda lib, x: lib.amax(x, None),
    "amin": lambda lib, x: x.amin(dim=None),
    "roll": lambda lib, x: lib.roll(x, 1, None),
    "avg_pool1d": lambda lib, x: lib.nn.functional.avg_pool1d(x[0], 2, None),
    "avg_pool2d": lambda lib, x: lib.nn.functional.avg_pool2d(x, 2, None),
    "avg_pool3d": lambda lib, x: lib.nn.functional.avg_pool3d(x, (1, 2, 2), stride=None),
    "max_pool2d": lambda lib, x: lib.nn.functional.max_pool2d(x, 2, None),
    "max_pool3d": lambda lib, x: lib.nn.functional.max_pool3d(x, (1, 2, 2), None),
    "padding": lambda lib, x: lib.nn.functional.avg_pool2d(x, 2, 2, None),
    "logsumexp": lambda lib, x: lib.logsumexp(x, None),
}


@pytest.mark.parametrize("call", NONE)
def test_a_list_that_is_empty_by_default_may_be_none_as_in_pytorch(call: str) -> None:
    ours, theirs = (
        tried(lambda lib=lib: NONE[call](lib, lib.arange(64.0).reshape(1, 4, 4, 4)), words=0)
        for lib in (dovetail, torch)
    )
    assert ours == theirs
