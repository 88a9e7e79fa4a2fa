"""In-place and out variants get their bodies at the first call and stay the same functions;
formulas are imported when one is first read.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from typing import Any

import pytest

import dovetail_aten
from dovetail_aten import functions, plain_signature
from dovetail_aten.calling import compile_on_first_call
from dovetail_aten.calling.compile_on_first_call import complete
from dovetail_aten.calling.numpy_calls import numpy_call
from dovetail_aten.templates.python_function import PythonFunction
from dovetail_dispatcher.calls.templates.entry import symbol
from dovetail_dispatcher.missing import MISSING
from dovetail_dispatcher.table import registry
from dovetail_kernel import int64


def short(name: str, overload: str, function: str) -> tuple[Any, list[str]]:
    """Return a short function made anew, and a list that gets its name at every completion."""
    op = registry.find_or_throw(f"aten::{name}", overload)
    completed: list[str] = []

    def noted(function: Any, *operator: Any) -> Any:
        completed.append(function.__name__)
        return complete(function, *operator)

    namespace = {name: getattr(functions, name) for name in functions.__all__}
    namespace |= {"complete": noted, "numpy_call": numpy_call, "MISSING": MISSING}
    text = PythonFunction(op.schema, op.promote, function, takes_numpy=True)
    exec(text.short_source(), namespace)
    return namespace[function], completed


def test_the_first_call_completes_the_function_that_methods_hold() -> None:
    add_, completed = short("add_", "Tensor", "add_")
    holder = type("Holder", (), {"add_": add_})
    x = dovetail_aten.ones(3)
    assert holder.add_(x, 2, alpha=3) is x
    assert holder.add_(x, 1.0).tolist() == [8.0, 8.0, 8.0]
    assert completed == ["add_"]
    assert holder.add_ is add_
    assert inspect.getsource(add_).startswith("def add_(input=MISSING, other=MISSING, ")


def test_the_signature_is_the_same_before_and_after() -> None:
    mul_out, completed = short("mul", "out", "mul_out")
    before = str(inspect.signature(mul_out))
    out = dovetail_aten.empty(2)
    assert mul_out(dovetail_aten.ones(2), 3, out=out) is out
    assert str(inspect.signature(mul_out)) == before
    assert before.startswith("(input=MISSING, other=MISSING, surplus=MISSING, out=MISSING, x=None")
    assert completed == ["mul_out"]


def test_a_call_that_does_not_fit_says_so_before_and_after() -> None:
    neg_, completed = short("neg_", "", "neg_")
    messages = set()
    for _ in range(2):
        with pytest.raises(TypeError) as error:
            neg_()
        messages.add(str(error.value))
        neg_(dovetail_aten.ones(1))
    assert len(messages) == 1
    assert messages.pop().startswith('neg_() missing 1 required positional arguments: "input".')
    assert completed == ["neg_"]


def test_results_with_names_keep_them() -> None:
    sort_values, _ = short("sort", "values", "sort_values")
    values, indices = dovetail_aten.empty(2), dovetail_aten.empty(2, dtype=int64)
    for _ in range(2):
        result = sort_values(dovetail_aten.tensor([2.0, 1.0]), values=values, indices=indices)
        assert type(result).__name__ == "sort_out"
        assert result.values.tolist() == [1.0, 2.0]


def test_threads_may_make_the_first_call_together() -> None:
    exp_, _ = short("exp_", "", "exp_")
    together = threading.Barrier(4)
    results: list[list[float]] = []

    def call() -> None:
        x = dovetail_aten.zeros(1)
        together.wait()
        results.append(exp_(x).tolist())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[1.0]] * 4


def test_formulas_are_imported_when_one_is_first_read() -> None:
    program = (
        "import sys, dovetail_aten\n"
        "from dovetail_dispatcher.table import registry\n"
        "module = 'dovetail_aten._generated.derivatives.pointwise'\n"
        "formula = registry.find_or_throw('aten::exp').formula\n"
        "print(module in sys.modules, formula.operator, module in sys.modules)\n"
        "print(formula.name, formula.inputs, module in sys.modules)\n"
        "print(hasattr(formula, 'nothing'))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.stdout == "False aten::exp False\nExpBackward0 ('self',) True\nFalse\n", (
        result.stderr
    )


def test_a_signature_is_shown_as_people_call_the_function() -> None:
    def shown(name: str) -> str:
        return str(plain_signature(getattr(functions, name)))

    assert shown("add") == "(input, other, *, alpha=1, out=None)"
    assert shown("unsqueeze") == "(input, dim)"
    assert shown("cat") == "(tensors, dim=0, *, out=None)"
    assert shown("tile") == "(input, *dimss_, dims=None)"
    assert shown("transpose") == "(input, dim0, dim1)"
    assert shown("sum") == "(*args, **kwargs)"


@pytest.mark.parametrize("name", ["T", "H", "mT", "mH", "real"])
def test_a_property_compiles_its_function_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = dovetail_aten.ones(2, 3)
    getattr(x, name)
    monkeypatch.setattr(compile_on_first_call, "compile_source", None)
    assert getattr(x, name).numel() == 6


def test_the_generated_entries_are_what_the_templates_give() -> None:
    ahead = at_first_call = 0
    for op in registry.all_operators():
        own = symbol(op.schema)
        function = getattr(functions, own, None) or getattr(functions, f"{own}_default", None)
        if op.namespace != "aten" or function is None or "out=None" in inspect.getsource(function):
            continue
        names = function.__code__.co_varnames
        text = PythonFunction(
            op.schema,
            op.promote,
            function.__name__,
            takes_old=sum(name in ("old1", "old2") for name in names),
            takes_numpy=bool({"surplus", "old1", "named"}.intersection(names)),
        ).source()
        if f"{own}_routes" not in function.__code__.co_names:
            if "complete" not in function.__code__.co_names:
                continue  # the choice among overloads
            signature = inspect.signature(function)
            complete(function, op.name, op.overload)
            assert inspect.signature(function) == signature
            at_first_call += 1
        else:
            ahead += 1
        assert inspect.getsource(function) == text
    assert ahead > 150
    assert at_first_call > 200
