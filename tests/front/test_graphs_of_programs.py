"""`dovetail.fx`: programs as graphs."""

# ruff: noqa: PLW0108  (what is traced is a function of Python)

from __future__ import annotations

import copy
import functools
import importlib
import io
import math
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail import fx, nn
from dovetail.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from dovetail.fx.proxy import TraceError


def decided_by_values(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


fx.wrap("decided_by_values")
fx.wrap("len")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        self.scale = nn.Parameter(dovetail.ones(2))
        self.register_buffer("kept", dovetail.ones(2), persistent=False)

    def forward(self, x: dovetail.Tensor) -> dovetail.Tensor:
        return self.layers(x) * self.scale + self.kept


X = dovetail.ones(5, 3)


def test_a_traced_module_shares_parameters_and_has_their_gradients() -> None:
    net = Net()
    traced = fx.symbolic_trace(net)
    assert isinstance(traced, fx.GraphModule)
    assert traced.scale is net.scale
    assert list(traced.state_dict()) == ["scale", *[k for k in net.state_dict() if k != "scale"]]
    traced(X).sum().backward()
    assert net.layers[0].weight.grad is not None
    assert dovetail.equal(traced(X), net(X))


def test_tracing_leaves_modules_and_functions_as_they_were() -> None:
    before = nn.Module.__call__, nn.Module.__getattr__, math.sqrt, dovetail.zeros
    with pytest.raises(TraceError):
        fx.symbolic_trace(lambda x: bool(x))
    fx.symbolic_trace(Net())
    assert before == (nn.Module.__call__, nn.Module.__getattr__, math.sqrt, dovetail.zeros)
    assert "len" not in globals()


def test_wrapped_functions_are_called_by_the_graph() -> None:
    traced = fx.symbolic_trace(lambda x: decided_by_values(x) + len(x))
    calls = [each.target for each in traced.graph.nodes if each.op == "call_function"]
    assert decided_by_values in calls and len in calls
    assert traced(dovetail.ones(2)).tolist() == [4, 4]
    assert traced(-dovetail.ones(2)).tolist() == [1, 1]


def test_wrap_is_called_at_the_top_of_a_module() -> None:
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap("len")
    with pytest.raises(RuntimeError, match="Must be either a callable or string name"):
        fx.wrap(3)  # type: ignore[type-var]


def test_functions_that_make_tensors_take_sizes_that_are_not_known() -> None:
    traced = fx.symbolic_trace(lambda x: dovetail.zeros(x.shape[0], 2) + dovetail.arange(x.size(1)))
    assert traced(dovetail.ones(3, 2)).tolist() == [[0, 1]] * 3
    assert "dovetail.zeros(getitem, 2)" in traced.code


def test_a_function_of_nn_functional_is_recorded_by_its_own_name() -> None:
    traced = fx.symbolic_trace(lambda x: nn.functional.relu(x))
    assert [each.target for each in traced.graph.nodes][1] is nn.functional.relu


@pytest.mark.parametrize("how", ["pickle", "save", "copy", "deepcopy", "folder"])
def test_a_graph_module_is_kept_with_its_graph(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = fx.symbolic_trace(Net())
    traced.noted = "by a program"
    if how == "pickle":
        again = pickle.loads(pickle.dumps(traced))
    elif how == "save":
        file = io.BytesIO()
        dovetail.save(traced, file)
        file.seek(0)
        again = dovetail.load(file, weights_only=False)
    elif how == "folder":
        traced.to_folder(tmp_path / "written_module", "Written")
        monkeypatch.syspath_prepend(str(tmp_path))
        again = importlib.import_module("written_module").Written()
        monkeypatch.delitem(sys.modules, "written_module")
    else:
        again = getattr(copy, how)(traced)
    assert dovetail.equal(again(X), traced(X))
    if how != "folder":
        assert again.code == traced.code
        assert str(again.graph) == str(traced.graph)
        assert how == "copy" or again.noted == "by a program"
        assert (again.scale is traced.scale) == (how == "copy")


def test_a_changed_graph_runs_after_recompile() -> None:
    traced = fx.symbolic_trace(Net())
    for node in traced.graph.nodes:
        if node.op == "call_module" and isinstance(traced.get_submodule(str(node.target)), nn.ReLU):
            with traced.graph.inserting_after(node):
                new = traced.graph.call_function(dovetail.tanh, node.args)
            node.replace_all_uses_with(new)
            traced.graph.erase_node(node)
    before = traced(X)
    traced.recompile()
    traced.delete_all_unused_submodules()
    assert not dovetail.equal(traced(X), before)
    assert [name for name, _ in traced.layers.named_children()] == ["0", "2"]


def test_each_module_has_a_forward_of_its_own() -> None:
    first, second = fx.symbolic_trace(lambda x: x + 1), fx.symbolic_trace(lambda x: x * 3)
    assert (first(2), second(2)) == (3, 6)
    second.graph = first.graph
    assert (first(2), second(2)) == (3, 3)
    assert second.graph is not first.graph


def test_a_traceback_shows_the_line_of_the_source() -> None:
    import traceback

    traced = fx.symbolic_trace(lambda x: x @ x)
    try:
        traced(dovetail.ones(2, 3))
    except RuntimeError as error:
        assert "matmul = x @ x" in "".join(traceback.format_exception(error))


def test_an_interpreter_names_the_node_that_fails() -> None:
    traced = fx.symbolic_trace(Net())
    with pytest.raises(RuntimeError, match=r"While executing %layers_0 .*call_module") as caught:
        fx.Interpreter(traced).run(dovetail.ones(1, 7))
    assert str(caught.value).count("While executing") == 1


def test_an_interpreter_is_told_what_to_do_by_a_subclass() -> None:
    class Doubling(fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return 2 * super().call_function(target, args, kwargs)

    assert Doubling(fx.symbolic_trace(lambda x: x + 1)).run(1) == 4


def test_a_transformer_makes_another_graph() -> None:
    class Other(fx.Transformer):
        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_method("exp" if target == "neg" else target, args, kwargs)

    made = Other(fx.symbolic_trace(lambda x: x.neg())).transform()
    assert made(dovetail.zeros(1)).tolist() == [1]


def test_a_tracer_decides_which_modules_are_entered() -> None:
    class Whole(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return True

    graph = Whole().trace(Net())
    assert [str(each.target) for each in graph.nodes if each.op == "call_module"] == ["layers"]


def test_nested_arguments_may_be_known_in_part() -> None:
    def function(x: Any, options: Any) -> Any:
        return x + options["a"] * options["b"]

    known = {"options": {"a": fx.PH, "b": 3}}
    traced = fx.symbolic_trace(function, concrete_args=known)
    assert traced(1, {"a": 2, "b": 3}) == 7
    with pytest.raises(AssertionError, match="specialized to have value 3"):
        traced(1, {"a": 2, "b": 4})


def test_a_proxy_adds_to_the_graph_that_it_is_of() -> None:
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    graph.output((nn.functional.relu(x) + dovetail.ones(1).shape[0] * x.sum(dim=0)).node)
    assert fx.GraphModule({}, graph)(dovetail.tensor([-1.0, 2.0])).tolist() == [1, 3]


def test_dead_steps_go_and_those_with_effects_stay() -> None:
    def function(x: Any) -> Any:
        x.exp()
        dovetail.sin(x)
        x.add_(1)
        dovetail._assert(x.dim() == 1, "one dimension")
        return x

    traced = fx.symbolic_trace(function)
    assert traced.graph.eliminate_dead_code()
    names = [each.name for each in traced.graph.nodes]
    assert names == ["x", "add_", "dim", "eq", "_assert", "output"]
    traced.recompile()
    assert traced(dovetail.zeros(1)).tolist() == [1]


def test_arguments_of_nodes_cannot_be_changed_in_place() -> None:
    node = fx.Graph().call_function(dovetail.cat, ([1, 2],), {"k": {"a": 1}})
    with pytest.raises(TypeError, match="create a new copy of it"):
        node.args[0].append(3)
    with pytest.raises(TypeError, match="does not support mutation"):
        node.kwargs["k"]["b"] = 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g, x: g.erase_node(x), "still had 1 users in the graph"),
        (lambda g, x: fx.Graph().erase_node(g.output_node()), "from wrong graph"),
        (lambda g, x: fx.GraphModule({}, _with_module(g)), "target was not provided in"),
        (lambda g, x: fx.GraphModule(3, g), "Unsupported type 3 passed for root"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_a_graph_is_refused(change: Any, message: str) -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(x)
    with pytest.raises(RuntimeError, match=message):
        change(graph, x)
    assert str(graph).startswith("graph():\n    %x : ")


def _with_module(graph: fx.Graph) -> fx.Graph:
    graph.call_module("missing")
    return graph


def test_a_table_of_the_nodes_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    fx.symbolic_trace(lambda x: x.exp()).graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[3].split()[:3] == ["call_method", "exp", "exp"]


def test_make_fx_records_operators_of_gradients() -> None:
    function = dovetail.func.grad(lambda x: (x.sin() * x).sum())
    made = make_fx(function)(dovetail.ones(3))
    x = dovetail.tensor([0.5, 1.0, -2.0])
    assert dovetail.allclose(made(x), function(x))
    assert get_proxy_mode() is None


def test_make_fx_calls_other_functions_in_the_place_of_operators() -> None:
    table = {dovetail.ops.aten.sin.default: lambda x: x.cos()}
    made = make_fx(lambda x: x.sin(), decomposition_table=table)(dovetail.ones(1))
    assert "aten.cos.default" in made.code and "sin" not in made.code


def test_make_fx_takes_nested_arguments_and_keeps_other_tensors() -> None:
    weight = dovetail.tensor([2.0])
    made = make_fx(lambda pair, x: {"r": pair["a"] * x + weight})(
        {"a": dovetail.ones(1)}, dovetail.ones(1)
    )
    result = made({"a": dovetail.tensor([3.0])}, dovetail.tensor([5.0]))
    assert result["r"].tolist() == [17]
    assert [name for name, _ in made.named_buffers()] == ["_tensor_constant0"]


def test_a_module_is_pickled_with_its_functions() -> None:
    again = pickle.loads(pickle.dumps(fx.symbolic_trace(lambda x: decided_by_values(x))))
    assert again(dovetail.ones(1)).tolist() == [2]


def _three_times(function: Any) -> Any:
    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * 3

    return decorated


def test_a_decorated_function_is_traced_with_its_decorator() -> None:
    @_three_times
    def function(x: Any, *, factor: Any = 2) -> Any:
        return x * factor

    @_three_times
    def any_arguments(x: Any, *rest: Any) -> Any:
        return x

    traced = fx.symbolic_trace(function)
    assert (traced(1), traced(1, factor=5)) == (6, 15)
    with pytest.raises(TraceError, match="decorated, and takes any arguments"):
        fx.symbolic_trace(any_arguments)


@pytest.mark.parametrize(
    "mode", [dovetail.no_grad, dovetail.inference_mode, lambda: dovetail.autocast("cpu")]
)
def test_a_mode_that_no_graph_has_is_warned_of_once(mode: Any) -> None:
    def function(x: Any) -> Any:
        with mode():
            y = x.exp() * 2
        return x + y

    with pytest.warns(UserWarning, match="graphs have no such steps") as caught:
        traced = fx.symbolic_trace(function)
    assert [each.filename for each in caught] == [__file__]
    with dovetail.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        fx.symbolic_trace(lambda x: x.exp())
    assert traced(dovetail.zeros(1)).tolist() == [2]
