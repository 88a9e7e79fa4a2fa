"""Functions of operators get their bodies at the first call and stay the same functions;
formulas are imported when one is first read.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dovetail_aten
from dovetail_aten import functions
from dovetail_aten.calling import compile_on_first_call
from dovetail_aten.calling.compile_on_first_call import complete, complete_choice
from dovetail_aten.calling.numpy_calls import numpy_call
from dovetail_aten.templates.python_function import PythonFunction
from dovetail_dispatcher.missing import MISSING
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.derivative_formula import Formula
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
    assert before.startswith("(input=..., other=..., surplus=..., out=..., x=None")
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


def formulas() -> Iterator[Formula]:
    """Yield the formula of every operator of the base library that has one."""
    for op in registry.all_operators():
        if op.namespace == "aten" and isinstance(op.formula, Formula):
            yield op.formula


def test_bodies_of_derivatives_name_the_line_of_their_declaration() -> None:
    families = Path(dovetail_aten.__file__).parent / "families"
    seen = 0
    for formula in formulas():
        file, _, line = formula.where.rpartition(":")
        text = (families / file).read_text(encoding="utf-8").splitlines()
        assert text[int(line) - 1].startswith("- name: ")
        forward = [each.function for each in formula.forward]
        for function in (formula.tensors, formula.arrays, formula.real_arrays, *forward):
            if function is not None:
                code = function.__code__
                assert formula.where in code.co_filename
                assert inspect.getsource(function).startswith(f"def {function.__name__}(")
                seen += 1
    assert seen > 1000


def test_an_error_in_a_derivative_shows_the_formula_and_where_it_is_declared() -> None:
    formula = registry.find_or_throw("aten::mul", "Tensor").formula
    assert isinstance(formula, Formula)
    assert formula.tensors is not None
    with pytest.raises(AttributeError) as error:
        formula.tensors(SimpleNamespace(next_edges=(None, 1)), 1)
    shown = "".join(traceback.format_exception(error.value))
    assert f'File "<dovetail derivative of aten::mul.Tensor, {formula.where} ' in shown
    assert "self = node.unpack_self()" in shown


def test_formulas_may_be_read_first_by_threads_together() -> None:
    text = (
        "import threading\n"
        "from dovetail_aten import ones\n"
        "from dovetail_dispatcher.table import registry\n"
        "together, found = threading.Barrier(8), []\n"
        "def read(name):\n"
        "    together.wait()\n"
        "    formula = registry.find_or_throw('aten::' + name).formula\n"
        "    found.append((formula.name, formula.arrays.__name__, len(formula.forward)))\n"
        "threads = [threading.Thread(target=read, args=[n]) for n in ['sin', 'cos'] * 4]\n"
        "for each in threads: each.start()\n"
        "for each in threads: each.join()\n"
        "print(sorted(set(found)), len(found))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False
    )
    assert result.stdout == (
        "[('CosBackward0', 'cos_arrays', 1), ('SinBackward0', 'sin_arrays', 1)] 8\n"
    ), result.stderr


@pytest.mark.parametrize("name", ["T", "H", "mT", "mH", "real"])
def test_a_property_compiles_its_function_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = dovetail_aten.ones(2, 3)
    getattr(x, name)
    monkeypatch.setattr(compile_on_first_call, "compile_source", None)
    assert getattr(x, name).numel() == 6


def test_a_choice_gets_its_body_at_the_first_call_and_keeps_it() -> None:
    table = functions.sum.__globals__["_sum_overloads"]
    namespace: dict[str, Any] = {name: getattr(functions, name) for name in functions.__all__}
    names = vars(functions) | {"_sum_overloads": table, "complete_choice": complete_choice}
    namespace |= {name: value for name, value in names.items() if name.startswith(("sum", "_sum"))}
    namespace["complete_choice"] = complete_choice
    exec(
        "def sum(*args, **kw): return complete_choice(sum, _sum_overloads)(*args, **kw)", namespace
    )
    chosen = namespace["sum"]
    x = dovetail_aten.ones(2, 3)
    assert [chosen(x).tolist(), chosen(x, 1).tolist(), chosen(x, dim=0).tolist()] == [
        6.0,
        [3.0, 3.0],
        [2.0, 2.0, 2.0],
    ]
    text = inspect.getsource(chosen)
    assert text.startswith("def sum(*args, **kwargs):\n")
    assert "if not kwargs:\n" in text
    assert "return _sum_overloads.choose(args, kwargs)\n" in text


def test_a_parameter_may_have_the_name_of_the_function() -> None:
    for name, arguments in {"pad": ([1, 1],), "threshold": (0.5, 2.0)}.items():
        written = getattr(functions, name)
        x = dovetail_aten.ones(2)
        assert written(x, *arguments).tolist() == written(x, *arguments).tolist()
        with pytest.raises(TypeError, match=name):
            written(x)


@pytest.mark.parametrize("native", ["", "0"])
def test_every_function_can_be_completed_and_keeps_its_signature(native: str) -> None:
    program = (
        "import ast, inspect\n"
        "from dovetail_aten import functions\n"
        "bodies = choices = 0\n"
        "for function in list(vars(functions).values()):\n"
        "    own = getattr(function, '__globals__', None) is vars(functions)\n"
        "    if not inspect.isfunction(function) or not own:\n"
        "        continue\n"
        "    statement = ast.parse(inspect.getsource(function)).body[0].body[0]\n"
        "    call = statement.value.func\n"
        "    signature = inspect.signature(function)\n"
        "    named = {each.id for each in ast.walk(call) if isinstance(each, ast.Name)}\n"
        "    assert not named & signature.parameters.keys(), function\n"
        "    assert eval(ast.unparse(call), function.__globals__) is function\n"
        "    assert function.__code__.co_filename.startswith('<dovetail '), function\n"
        "    assert inspect.signature(function).parameters.keys() == signature.parameters.keys()\n"
        "    assert inspect.getsource(function).startswith(f'def {function.__name__}(')\n"
        "    choices += call.func.id == 'complete_choice'\n"
        "    bodies += call.func.id == 'complete'\n"
        "print(bodies, choices)\n"
    )
    environment = dict(os.environ)
    environment.pop("DOVETAIL_NATIVE", None)
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=environment | ({"DOVETAIL_NATIVE": native} if native else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    bodies, choices = map(int, result.stdout.split())
    assert bodies > 1700
    assert choices > 150
