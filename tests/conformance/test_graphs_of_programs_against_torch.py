"""`fx` on PyTorch and on Dovetail: the same graphs, sources and results of the same programs."""

# ruff: noqa: PLW0108  (what is traced is a function of Python)

from __future__ import annotations

import importlib
import math
import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

LIBRARIES = (torch, dovetail)


def fx_of(lib: Any, *names: str) -> Any:
    return importlib.import_module(".".join([lib.__name__, "fx", *names]))


def plain(value: Any) -> Any:
    """Return a result that can be compared: texts name the libraries alike."""
    if isinstance(value, (torch.Tensor, dovetail.Tensor)):
        return value.detach().tolist()
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    text = str(value).replace("dovetail", "torch")
    # PyTorch names the C++ module that has a function, Dovetail the one that users call.
    text = re.sub(r"torch\._C\._nn\.", "torch.nn.functional.", text)
    # Annotations of this file are strings, which PyTorch takes for names of types.
    text = re.sub(r" (:|->) ['_]?(Any|bool)['_]?(?=[ ,)=:])", "", text)
    text = text.replace(" : [num_users", " [num_users")
    return text.replace("_symbolic_trace.wrap(", "wrap(").replace('"', "'")


def outcome(lib: Any, program: Callable[[Any], Any]) -> Any:
    lib.manual_seed(0)
    try:
        return plain(program(lib))
    except Exception as error:
        return type(error).__name__


def layers(lib: Any) -> Any:
    """Return a module of two modules, with a parameter and a buffer."""
    nn, f = lib.nn, lib.nn.functional

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.linear(x).tanh() * math.sqrt(2)

    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.ModuleList([nn.Linear(3, 3)])
            self.inner = Inner()
            self.line = nn.Sequential(nn.ReLU(), nn.Linear(3, 3))
            self.scale = nn.Parameter(lib.ones(3))
            self.register_buffer("shift", lib.zeros(3))

        def forward(self, x: Any, factor: Any = 3, *rest: Any, flag: bool = False) -> Any:
            y = self.inner(self.first[0](x)) * self.scale + self.shift
            y = self.line(y).view(-1, 3)
            y = f.dropout(lib.cat([y, y]), 0.5, training=False)[:, :2]
            return {"sum": y.sum(dim=0), "rest": (y.shape[0], [y * factor, None])}

    return Layers()


def helper(x: Any, count: int) -> Any:
    return x * count


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "function": lambda lib: lambda x: (x + 1).relu() @ x,
    "operators of Python": lambda lib: (
        lambda x: [
            *(-x, +x, ~x, abs(x), x - 1, 1 - x, x / 2, 2 / x, x // 2, x % 2, x**2, 2**x),
            *(x << 1, x >> 1, x & 1, x | 1, x ^ 1, 1 & x, x < 1, x > 1, x <= 1, x >= 1),
            *(x == 1, x != 1, x[0], x[..., None, ::2], x @ x),
        ]
    ),
    "unpacking": lambda lib: unpacking,
    "attributes": lambda lib: lambda x: (x.T, x.shape[0], x.size(1), x.dtype),
    "numbers that text cannot name": lambda lib: lambda x: x * math.inf + math.nan,
    "dtypes and devices": lambda lib: lambda x: x.to(lib.float64).to(lib.device("cpu")),
    "constant": lambda lib: lambda x: x + lib.ones(2),
    "keywords": lambda lib: lambda x: lib.sum(x, dtype=lib.float64).std(unbiased=False),
    "nested result": lambda lib: lambda x: {"a": x + 1, "b": [x, (x, None, "text")]},
    "in place": lambda lib: lambda x: x.add_(1).mul_(x),
    "functional": lambda lib: (
        lambda x: lib.nn.functional.softmax(lib.nn.functional.gelu(x), dim=-1)
    ),
    "math": lambda lib: lambda x: x * math.sqrt(x.size(-1)),
    "packet": lambda lib: lambda x: lib.ops.aten.add(x, 1),
    "overload": lambda lib: lambda x: lib.ops.aten.add.Tensor(x, 1),
    "modules": layers,
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "branch": lambda lib: lambda x: x if x.sum() > 0 else -x,
    "loop": lambda lib: lambda x: [each for each in x],
    "length": lambda lib: lambda x: len(x),
    "integer": lambda lib: lambda x: int(x),
    "range": lambda lib: lambda x: range(x),
    "contained": lambda lib: lambda x: 1 in x,
    "written": lambda lib: written,
    "class as an argument": lambda lib: lambda x: x.view(int),
    "a number": lambda lib: 3,
}


