"""`dovetail.explain`: operators, functions, methods, modules and names, down to the kernels,
without running them.
"""

from __future__ import annotations

import json
import re
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from fresh_interpreter import printed_by

import dovetail
from dovetail import Tensor, nn
from dovetail_aten._generated.registrations import OPERATORS
from dovetail_dispatcher import Explanation, FunctionExplanation
from dovetail_dispatcher.table import registry

F = nn.functional


def names(calls: Any) -> list[str]:
    return [inner.decision.operator for call in calls for inner in call.walk()]


def x() -> Tensor:
    return dovetail.ones(2, 3, requires_grad=True)


# -- places ----------------------------------------------------------------------------------------


def line(place: str) -> str:
    return lines_from(place)[0]


def lines_from(place: str) -> list[str]:
    file, _, number = place.rpartition(":")
    return Path(file).read_text(encoding="utf-8").splitlines()[int(number) - 1 :]


def entry(place: str) -> str:
    first, *rest = lines_from(place)
    return "\n".join([first, *takewhile(lambda text: not text.startswith("- "), rest)])


def test_every_base_operator_is_defined_at_its_line_of_the_declarations() -> None:
    for row in OPERATORS:
        base, _, overload = row[0].partition("(")[0].partition(".")
        op = registry.find_or_throw(base if "::" in base else f"aten::{base}", overload)
        assert op.defined_at is not None
        name = re.escape(op.qualified_name.removeprefix("aten::"))
        assert re.search(rf"(- func: |autogen:.*[ ,\[]){name}\b", entry(op.defined_at)), name


def test_kernels_that_choose_a_backend_are_registered_at_the_declaration() -> None:
    (step,) = dovetail.explain("aten::ones", [2]).chain
    assert "- func: ones(" in line(step.registered_at)
    assert "Selection object" not in step.kernel
    assert "backend_select.py" in step.source


def test_a_composite_is_shown_at_its_function_and_its_declaration() -> None:
    (step,) = dovetail.explain("aten::cross_entropy_loss", x(), dovetail.tensor([0, 1])).chain
    assert "def cross_entropy_loss" in line(step.source)
    assert "- func: cross_entropy_loss" in line(step.registered_at.partition(" (")[0])


def test_an_operator_defined_twice_names_both_places() -> None:
    library = dovetail.library.Library("aten", "FRAGMENT")
    with pytest.raises(RuntimeError, match=r"activations/native_functions\.yaml:\d+") as caught:
        library.define("relu(Tensor self) -> Tensor")
    assert "test_explain.py" in str(caught.value)
    library._destroy()


# -- what a composite calls ------------------------------------------------------------------------


@pytest.mark.cpu_only(reason="the explanation names the keys of the cpu")
def test_a_composite_is_explained_down_to_what_it_calls() -> None:
    e = dovetail.explain(dovetail.ops.aten.prelu, x(), dovetail.ones(3))
    assert isinstance(e, Explanation)
    reshape, kernel = e.calls
    assert [call.decision.operator for call in reshape.calls] == ["aten::view"]
    assert [step.key for step in kernel.decision.chain] == ["AutogradCPU", "CPU"]
    assert "records PreluKernelBackward0" in str(e)
    assert "a graph is recorded, by aten::_prelu_kernel" in str(e)


def test_what_a_composite_calls_is_what_a_trace_shows() -> None:
    given = (x(), dovetail.tensor([0, 1]))
    with dovetail.tracing() as t:
        F.cross_entropy(*given)
    calls = dovetail.explain("aten::cross_entropy_loss", *given).calls
    assert names(calls) == [span.name for span in t.calls()][1:]
    assert [[s.source for s in call.decision.chain] for call in calls] == [
        [s.source for s in span.decision.chain] for span in t.calls()[1:]
    ]


def test_without_anything_that_requires_grad_no_graph_is_recorded() -> None:
    e = dovetail.explain("aten::prelu", dovetail.ones(2), dovetail.ones(1))
    assert not e.records_graph
    assert "a graph is not recorded" in str(e)


