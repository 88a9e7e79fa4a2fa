"""The text of entries: the same from the templates at run time as in the generated files of the
base library.
"""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import pytest

from dovetail_dispatcher import Library, ops, parse_schema
from dovetail_dispatcher.calls.templates import entry_source
from dovetail_dispatcher.calls.templates.entry import symbol
from dovetail_dispatcher.calls.templates.python_function import PythonFunction
from dovetail_dispatcher.table import registry
from dovetail_kernel import PluginError, TensorBase, plugin_manager

Libraries = Callable[..., Library]
Tensors = Callable[..., TensorBase]

DOCSTRING = re.compile(r'\n    """.*?"""\n', re.DOTALL)


def test_an_entry_checks_classes_makes_the_key_and_looks_up_the_route() -> None:
    schema = parse_schema(
        "ns::f(Tensor x, Tensor? y=None, int[2] k=0, *, Scalar alpha=1) -> Tensor"
    )
    text = entry_source(schema)
    compile(text, "entry", "exec")
    assert text.startswith("def f(x=MISSING, y=None, k=")
    for part in (
        "*extra, alpha=1, **unknown):",
        "alpha.__class__ is not int and alpha.__class__ is not float",
        "x._signature | state()",
        "if y is not None:",
        "return miss(f_op, (x, y, k, *extra,), ",
        "k_ints = (k,) * 2 if k.__class__ is int",
        "route(x, y, k_ints, alpha)",
    ):
        assert part in text


def test_an_entry_is_shown_in_tracebacks(library: Libraries, tensor: Tensors) -> None:
    lib = library("ent", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: 1 / 0, "CPU")
    entry = ops.ent.f.default.op
    for _ in range(2):  # the first call is a miss
        with pytest.raises(ZeroDivisionError) as error:
            getattr(entry, "text", entry)(tensor())  # a compiled entry has no frame
    lines = [
        linecache.getline(e.frame.code.raw.co_filename, e.lineno + 1).strip()
        for e in error.traceback
    ]
    assert "return route(x)" in lines


def test_an_overload_is_called_without_a_layer_between(library: Libraries, tensor: Tensors) -> None:
    library("ent", "DEF").define("f(Tensor x) -> Tensor")
    call = type(ops.ent.f.default).__call__
    assert inspect.isfunction(call)
    assert call is ops.ent.f.default.op
    assert "routes[x._signature | state()]" in "".join(
        linecache.getlines(call.__code__.co_filename)
    )


@pytest.mark.skipif(find_spec("dovetail_aten") is None, reason="the base library is not installed")
def test_the_generated_entries_are_what_the_templates_give() -> None:
    try:
        plugin_manager.load_library("aten")
    except PluginError as reason:
        pytest.skip(f"the base library cannot be loaded: {reason}")
    functions = import_module("dovetail_aten._generated.functions")
    complete = import_module("dovetail_aten.calling.compile_on_first_call").complete
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
        assert DOCSTRING.sub("\n", inspect.getsource(function), count=1) == text
    assert ahead > 150
    assert at_first_call > 200