def unpacking(x: Any) -> Any:
    first, second = x.chunk(2)
    return first * second


def written(x: Any) -> Any:
    x[0] = 1
    return x


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_program_has_the_same_graph_and_source(name: str) -> None:
    def texts(lib: Any) -> list[str]:
        traced = fx_of(lib).symbolic_trace(PROGRAMS[name](lib))
        return [str(traced.graph), traced.code]

    expected = outcome(torch, texts)
    assert isinstance(expected, list)
    # Dovetail gives handlers the arguments of functions by position where PyTorch keeps names.
    assert [each.replace(", dim = 1", ", 1") for each in outcome(dovetail, texts)] == expected


@pytest.mark.parametrize("name", REFUSED)
def test_what_asks_for_values_is_refused_alike(name: str) -> None:
    def traced(lib: Any) -> Any:
        return fx_of(lib).symbolic_trace(REFUSED[name](lib))

    assert outcome(torch, traced).endswith("Error")
    assert outcome(dovetail, traced) == outcome(torch, traced)


@pytest.mark.parametrize("name", ["function", "unpacking", "modules", "in place", "nested result"])
def test_a_traced_program_returns_what_the_program_does(name: str) -> None:
    program = PROGRAMS[name](dovetail)
    traced = dovetail.fx.symbolic_trace(program)
    x = dovetail.randn(4, 3) if name == "modules" else dovetail.randn(2, 2)
    assert plain(traced(x.clone())) == plain(program(x.clone()))
    assert plain(dovetail.fx.Interpreter(traced).run(x.clone())) == plain(program(x.clone()))


def test_values_of_parameters_are_checked_by_the_graph() -> None:
    def texts(lib: Any) -> list[Any]:
        function = lambda x, flag=True: x + 1 if flag else x  # noqa: E731
        traced = fx_of(lib).symbolic_trace(function, concrete_args={"flag": False})
        with pytest.raises(AssertionError, match="specialized to have value False"):
            traced(lib.ones(1), True)
        return [traced.code, traced(lib.ones(1), False)]

    assert outcome(dovetail, texts) == outcome(torch, texts)
    assert isinstance(outcome(torch, texts), list)


def edited(lib: Any) -> list[Any]:
    """Return what becomes of a graph that is made and changed node by node."""
    fx = fx_of(lib)
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y", type_expr=int, default_value=3)
    added = graph.call_function(operator.iadd, (x, y))
    method = graph.call_method("relu", (added,))
    function = graph.call_function(lib.relu, (method,))
    graph.output((function, method))
    steps = [str(graph), graph.python_code("self").src, graph.lint()]
    steps += [[each.name for each in graph.nodes], [each.name for each in reversed(graph.nodes)]]
    steps += [x.format_node(), list(added.users), function.all_input_nodes, function.next]
    steps += [method.prev, x.prev.op, len(graph.nodes), graph.output_node()]
    with graph.inserting_after(method):
        negative = graph.call_function(lib.neg, (method,))
        graph.call_function(lib.exp, (added,))
    steps.append(str(graph))
    method.replace_all_uses_with(negative, lambda user: user is not negative)
    steps += [str(graph), graph.eliminate_dead_code(), str(graph)]
    function.kwargs = {"out": None}
    function.update_arg(0, added)
    function.insert_arg(1, [1, {"a": slice(x, None)}])
    function.update_kwarg("k", 2)
    steps += [function.args, dict(function.kwargs), list(x.users), str(graph)]
    copied = fx.Graph()
    known: dict[Any, Any] = {}
    copied.output(copied.graph_copy(graph, known))
    steps += [str(copied), copied.find_nodes(op="call_function", target=lib.relu)]
    return steps


def test_a_graph_is_changed_alike() -> None:
    expected = outcome(torch, edited)
    assert isinstance(expected, list)
    assert outcome(dovetail, edited) == expected


REPLACED: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "step": (
        lambda lib: lambda x: lib.relu(x * 2) + 1 + lib.relu(x),
        lambda lib: lambda x: lib.relu(x) + 1,
        lambda lib: lambda x: lib.sigmoid(x),
    ),
    "twice": (
        lambda lib: lambda x, y: lib.add(x, y).relu() + lib.add(y, x).relu(),
        lambda lib: lambda x, y: lib.add(x, y).relu(),
        lambda lib: lambda x, y: lib.mul(x, y),
    ),
    "chain": (
        lambda lib: lambda x: lib.relu(lib.relu(lib.relu(lib.relu(lib.relu(x))))),
        lambda lib: lambda x: lib.relu(lib.relu(x)),
        lambda lib: lambda x: lib.neg(x),
    ),
    "used outside": (
        lambda lib: lambda x: lib.relu(lib.neg(x)) + lib.neg(x) * 2,
        lambda lib: lambda x: lib.relu(lib.neg(x)),
        lambda lib: lambda x: lib.exp(x),
    ),
    "literal": (
        lambda lib: lambda x: x * 2 + x * 3,
        lambda lib: lambda x: x * 3,
        lambda lib: lambda x: x.exp(),
    ),
    "two results": (
        lambda lib: lambda x: lib.add(lib.exp(x), 1) * lib.sin(lib.exp(x)),
        lambda lib: lambda x: lib.exp(x),
        lambda lib: lambda x: lib.expm1(x) + 1,
    ),
}