def test_an_operator_without_differentiable_results_records_nothing() -> None:
    for name in ("aten::zeros_like", "aten::nonzero", "aten::_local_scalar_dense"):
        e = dovetail.explain(name, dovetail.ones((), requires_grad=True))
        assert not e.records_graph
        assert "nothing to record" in str(e)


@pytest.mark.cpu_only(reason="a process of its own, without a chosen device")
def test_the_first_call_of_a_process_may_be_explained() -> None:
    shown = printed_by("import dovetail; print(dovetail.explain(dovetail.zeros, 3))")
    assert "CPU: zeros at" in shown
    assert "meta" not in shown


# -- functions, methods, modules, names ------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments", "operators"),
    [
        (dovetail.add, (x(), x()), ["aten::add.Tensor"]),
        (Tensor.add, (x(), 1), ["aten::add.Tensor"]),
        (F.relu, (x(),), ["aten::relu"]),
        (F.linear, (x(), x(), dovetail.ones(2)), ["aten::linear", "aten::t", "aten::addmm"]),
        (dovetail.ones, ([2, 3],), ["aten::ones", "aten::ones"]),
        (lambda a: (a * a).sum(), (x(),), ["aten::mul.Tensor", "aten::sum"]),
        ("nn.functional.relu", (x(),), ["aten::relu"]),
        ("dovetail.Tensor.add", (x(), x()), ["aten::add.Tensor"]),
    ],
)
def test_functions_methods_and_names_are_explained(
    function: Any, arguments: Any, operators: list[str]
) -> None:
    e = dovetail.explain(function, *arguments)
    assert isinstance(e, FunctionExplanation)
    assert names(e.calls) == operators
    assert e.unknown is None
    assert json.loads(e.as_json())["calls"]


@pytest.mark.cpu_only(reason="the explanation names the keys of the cpu")
def test_a_module_is_explained_and_stays_as_it_is() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.PReLU(), nn.Dropout(0.5))
    before = dovetail.default_generator.get_state()
    for op in (model, model.forward):
        e = dovetail.explain(op, dovetail.ones(2, 3))
        assert isinstance(e, FunctionExplanation)
        assert e.records_graph
        assert e.function == "dovetail.nn.modules.container.containers.Sequential.forward"
        assert [call.decision.operator for call in e.calls] == [
            "aten::linear",
            "aten::prelu",
            "aten::dropout",
        ]
    assert all(p.device.type == "cpu" and p.grad is None for p in model.parameters())
    assert (dovetail.default_generator.get_state() == before).all()


@pytest.mark.cpu_only(reason="names the kernels of the cpu")
def test_inner_calls_are_decided_for_the_device_of_the_tensors() -> None:
    text = str(dovetail.explain(nn.Linear(3, 2), x()))
    assert "CPU: addmm at" in text
    assert "Meta" not in text


def test_explaining_writes_nothing_and_is_seen_by_no_trace() -> None:
    a = dovetail.ones(3)
    with dovetail.tracing() as t:
        e = dovetail.explain(lambda b: b.add_(1).relu_(), a)
    assert names(e.calls) == ["aten::add_.Tensor", "aten::relu_"]
    assert (a.tolist(), a._version, len(t)) == ([1.0, 1.0, 1.0], 0, 0)


def test_what_depends_on_data_ends_the_tree_and_says_so() -> None:
    e = dovetail.explain(lambda a: a.relu().sum().item() + 1, x())
    assert names(e.calls)[:2] == ["aten::relu", "aten::sum"]
    assert e.unknown is not None
    assert "not known: without data it raises" in str(e)


@pytest.mark.parametrize(
    ("op", "error", "text"),
    [
        ("nn.functional.rellu", RuntimeError, "Did you mean 'nn.functional.relu'?"),
        ("Tensor.addd", RuntimeError, r"Did you mean 'Tensor\.add'?"),
        ("aten::rellu", RuntimeError, "Did you mean 'aten::relu'?"),
        (nn.Linear, TypeError, r"Make one: explain\(Linear\(\.\.\.\), input\)"),
        (3, TypeError, "takes an operator, its name or a function, not int"),
        ("__version__", TypeError, "dovetail.__version__ is not a function but a str"),
    ],
)
def test_what_cannot_be_explained_is_refused_with_what_to_do(
    op: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        dovetail.explain(op, x())
