"""`explain`: which kernels a call would run, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from dovetail_dispatcher import Explanation, Library, custom_op, explain, ops
from dovetail_kernel import AutoDispatchBelowAutograd, TensorBase

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]


def kernel(x: TensorBase, n: int = 1) -> TensorBase:
    raise AssertionError("explain runs no kernel")


@pytest.fixture
def lib(library: Libraries) -> Library:
    made = library("ee", "DEF")
    made.define("f(Tensor x, int n=1) -> Tensor")
    made.impl("f", kernel, "CPU")
    made.impl("f", kernel, "Autograd")
    return made


def test_the_keys_are_accounted_for(lib: Library, tensor: Tensors) -> None:
    e = explain(ops.ee.f, tensor([1.0, 2.0]))
    assert isinstance(e, Explanation)
    assert e.operator == "ee::f"
    assert [(a.name, a.keys) for a in e.arguments] == [
        ("x", ("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"))
    ]
    assert "float32[2] on cpu" in e.arguments[0].value
    assert e.included == ("BackendSelect", "ADInplaceOrView")
    assert "AutocastCPU" in e.excluded
    assert e.fallthrough == ("BackendSelect", "ADInplaceOrView")
    assert (e.keys, e.chosen) == (("CPU", "AutogradCPU"), "AutogradCPU")


def test_the_chain_goes_from_autograd_to_the_backend_with_places(
    lib: Library, tensor: Tensors
) -> None:
    chain = explain(ops.ee.f.default, tensor(), n=3).chain
    assert [(step.key, step.rule, step.registered_for) for step in chain] == [
        ("AutogradCPU", "autograd kernel", "Autograd"),
        ("CPU", "kernel", "CPU"),
    ]
    line = kernel.__code__.co_firstlineno
    for step in chain:
        assert step.kernel.endswith("test_explain.kernel")
        assert step.source.endswith(f"test_explain.py:{line}")
        assert re.search(r"\.py:\d+$", step.registered_at)


def test_the_state_of_the_task_counts(lib: Library, tensor: Tensors) -> None:
    with AutoDispatchBelowAutograd():
        e = explain("ee::f", tensor())
    assert e.chosen == "CPU"
    assert "AutogradCPU" in e.excluded
    assert [step.key for step in e.chain] == ["CPU"]


def test_the_route_is_shown_as_text(lib: Library, tensor: Tensors) -> None:
    e = explain("ee::f", tensor())
    assert e.route.startswith("def f(x, n):\n    result = kernel(x, n)\n")
    assert e.error is None


def test_the_kernels_come_first_and_the_route_on_request(lib: Library, tensor: Tensors) -> None:
    e = explain("ee::f", tensor())
    assert str(e).splitlines()[1] == "├─ kernels"
    assert "def f(" not in str(e)
    assert e.as_text(route=True).endswith(
        "\n".join([f"     {line}" for line in e.route.splitlines()])
    )
    lib.define("g(Tensor x) -> Tensor")
    assert str(explain(ops.ee.g, tensor())).splitlines()[1] == "├─ the call raises"


def test_what_would_fail_is_explained_and_not_raised(lib: Library, tensor: Tensors) -> None:
    lib.define("g(Tensor x) -> Tensor")
    e = explain(ops.ee.g, tensor())
    assert (e.route, e.error is not None) == ("", True)
    assert (
        "NotImplementedError: Could not run 'ee::g' with arguments from the 'CPU' backend" in str(e)
    )


def test_a_composite_ends_the_chain(lib: Library, tensor: Tensors) -> None:
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", kernel, "CompositeImplicitAutograd")
    (step,) = explain(ops.ee.g, tensor()).chain
    assert (step.rule, step.registered_for) == ("math kernel", "CompositeImplicitAutograd")
    assert "composite" in step.note


def test_a_custom_op_is_explained_down_to_its_function(tensor: Tensors) -> None:
    op = custom_op("ee2::f", lambda x: None, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    chain = explain(op, tensor()).chain
    assert [step.key for step in chain] == ["AutogradCPU", "ADInplaceOrView", "CPU"]
    assert [step.convention for step in chain] == ["formula", "count writes", "custom"]
    op._lib._destroy()


def test_an_overload_is_chosen_for_a_packet(lib: Library, tensor: Tensors) -> None:
    lib.define("f.two(Tensor x, Tensor y) -> Tensor")
    assert explain(ops.ee.f, tensor(), tensor([1.0, 2.0])).operator == "ee::f.two"


def test_it_prints_as_a_tree_and_as_json(lib: Library, tensor: Tensors) -> None:
    e = explain(ops.ee.f, tensor())
    lines = str(e).splitlines()
    assert lines[0] == "ee::f(Tensor x, int n=1) -> Tensor"
    assert "│  ├─ AutogradCPU [autograd kernel]: " in "\n".join(lines)
    assert "├─ a graph is not recorded" in lines
    data = json.loads(e.as_json())
    assert data["chain"][1]["key"] == "CPU"
    assert data == json.loads(json.dumps(e.as_dict()))


def test_an_unknown_operator_and_a_call_that_does_not_fit_are_errors(
    lib: Library, tensor: Tensors
) -> None:
    with pytest.raises(RuntimeError, match=r"operator ee::ff does not exist.*Did you mean 'ee::f'"):
        explain("ee::ff", tensor())
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        explain("ee::f")