@pytest.mark.parametrize("name", REPLACED)
def test_a_pattern_is_replaced_alike(name: str) -> None:
    program, pattern, replacement = REPLACED[name]

    def values(lib: Any) -> list[Any]:
        fx = fx_of(lib)
        traced = fx.symbolic_trace(program(lib))
        matches = fx.replace_pattern(traced, pattern(lib), replacement(lib))
        traced.graph.lint()
        count = sum([each.op == "call_function" for each in traced.graph.nodes])
        inputs = [lib.tensor([0.5, -2.0])] * len(traced.graph.find_nodes(op="placeholder"))
        result = [round(each, 5) for each in traced(*inputs).tolist()]
        return [len(matches), count, result, sorted(map(str, matches[-1].nodes_map))]

    expected = outcome(torch, values)
    assert isinstance(expected, list)
    assert outcome(dovetail, values) == expected


@pytest.mark.filterwarnings("ignore")
def test_shapes_are_noted_alike() -> None:
    def noted(lib: Any) -> list[Any]:
        traced = fx_of(lib).symbolic_trace(layers(lib))
        fx_of(lib, "passes", "shape_prop").ShapeProp(traced).propagate(lib.ones(2, 3))
        return [(each.name, each.meta.get("tensor_meta")) for each in traced.graph.nodes]

    expected = outcome(torch, noted)
    assert isinstance(expected, list)
    assert outcome(dovetail, noted) == expected


OPERATORS: dict[str, Callable[[Any], Any]] = {
    "forward": lambda lib: lambda x: (x.sin() * 2).sum(),
    "several results": lambda lib: lambda x: lib.split(x, 1)[1] + x.max(0).values,
    "in place": lambda lib: lambda x: x.clone().add_(1).mul_(2),
    "constant": lambda lib: lambda x: x.view(-1) + lib.ones(3),
    "softmax": lambda lib: lambda x: lib.nn.functional.softmax(x, dim=-1),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_recorded_alike(name: str) -> None:
    def recorded(lib: Any) -> list[Any]:
        made = fx_of(lib, "experimental", "proxy_tensor").make_fx(OPERATORS[name](lib))(lib.ones(3))
        called = [each for each in made.graph.nodes if each.op == "call_function"]
        return [[str(each.target) for each in called], made(lib.tensor([1.0, 2.0, 3.0]))]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(torch, recorded)
    assert isinstance(expected, list)
    assert outcome(dovetail, recorded)[0] == expected[0]
    assert outcome(dovetail, recorded)[1] == pytest.approx(expected[1])


def test_names_are_made_alike() -> None:
    candidates = ["x", "x", "x_1", "x_1", "sum", "3d", "a.b", "if", "", "inf", "y_2", "y", "y_7_3"]

    def names(lib: Any) -> list[str]:
        graph = fx_of(lib).Graph()
        made = [graph.create_node("placeholder", "p", name=each) for each in candidates]
        return [each.name for each in made]

    assert outcome(dovetail, names) == outcome(torch, names)


def test_methods_that_write_stay_where_pytorch_takes_them_out() -> None:
    def function(x: Any) -> Any:
        x.add_(1)
        return x

    def result(lib: Any) -> Any:
        traced = fx_of(lib).symbolic_trace(function)
        traced.graph.eliminate_dead_code()
        traced.recompile()
        return traced(lib.zeros(1)).item()

    assert (result(torch), result(dovetail)) == (0, 1)


def test_a_mode_within_a_program_is_in_no_graph_and_dovetail_says_so() -> None:
    def function(x: Any, lib: Any) -> Any:
        with lib.no_grad():
            return x * 2

    for lib in LIBRARIES:
        program = {torch: lambda x: function(x, torch), dovetail: lambda x: function(x, dovetail)}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            traced = fx_of(lib).symbolic_trace(program[lib])
        assert [each.category for each in caught] == ([] if lib is torch else [UserWarning])
        assert traced(lib.ones(1, requires_grad=True)).requires_grad
