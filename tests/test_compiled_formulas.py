"""Formulas that are programs do what their Python text does: the gradients of the samples of every
operator, by the compiled loop with programs and by the loop in Python, have the same bits and
layout, or the same error.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail_autograd.graph.accumulate import watch
from dovetail_autograd.sockets import COMPILED_LOOP
from dovetail_dispatcher import compiled_code
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import Formula
from dovetail_dispatcher.table.kernel_namespace import kernel_namespace
from dovetail_dispatcher.testing import OpInfo, SampleInput, op_infos
from dovetail_kernel import backend
from dovetail_testing.checks import samples

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="there is no compiled code"),
    pytest.mark.cpu_only(reason="only the loop over arrays of NumPy is compiled"),
]

DTYPES = (dovetail.float64, dovetail.complex64, dovetail.float16)
SAMPLES = 5
INFOS = [each for each in op_infos("aten") if each.supports_autograd]


@pytest.fixture(autouse=True)
def formulas_are_programs_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (dovetail.ones(1, requires_grad=True) * 1).sum().backward()
    from dovetail_native import engine_loop

    monkeypatch.setattr(watch, "leaves", False)
    engine_loop.install(runs_in_python=0)
    yield
    engine_loop.install()


def gradients(info: OpInfo, sample: SampleInput) -> Any:
    """Return what is seen of the gradients of a call for all its tensors; or an error."""
    given = samples.copied(sample)
    values = [*given.arguments, *given.kwargs.values()]
    values += [item for each in values if isinstance(each, list | tuple) for item in each]
    leaves = [each for each in values if isinstance(each, dovetail.Tensor)]
    leaves = [each for each in leaves if each.dtype.is_floating_point or each.dtype.is_complex]
    for leaf in leaves:
        leaf.requires_grad_()
    dovetail.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = info.op(*given.arguments, **given.kwargs)
            results = [made] if isinstance(made, dovetail.Tensor) else list(made)
            outputs = [each for each in results if getattr(each, "requires_grad", False)]
            if not outputs or not leaves:
                return None
            seeds = [dovetail.ones_like(each) for each in outputs]
            dovetail.autograd.backward(outputs, seeds, retain_graph=True)
            last = dovetail.autograd.grad(outputs[-1], leaves, seeds[-1], allow_unused=True)
        except Exception as error:
            return type(error), str(error)
    return [_seen(each) for each in (*[leaf.grad for leaf in leaves], *last)]


def _seen(grad: Any) -> Any:
    if grad is None:
        return None
    return grad.dtype, grad.shape, grad.stride(), np.ascontiguousarray(grad.array).tobytes()


@pytest.mark.operators("info", INFOS)
def test_samples_have_the_same_gradients_both_ways(info: OpInfo) -> None:
    device = dovetail.get_default_device()
    for dtype in [each for each in DTYPES if each in info.dtypes]:
        with samples.quiet():
            given = list(info.sample_inputs(device, dtype, requires_grad=True))[:SAMPLES]
        compiled = [gradients(info, sample) for sample in given]
        plug = COMPILED_LOOP.plug
        COMPILED_LOOP.fill(None)
        try:
            python = [gradients(info, sample) for sample in given]
        finally:
            COMPILED_LOOP.fill(plug)
        assert compiled == python, dtype


def test_every_formula_with_kernels_is_a_program() -> None:
    """But for those whose text raises an error: they have no derivative."""
    from dovetail_autograd import build_node_class
    from dovetail_native.formulas import lowered_body

    kernels = kernel_namespace(backend("cpu"))
    left: list[str] = []
    for op in registry.all_operators():
        formula = op.formula
        if not isinstance(formula, Formula) or formula.arrays is None or op.namespace != "aten":
            continue
        route = lowered_body(build_node_class(formula), kernels)[1]
        if route is None and "raise NotImplementedError" not in inspect.getsource(formula.arrays):
            left.append(formula.operator)
    assert len(left) <= 1, left


def test_text_of_another_function_is_not_lowered() -> None:
    from dovetail_autograd import build_node_class
    from dovetail_native.formulas import lowered_body

    formula = registry.find_or_throw("aten::mul", "Tensor").formula

    def apply_arrays(node: Any, k: Any, edges: Any, grad: Any) -> Any:
        return (grad,)

    class Changed(build_node_class(formula)):  # type: ignore[misc]
        pass

    Changed.apply_arrays = apply_arrays
    kernels = kernel_namespace(backend("cpu"))
    assert lowered_body(Changed, kernels)[1] is not None
    apply_arrays.__code__ = (lambda node, k, edges, grad: (grad + 1,)).__code__.replace(
        co_filename=apply_arrays.__code__.co_filename,
        co_firstlineno=apply_arrays.__code__.co_firstlineno,
    )
    assert lowered_body(Changed, kernels)[1] is None
