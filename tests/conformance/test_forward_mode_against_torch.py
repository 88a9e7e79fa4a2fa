"""Tangents of every operator with a derivative, against PyTorch's, at the sample points of the
derivative formulas.
"""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
import torch
import torch.autograd.forward_ad as torch_forward_ad

import dovetail
from dovetail.autograd import forward_ad
from dovetail_dispatcher.table import registry

SAMPLES = run_path(str(Path(__file__).with_name("test_derivative_formulas_against_torch.py")))[
    "samples"
](torch)

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


def operator_names() -> list[str]:
    """Return the operators that have samples and a derivative."""
    found = []
    for name in SAMPLES:
        base, _, overload = name.partition(".")
        op = registry.operators.get(f"aten::{base}", {}).get(overload)
        if (
            op is not None
            and op.formula is not None
            and op.formula.inputs
            and not base.startswith("native_dropout")
        ):
            found.append(name)
    return found


def tangent(value: Any, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal(tuple(value.shape))
    return numbers + 1j * rng.standard_normal(tuple(value.shape)) if value.is_complex() else numbers


def run(
    m: Any, ad: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: Any
) -> list[Any]:
    """Return the tangents of an operator of the library `m`: arrays, and None where there is
    none.
    """
    base, _, overload = name.partition(".")
    function = getattr(getattr(m.ops.aten, base), overload or "default")
    seeds = iter(range(100))

    def convert(value: Any, differentiable: bool) -> Any:
        if isinstance(value, torch.Tensor):
            own = value.clone() if m is torch else dovetail.tensor(value.cpu().numpy().copy())
            if differentiable and (value.is_floating_point() or value.is_complex()):
                return ad.make_dual(own, m.tensor(tangent(value, next(seeds))))
            return own
        if isinstance(value, tuple) and len(value) == 2 and value[0] == "constant":
            return convert(value[1], False)
        if isinstance(value, torch.dtype):
            return value if m is torch else getattr(dovetail, str(value).rpartition(".")[2])
        if isinstance(value, (list, tuple)) and any(
            isinstance(each, torch.Tensor) for each in value
        ):
            return [convert(each, differentiable) for each in value]
        return value

    names = [a.name for a in registry.find_or_throw(f"aten::{base}", overload).schema.arguments]
    with ad.dual_level():
        given = [convert(value, n in inputs) for n, value in zip(names, args, strict=False)]
        named = {key: convert(value, key in inputs) for key, value in kwargs.items()}
        returned = function(*given, **named)
        results = returned if isinstance(returned, (list, tuple)) else [returned]
        unpacked = [
            ad.unpack_dual(each).tangent if isinstance(each, m.Tensor) else None for each in results
        ]
    return [
        None if each is None else each.resolve_conj().detach().cpu().numpy() for each in unpacked
    ]


@pytest.mark.parametrize("name", operator_names())
def test_tangents_are_those_of_torch(name: str) -> None:
    base, _, overload = name.partition(".")
    inputs = registry.find_or_throw(f"aten::{base}", overload).formula.inputs
    compared = 0
    for args, kwargs in SAMPLES[name]:
        try:
            expected = run(torch, torch_forward_ad, name, args, kwargs, inputs)
        except NotImplementedError:
            continue
        except (
            RuntimeError
        ) as error:  # PyTorch's own formula for norm gives a tangent of another shape
            assert "different size" in str(error)
            continue
        found = run(dovetail, forward_ad, name, args, kwargs, inputs)
        for ours, theirs in zip(found, expected, strict=True):
            if theirs is None:
                assert ours is None or not ours.any()
            elif ours is None:
                assert not theirs.any()
            else:
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)
        compared += 1
    if not compared:
        pytest.skip("PyTorch has no forward formula")
