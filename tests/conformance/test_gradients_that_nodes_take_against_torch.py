"""How many gradients the node of a call with several results takes, and which of the results have
it for their node.
"""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

pytest.importorskip("expecttest", reason="PyTorch's table of operators needs it")

from op_db_checks import entries, twin_of
from torch_twins import Absent, function_twin, here

OTHERS = {
    "lu_unpack": "the first result, which has no gradient, is counted",
    "linalg.lu": "is made by lu_unpack",
    "triangular_solve": "is composed of other operators",
    "_native_batch_norm_legit": "is composed of other operators",
    "_batch_norm_with_update": "is composed of other operators",
}
"""Entries whose nodes are others, and why."""


def _node(result: Any) -> Any:
    node = result.grad_fn
    if node is None:
        return None
    name = node.name().rpartition("::")[2].rstrip("0123456789")
    return name, len(node._input_metadata), result.output_nr


def _nodes(made: Any) -> list[Any]:
    results = made if isinstance(made, tuple | list) else [made]
    return [_node(each) for each in results if isinstance(each, torch.Tensor | dovetail.Tensor)]


def _has_several(entry: Any) -> bool:
    packet = getattr(torch.ops.aten, entry.aten_name, None)
    if packet is None or not entry.supports_autograd or torch.float64 not in entry.dtypes:
        return False
    returns = [getattr(packet, each)._schema.returns for each in packet.overloads()]
    return any([[str(each.type) for each in some[:2]] == ["Tensor", "Tensor"] for some in returns])


def test_nodes_of_several_results_take_as_many_gradients() -> None:
    different = []
    names = [name for name, entry in entries().items() if _has_several(entry)]
    for name in names:
        entry = entries()[name]
        try:
            function = function_twin(entry.op)
        except Absent:
            function = here(entry.name)
        for sample in islice(entry.sample_inputs("cpu", torch.float64, requires_grad=True), 2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = twin_of(sample)
                found = _nodes(function(ours.input, *ours.args, **ours.kwargs))
                expected = _nodes(entry.op(sample.input, *sample.args, **sample.kwargs))
            if found != expected:
                different.append(name)
    assert len(names) > 40
    assert {*different} == {*OTHERS}


def _of_group_norm(lib: Any, used: tuple[int, ...]) -> list[Any]:
    random = np.random.default_rng(0)
    inputs = [
        lib.tensor(random.normal(size=size), requires_grad=True) for size in ((2, 4, 3), 4, 4)
    ]
    made = lib.native_group_norm(*inputs, 2, 4, 3, 2, 1e-5)
    seeds = [lib.tensor(random.normal(size=tuple(each.shape))) for each in made]
    loss = sum([(made[at] * seeds[at]).sum() for at in used])
    first = lib.autograd.grad(loss, inputs, create_graph=True, allow_unused=True)
    again = sum([(each**2).sum() for each in first if each is not None and each.requires_grad])
    second = lib.autograd.grad(again, inputs, allow_unused=True)
    return [None if each is None else each.detach().cpu().numpy() for each in (*first, *second)]


@pytest.mark.parametrize("used", [(0,), (0, 1, 2)])
def test_statistics_of_group_norm_have_gradients(used: tuple[int, ...]) -> None:
    for ours, theirs in zip(*[_of_group_norm(lib, used) for lib in (dovetail, torch)], strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours, theirs, 1e-9, 1e-9)


def test_some_statistics_of_group_norm() -> None:
    """PyTorch's derivative leaves a part out if one of the statistics is not used."""

    def used(lib: Any, *at: int) -> Any:
        def function(x: Any) -> Any:
            made = lib.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
            return [made[each] for each in at]

        random = np.random.default_rng(0)
        x = lib.tensor(random.normal(size=(2, 4, 3)), requires_grad=True)
        try:
            return lib.autograd.gradcheck(lambda x: tuple(function(x)), (x,))
        except RuntimeError:
            return "wrong"

    cases = ((1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
    assert [used(dovetail, *each) for each in cases] == [True] * len(cases)
    assert "wrong" in [used(torch, *each) for each in cases]
