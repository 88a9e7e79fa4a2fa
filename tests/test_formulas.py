"""Derivative formulas in use: by in-place variants, and by nodes that get no gradient.

What every formula gives is checked on the samples of its operator: `test_op_infos.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import dovetail
from dovetail.testing import op_infos
from dovetail_dispatcher.table.derivative_formula import Formula


def test_most_operators_have_a_forward_formula_of_their_own() -> None:
    formulas = [info.operator.formula for info in op_infos("aten") if info.supports_autograd]
    formulas = [each for each in formulas if isinstance(each, Formula) and each.inputs]
    assert len([each for each in formulas if each.forward]) > 0.7 * len(formulas)


def test_an_in_place_variant_is_differentiated_and_explained_by_the_formula_of_its_operator() -> (
    None
):
    x = dovetail.ones(2, requires_grad=True) * 1
    step = dovetail.explain(dovetail.ops.aten.mul_.Tensor, x, dovetail.ones(2)).chain[0]
    assert step.rule == "autograd kernel"
    assert "mul_Tensor" in step.kernel
    assert x.mul_(2).grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize(
    "split", [lambda x: x.sort()[0], lambda x: x.chunk(2)[0], lambda x: x.max(0)[0]]
)
def test_a_node_of_several_outputs_of_which_none_has_a_gradient_is_passed_over(split: Any) -> None:
    class Nothing(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> None:
            return None

    x = dovetail.rand(4, requires_grad=True)
    Nothing.apply(split(x)).sum().backward()
    assert x.grad is None


def test_ties_of_amax_are_counted_over_arrays_and_over_tensors_alike() -> None:
    """A name without array kernel would send every backward of amax through tensors."""
    import numpy

    from dovetail_aten.derivative_helpers.reductions import count_along
    from dovetail_dispatcher.table.kernel_namespace import kernel_namespace
    from dovetail_kernel import backend

    for half in (dovetail.float16, dovetail.bfloat16):
        x = dovetail.zeros(5000, dtype=half, requires_grad=True)
        x.amax(0).backward()
        assert dovetail.equal(x.grad, dovetail.full((5000,), 1 / 5000, dtype=half))
    mask = numpy.array([[True, False], [True, True]])
    for dtype in (numpy.float16, numpy.float32, numpy.float64):
        counted = count_along(kernel_namespace(backend("cpu")), mask, 0, mask.astype(dtype))
        assert counted.dtype == dtype
        assert counted.tolist() == [[2.0, 1.0]]


def test_no_gradient_of_plain_arrays_goes_through_tensors_for_want_of_a_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that no array kernel has would do so silently, and cost a multiple on every call."""
    from dovetail_dispatcher.table.kernel_namespace import KernelNamespace, NoArrayKernelError

    missing: set[str] = set()
    find = KernelNamespace.__getattr__

    def note(namespace: KernelNamespace, name: str) -> object:
        try:
            return find(namespace, name)
        except NoArrayKernelError:
            missing.add(name)
            raise

    monkeypatch.setattr(KernelNamespace, "__getattr__", note)
    cpu, found, differentiated = dovetail.device("cpu"), {}, 0
    for info in op_infos("aten"):
        if not info.supports_autograd or info.operator.schema.is_mutable:
            continue
        dtype = dovetail.float32 if dovetail.float32 in info.dtypes else dovetail.float64
        if dtype not in info.dtypes:
            continue
        for sample in info.sample_inputs(cpu, dtype, requires_grad=True):
            given = [*_tensors(sample.arguments), *_tensors(list(sample.kwargs.values()))]
            leaves = [each for each in given if each.requires_grad]
            results = [each for each in _tensors(info.op(*sample.arguments, **sample.kwargs))]
            results = [each for each in results if each.requires_grad]
            if not leaves or not results:
                continue
            missing.clear()
            ones = [dovetail.ones_like(each) for each in results]
            dovetail.autograd.grad(results, leaves, ones, allow_unused=True)
            differentiated += 1
            if missing:
                found[info.name] = sorted(missing)
    assert not found, (
        f"no array kernels for {found}. Write the derivative with names that have one."
    )
    assert differentiated > 1000


def _tensors(value: object) -> Iterator[dovetail.Tensor]:
    if isinstance(value, dovetail.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)


PARTLY = [
    info
    for info in op_infos("aten")
    if isinstance(info.operator.formula, Formula)
    and len(set(info.operator.formula.output_differentiability or ())) > 1
]


@pytest.mark.parametrize("info", PARTLY, ids=lambda info: info.name)
def test_the_same_results_have_gradients_whatever_kernel_computes_them(info: Any) -> None:
    """A composite of several results has gradients for those for which a kernel has them, and its
    node takes gradients up to the last of them.
    """
    from dovetail_testing.checks.samples import dtypes_of, samples_of

    cpu = dovetail.device("cpu")
    last = max(
        n for n, flag in enumerate(info.operator.formula.output_differentiability, 1) if flag
    )
    found = [each for each in dtypes_of(info, "out", cpu) if each.is_floating_point]
    dtype = sorted(found, key=lambda each: each is not dovetail.float64)[0]
    for sample in list(samples_of(info, "out", cpu, dtype, requires_grad=True))[:3]:

        def flags(device: str, sample: Any = sample) -> Any:
            def moved(value: Any) -> Any:
                if isinstance(value, (list, tuple)):
                    return type(value)([moved(each) for each in value])
                if not isinstance(value, dovetail.Tensor):
                    return value
                leaf = value.detach().to(device).requires_grad_(value.requires_grad)
                leaves.extend([leaf] if leaf.requires_grad else [])
                return leaf

            leaves: list[dovetail.Tensor] = []
            kwargs = {name: moved(value) for name, value in sample.kwargs.items()}
            try:
                results = info.op(*[moved(each) for each in sample.arguments], **kwargs)
            except NotImplementedError:  # a shape that follows from values
                return None
            results = results if isinstance(results, (list, tuple)) else [results]
            made = [each for each in results if isinstance(each, dovetail.Tensor)]
            tracked = [each for each in made if each.requires_grad]
            taken: list[int] = []
            for each in tracked[:1]:
                each.grad_fn.register_prehook(lambda grads: taken.append(len(grads)))
                total = each.sum() if each.is_floating_point() else each.real.sum()
                dovetail.autograd.grad(total, leaves, allow_unused=True)
            assert taken == [last for _ in tracked[:1]]
            return [each.requires_grad for each in made]

        on_meta = flags("meta")
        assert on_meta is None or on_meta == flags("cpu")


def test_the_kernel_of_a_derivative_is_placed_where_it_is_declared() -> None:
    x = dovetail.ones(2, requires_grad=True)
    step = dovetail.explain(dovetail.ops.aten.mul.Tensor, x, x).chain[0]
    assert re.fullmatch(r"pointwise/derivatives\.yaml:\d+", step.source)
    assert step.registered_at == step.source
    assert step.distribution == "dovetail-aten"
