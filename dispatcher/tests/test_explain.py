"""`explain`: which kernels a call would run, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from dovetail_dispatcher import Explanation, FunctionExplanation, Library, custom_op, explain, ops
from dovetail_dispatcher.sockets import BASE_OPERATORS, BaseOperators
from dovetail_kernel import AutoDispatchBelowAutograd, TensorBase, set_state, state
from dovetail_kernel.keys import inference_mode_on
from dovetail_kernel.signature import GRAD

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


def test_compiled_code_that_stands_for_a_kernel_is_named(lib: Library, tensor: Tensors) -> None:
    def compiled(x: TensorBase) -> TensorBase:
        raise AssertionError("explain runs no kernel")

    compiled.compiled_at = "sums.c:12"  # type: ignore[attr-defined]
    lib.define("g(Tensor x) -> Tensor")
    lib.array_impl("g", compiled, "CPU")
    lib.define("h(Tensor x) -> Tensor")
    lib.array_impl("h", kernel, "CPU")
    assert "sums.c:12" in explain("ee::g", tensor()).chain[-1].note
    assert "compiled" not in explain("ee::h", tensor()).chain[-1].note


@pytest.mark.parametrize(
    ("returns", "records"), [("Tensor", True), ("Tensor[]", True), ("int", False)]
)
def test_a_result_that_is_no_tensor_records_no_graph(
    lib: Library, tensor: Tensors, returns: str, records: bool
) -> None:
    lib.define(f"g(Tensor x) -> {returns}")
    lib.impl("g", kernel, "CPU")
    x = tensor()
    assert not explain("ee::g", x).records_graph
    x._signature |= GRAD
    assert explain("ee::g", x).records_graph is records


# -- calls inside ----------------------------------------------------------------------------------


@pytest.fixture
def composite(lib: Library, base: Library) -> Library:
    """Operators made of ``ee::double``, whose kernel without data is another one."""
    lib.define("double(Tensor x, *, int n=2) -> Tensor")
    lib.array_impl("double", lambda x, *, n: x * x.dtype.type(n), "CPU")
    lib.impl("double", lambda x, n: ops.small.clone(x), "Meta")
    lib.define("four(Tensor x) -> Tensor")
    lib.impl("four", lambda x: ops.ee.double(ops.ee.double(x), n=2), "CompositeImplicitAutograd")
    lib.define("eight(Tensor[] xs) -> Tensor")
    lib.impl(
        "eight", lambda xs: ops.ee.double(ops.ee.four(xs[0]), n=3), "CompositeImplicitAutograd"
    )
    lib.define("fails(Tensor x) -> Tensor")
    lib.impl("fails", lambda x: ops.ee.double(x).array.nowhere, "CompositeImplicitAutograd")
    return lib


def test_a_composite_is_explained_by_what_it_calls_on_the_device_of_its_tensors(
    composite: Library, tensor: Tensors
) -> None:
    e = explain(ops.ee.eight, [tensor([1.0, 2.0])])
    assert [call.decision.operator for call in e.calls] == ["ee::four", "ee::double"]
    assert [call.decision.operator for call in e.calls[0].walk()] == [
        *("ee::four", "ee::double", "ee::double")
    ]
    double = e.calls[1]
    last = double.decision.chain[-1]
    assert (last.key, last.convention) == ("CPU", "array")
    assert double.text.startswith("ee::double(float32[2], n=3)") and not double.is_redispatch
    assert e.unknown is None and not e.records_graph
    assert [(a.name, a.keys != ()) for a in e.arguments] == [("xs[0]", True)]
    lines = str(e).splitlines()
    assert any(line.startswith("│  ├─ ee::four(float32[2])") for line in lines)
    assert any(line.startswith("│  │  └─ ee::double(float32[2])") for line in lines)
    assert any(line.startswith("│  └─ ee::double(float32[2], n=3)") for line in lines)
    assert "└─ defined at " in str(e) or "├─ defined at " in str(e)


def test_a_function_is_explained_by_the_operators_that_it_calls(
    composite: Library, tensor: Tensors
) -> None:
    def program(x: TensorBase, times: int) -> TensorBase:
        for _ in range(times):
            x = ops.ee.double(x)
        return x

    e = explain(program, tensor([1.0]), times=2)
    assert isinstance(e, FunctionExplanation)
    assert e.function.endswith("program") and e.source.startswith(f"{__file__}:")
    assert [call.decision.operator for call in e.calls] == ["ee::double"] * 2
    assert e.unknown is None and not e.records_graph
    lines = str(e).splitlines()
    assert lines[0] == e.function and "├─ a graph is not recorded" in lines
    assert "   └─ ee::double(float32[1]) → float32[1]" in lines
    assert "   no operator" in str(explain(lambda x: x, tensor())).splitlines()


@pytest.mark.parametrize(
    ("function", "arguments", "unknown"),
    [
        (lambda x: ops.ee.double(x).array.nowhere, 1, "without data it raises "),
        (lambda: None, 0, "no argument is a tensor, and none chooses a device"),
        (lambda x, y: None, 2, "the tensors are on several devices: cpu, meta"),
    ],
)
def test_what_is_not_known_of_a_function_is_said(
    composite: Library, tensor: Tensors, function: object, arguments: int, unknown: str
) -> None:
    given = [tensor([1.0]), tensor([1.0], device="meta")][:arguments]
    e = explain(function, *given)
    assert e.unknown is not None and e.unknown.startswith(unknown)
    assert f"└─ not known: {unknown}" in str(e)
    if arguments == 1:
        assert "graph recording: depends on the data" in str(e)


def test_a_call_without_tensors_is_explained_without_a_device(
    composite: Library, tensor: Tensors
) -> None:
    composite.define("make() -> Tensor")
    composite.impl("make", lambda: tensor([1.0], device="meta"), "CompositeExplicitAutograd")
    composite.impl("make", lambda: tensor([1.0]), "CPU")
    e = explain(lambda x: ops.ee.double(ops.ee.make()), tensor([1.0]))
    make, double = e.calls
    assert make.decision.chosen == "Undefined"
    assert make.decision.chain[-1].registered_for == "CompositeExplicitAutograd"
    assert double.decision.chain[-1].key == "CPU"


def test_an_inference_tensor_has_no_key_of_autograd(lib: Library, tensor: Tensors) -> None:
    before = state()
    set_state(inference_mode_on(before))
    try:
        x = tensor([1.0])
    finally:
        set_state(before)
    assert explain("ee::f", x).arguments[0].keys == ("CPU", "AutocastCPU")


def test_a_function_that_takes_a_device_runs_without_tensors(composite: Library) -> None:
    given: list[object] = []

    def make(device: object = None) -> None:
        given.append(device)

    assert explain(make).unknown is None
    assert explain(make, device="cpu:0").unknown is None
    assert given == ["meta", "meta"]


def test_a_composite_that_fails_without_data_says_so(composite: Library, tensor: Tensors) -> None:
    e = explain(ops.ee.fails, tensor([1.0]))
    assert e.unknown is not None and "without data it raises" in e.unknown
    assert [call.decision.operator for call in e.calls] == ["ee::double"]


def test_without_a_base_library_nothing_is_called(
    lib: Library, tensor: Tensors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BASE_OPERATORS, "plug", BaseOperators())
    e = explain(lambda x: x, tensor())
    assert e.unknown is not None and "install dovetail-aten" in e.unknown


def test_names_without_overload_and_what_is_no_operator(lib: Library, tensor: Tensors) -> None:
    lib.define("f.two(Tensor x, Tensor y) -> Tensor")
    lib.define("g.only(Tensor x) -> Tensor")
    x = tensor([1.0, 2.0])
    assert explain("ee::f", x).operator == "ee::f"
    assert explain("ee::f", x, x).operator == "ee::f.two"
    assert explain("ee::g", x).operator == explain("ee::g.only", x).operator == "ee::g.only"
    with pytest.raises(TypeError, match=r"explain\(\) takes an operator, its name or a function"):
        explain(3)
