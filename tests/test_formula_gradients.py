"""Every derivative formula of the base library against differences of values, once and twice, for
random shapes.

The shapes have zero and more dimensions and sizes of zero, operands broadcast, and layouts are not
contiguous. `DOVETAIL_FORMULA_EXAMPLES=100` makes more of them.
"""

from __future__ import annotations

import os
import warnings

import pytest
from formula_samples import COMPLEX, INTERVALS, Sampler, arguments, function_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dovetail
from dovetail.autograd import gradcheck, gradgradcheck
from dovetail_dispatcher.table import registry

EXAMPLES = int(os.environ.get("DOVETAIL_FORMULA_EXAMPLES", "6"))
ELSEWHERE = {
    **dict.fromkeys(
        [
            "uniform_",
            "normal_",
            "bernoulli",
            "bernoulli_.float",
            "native_dropout",
            "native_dropout_backward",
        ],
        "random",
    ),
    **dict.fromkeys(["floor_divide", "floor_divide.Scalar"], "the formula says that there is none"),
    **dict.fromkeys(
        ["copy_", "fill_.Scalar", "fill_.Tensor", "zero_"], "in place: tests of writes"
    ),
}
"""Operators with a formula that are not differentiated here, and why."""


def differentiable() -> list[str]:
    """Return the functional operators with formulas, but those of gradients: these are what is
    differentiated twice.
    """
    found = []
    for op in registry.all_operators():
        name = f"{op.base_name}.{op.overload}" if op.overload else op.base_name
        if (
            op.namespace != "aten"
            or op.formula is None
            or not op.formula.inputs
            or name in ELSEWHERE
        ):
            continue
        if "backward" not in name and not any(a.is_write for a in op.schema.arguments):
            found.append(name)
    return found


@pytest.mark.parametrize("name", differentiable())
def test_the_formula_is_the_derivative_and_so_is_its_own(name: str) -> None:
    low, high = INTERVALS.get(name, (-1.6, 1.8))

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def check(data: st.DataObject) -> None:
        is_complex = name == "view_as_real" or (name in COMPLEX and data.draw(st.booleans()))
        sampler = Sampler(
            data.draw, low, high, dovetail.complex128 if is_complex else dovetail.float64
        )
        run = function_of(name, arguments(name, sampler))
        if not run(*sampler.leaves):
            return
        assert gradcheck(run, sampler.leaves, check_undefined_grad=False)
        assert gradgradcheck(run, sampler.leaves, check_undefined_grad=False)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()
