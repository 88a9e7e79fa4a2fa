"""Tangents of what is taken and written by strides name places of memory as primals do, wherever
these lie in theirs.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

TENSORS: dict[str, Any] = {
    "whole": lambda base: base,
    "from an offset on": lambda base: base[3:],
    "every second": lambda base: base[4::2],
    "turned": lambda base: base.reshape(4, 6).t(),
    "a turned part": lambda base: base.reshape(4, 6)[1:, 2:].t(),
}
CALLS: dict[str, Any] = {
    "as_strided": lambda lib, x, *places: lib.as_strided(x, *places),
    "as_strided_copy": lambda lib, x, *places: lib.as_strided_copy(x, *places),
    "as_strided_scatter": lambda lib, x, *places: lib.as_strided_scatter(
        x, lib.full((2, 2), 7.0), *places
    ),
    "a view of a view": lambda lib, x, *places: lib.as_strided(x.reshape(-1)[1:], *places),
    "a write to a view": lambda lib, x, *places: lib.as_strided(x, *places).mul_(3) + x.sum(),
}


@pytest.mark.parametrize("offset", [None, 0, 3, 5, 9, 12])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("part", TENSORS)
def test_tangents_are_those_of_the_places_in_memory(
    part: str, name: str, offset: int | None
) -> None:
    def run(lib: Any) -> Any:
        forward_ad = lib.autograd.forward_ad
        with forward_ad.dual_level():
            primal = TENSORS[part](lib.arange(24.0))
            tangent = lib.arange(100.0, 100.0 + primal.numel()).reshape(primal.shape)
            dual = forward_ad.make_dual(primal, tangent)
            try:
                made = CALLS[name](lib, dual, (2, 2), (2, 1), offset)
            except (RuntimeError, NotImplementedError) as error:
                return str(error)
            found = [forward_ad.unpack_dual(each) for each in (made, dual)]
            return [each.cpu().numpy() for pair in found for each in pair]

    ours, theirs = run(dovetail), run(torch)
    if isinstance(theirs, str):
        assert isinstance(ours, str)
    elif isinstance(ours, str):
        # PyTorch has zeros before and behind what has a tangent.
        assert re.match("as_strided: storage_offset .* before the memory|setStorage: ", ours)
    else:
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("part", TENSORS)
def test_writes_to_the_first_view_reach_the_tangent_of_its_base(part: str) -> None:
    def run(lib: Any) -> Any:
        forward_ad = lib.autograd.forward_ad
        with forward_ad.dual_level():
            primal = TENSORS[part](lib.arange(24.0))
            dual = forward_ad.make_dual(primal, lib.ones(primal.shape))
            dual[1:3].mul_(5)
            dual.unsqueeze(0)[0][2].add_(dual[0] * 7)
            return [each.cpu().numpy() for each in forward_ad.unpack_dual(dual)]

    for mine, other in zip(run(dovetail), run(torch), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_where_elements_of_the_primal_alone_share_places_no_tangent_is_taken_by_strides() -> None:
    forward_ad = dovetail.autograd.forward_ad
    places = (2, 2), (2, 1), 5
    with forward_ad.dual_level():
        primal = dovetail.arange(24.0)[4:8].expand(3, 4)
        tangent = dovetail.arange(100.0, 112.0).reshape(3, 4)
        dual = forward_ad.make_dual(primal, tangent)
        for function in (dovetail.as_strided, dovetail.as_strided_copy):
            with pytest.raises(RuntimeError, match=r"elements .* share places .* clone\(\)"):
                function(dual, *places)
        # That writes to a copy in C order.
        written = dovetail.zeros(2, 2)
        found = forward_ad.unpack_dual(dovetail.as_strided_scatter(dual, written, *places)).tangent
        assert found.tolist() == dovetail.as_strided_scatter(tangent, written, *places).tolist()


def _write_to_pairs(lib: Any, x: Any) -> Any:
    base = lib.zeros(3, 2)
    view = lib.view_as_complex(base)[1:]
    base.add_(x)
    return base, view * 1


def _write_to_parts(lib: Any, x: Any) -> Any:
    base = lib.zeros(3, dtype=lib.complex64)
    view = lib.view_as_real(base)[1:, 0]
    base.add_(x[:, 0])
    view.mul_(2)
    return base * 1, view * 1


def _write_through_pairs(lib: Any, x: Any) -> Any:
    base = lib.zeros(4, 2)
    view = lib.view_as_complex(base[1:])
    view.copy_(lib.view_as_complex(x))
    return base * 1, base[2] * 1


@pytest.mark.parametrize("function", [_write_to_pairs, _write_to_parts, _write_through_pairs])
def test_tangents_reach_views_that_show_pairs_of_numbers_as_complex_ones(function: Any) -> None:
    def run(lib: Any) -> Any:
        x = lib.arange(6.0).reshape(3, 2)
        values, tangents = lib.func.jvp(lambda x: function(lib, x), (x,), (x + 10,))
        return [each.cpu().numpy() for each in (*values, *tangents)]

    for ours, theirs in zip(run(dovetail), run(torch), strict=True):
        np.testing.assert_array_equal(ours, theirs)
