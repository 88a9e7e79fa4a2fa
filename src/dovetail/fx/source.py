"""`CodeGen`: the Python source of a graph."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dovetail_kernel import Device, Layout, MemoryFormat, dtype

from ..utils import _pytree as pytree
from .names import GLOBALS, Namespace, is_of_dovetail, qualified_name, type_text
from .node import Node
from .order import last_uses

_BINARY: Final = {
    **{"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%"},
    **{"pow": "**", "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^"},
    **{"matmul": "@", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="},
}
_UNARY: Final = {"neg": "-", "pos": "+", "invert": "~"}
_IN_PLACE: Final = {
    **{"iadd": "+=", "iand": "&=", "ifloordiv": "//=", "ilshift": "<<=", "imod": "%="},
    **{"imul": "*=", "imatmul": "@=", "ior": "|=", "ipow": "**=", "irshift": ">>="},
    **{"isub": "-=", "itruediv": "/=", "ixor": "^="},
}
_MODULES: Final = {"dovetail": sys.modules["dovetail"], "pytree": pytree}


class PythonCode(NamedTuple):
    """The source of a graph, and what its names mean.

    Attributes
    ----------
    src
        The definition of a function.
    globals
        The values of the names in it.
    """

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes the source of a graph as a function of its placeholders."""

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for the arguments of a call."""
        return args

    def process_outputs(self, outputs: object) -> Any:
        """Return the result of a call from the result of the graph."""
        return outputs

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, self_name: str | None = "self"
    ) -> str:
        """Return the first line of the function, with what turns its arguments to placeholders."""
        if self_name is not None:
            free_vars = [self_name, *free_vars]
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: object, source: Callable[..., str]) -> str:
        """Return the return statement."""
        return f"return {source(output_args)}"

    def source_of(self, graph: object, root_module: str) -> PythonCode:
        """Return the source of `graph`, in which modules and attributes are those of
        `root_module`.
        """
        return _Writer(graph, root_module).write(self)


class TreeCodeGen(CodeGen):
    """Writes a function whose arguments and results are nested, where the graph has their leaves.

    Parameters
    ----------
    names
        Of the arguments.
    in_spec, out_spec
        How they and the result are nested, as `dovetail.utils._pytree` says it; without
        `out_spec` the result is that of the graph.
    """

    def __init__(self, names: Sequence[str], in_spec: object, out_spec: Any = None) -> None:
        self.names = list(names)
        self.in_spec = in_spec
        self.out_spec = out_spec

    def process_inputs(self, *args: Any) -> Any:
        """Return the leaves of the arguments."""
        return pytree.tree_leaves(args)

    def process_outputs(self, outputs: Any) -> Any:
        """Return the nested result."""
        if self.out_spec is None:
            return outputs
        return pytree.tree_unflatten(outputs, self.out_spec)

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, self_name: str | None = "self"
    ) -> str:
        """Return the first line of the function, and the one that takes its arguments apart."""
        names = [each.partition(":")[0].partition("=")[0].strip() for each in free_vars]
        first = super().gen_fn_def(self.names, maybe_return_annotation, self_name)
        apart = f"{', '.join(names)}, = pytree.tree_leaves(({', '.join(self.names)},))"
        return f"{first}\n    {apart}"

    def generate_output(self, output_args: object, source: Callable[..., str]) -> str:
        """Return the statement that returns the nested result."""
        if self.out_spec is None:
            return super().generate_output(output_args, source)
        return f"return pytree.tree_unflatten({source(output_args)}, self._out_spec)"


class _Writer:
    """Writes one graph."""

    def __init__(self, graph: Any, root_module: str) -> None:
        self.graph = graph
        self.root = root_module
        self.namespace = Namespace()
        self.globals: dict[str, Any] = {
            name: _MODULES.get(name, value) for name, (_, value) in GLOBALS.items()
        }
        self.wrapped: dict[str, None] = {}
        self.parameters: list[str] = []
        self.body: list[str] = []
        self.returns = ""
        for node in graph.nodes:  # names of nodes are theirs: globals take others
            self.namespace.create_name(node.name, node)

    def write(self, form: CodeGen) -> PythonCode:
        """Return the source."""
        last = last_uses(self.graph)
        for node in self.graph.nodes:
            self.add(node, form)
            done = last.get(node, [])
            if node.op not in ("placeholder", "output"):
                done = [*done, *([] if node.users else [node])]
                freed = "".join([f"{each.name} = " for each in done])
                self.body[-1] += f";  {freed}None\n" if done else "\n"
        wraps = "\n".join([f"dovetail.fx.wrap({name!r})" for name in self.wrapped])
        first = form.gen_fn_def(self.parameters, self.returns, self.root)
        body = "".join(self.body) or "pass\n"
        indented = "\n".join([f"    {line}" for line in body.split("\n")])
        return PythonCode(f"\n{wraps}\n\n{first}\n{indented}", self.globals)

    def add(self, node: Node, form: CodeGen) -> None:
        """Write the statement of a node."""
        if node.op == "placeholder":
            self.add_parameter(node)
        elif node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.annotation(node.type)}"
            self.body.append(form.generate_output(node.args[0], self.source) + "\n")
        elif node.op == "call_function" and _is_operator(node, _IN_PLACE):
            changed, other = [self.source(each) for each in node.args]
            sign = _IN_PLACE[node.target.__name__]  # type: ignore[union-attr]
            self.body.append(f"{changed} {sign} {other};  {node.name} = {changed}")
        else:
            kind = f" : {self.annotation(node.type)}" if node.type is not None else ""
            self.body.append(f"{node.name}{kind} = {self.expression(node)}")

    def add_parameter(self, node: Node) -> None:
        """Write a parameter of the function."""
        target = str(node.target)
        kind = f" : {self.annotation(node.type)}" if node.type is not None else ""
        default = f" = {self.source(node.args[0])}" if node.args else ""
        self.parameters.append(f"{target}{kind}{default}")
        name = target.replace("*", "")
        if name != node.name:
            self.body.append(f"{node.name} = {name}\n")

    def expression(self, node: Node) -> str:
        """Return what a node calls, as source."""
        if node.op == "get_attr":
            return _path(self.root, str(node.target))
        if node.op == "call_module":
            return f"{_path(self.root, str(node.target))}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            taker = self.source(node.args[0])
            return f"{taker}.{node.target}({self.arguments(node.args[1:], node.kwargs)})"
        function: Any = node.target
        if _is_operator(node, _BINARY):
            left, right = [self.source(each) for each in node.args]
            return f"{left} {_BINARY[function.__name__]} {right}"
        if _is_operator(node, _UNARY):
            return f"{_UNARY[function.__name__]}{self.source(node.args[0])}"
        if _is_operator(node, ("getitem",)):
            return f"{self.source(node.args[0])}[{self.source(node.args[1])}]"
        if function is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
            return f"{self.source(node.args[0])}.{node.args[1]}"
        name = self.name_of(qualified_name(function), function)
        if node.meta.get("is_wrapped") and not is_of_dovetail(name):
            self.wrapped[name] = None
        return f"{name}({self.arguments(node.args, node.kwargs)})"

    def arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
        """Return the arguments of a call."""
        given = [self.source(each) for each in args]
        return ", ".join([*given, *[f"{k} = {self.source(v)}" for k, v in kwargs.items()]])

    def source(self, arg: object) -> str:
        """Return the source of an argument."""
        if isinstance(arg, Node):
            return arg.name
        if isinstance(arg, tuple):
            items = [self.source(each) for each in arg]
            if hasattr(arg, "_fields"):
                kind = self.name_of(qualified_name(type(arg)), type(arg))
                return f"{kind}({', '.join(items)})"
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join([self.source(each) for each in arg])}]"
        if isinstance(arg, dict):
            return f"{{{', '.join([f'{k!r}: {self.source(v)}' for k, v in arg.items()])}}}"
        if isinstance(arg, slice):
            return f"slice({self.arguments((arg.start, arg.stop, arg.step), {})})"
        if isinstance(arg, enum.Enum):
            return f"{self.name_of(qualified_name(type(arg)), type(arg))}.{arg.name}"
        if isinstance(arg, (dtype, Layout, MemoryFormat, Device)) or arg is None:
            return repr(arg)
        if callable(arg) and not isinstance(arg, type):
            return self.name_of(qualified_name(arg), arg)
        return repr(arg)

    def annotation(self, kind: object) -> str:
        """Return the source of an annotation."""
        if kind is type(None) or kind is None:
            return "None"
        text = type_text(kind)
        return self.name_of(text, kind)

    def name_of(self, qualified: str, obj: object) -> str:
        """Return the name of a global with the value `obj`."""
        if is_of_dovetail(qualified):
            return qualified
        if qualified in ("getattr", "setattr") or self.globals.get(qualified) is obj:
            return qualified
        name = self.namespace.create_name(_of_module(qualified), obj)
        self.globals[name] = obj
        return name


def _of_module(qualified: str) -> str:
    return f"_{qualified}" if qualified.startswith("operator.") else qualified


def _is_operator(node: Node, known: Any) -> bool:
    function: Any = node.target
    if getattr(function, "__module__", "") != "_operator" or node.kwargs:
        return False
    return function.__name__ in known


def _path(root: str, target: str) -> str:
    """Return the source of an attribute of an attribute of `root`."""
    found = root
    for name in target.split("."):
        found = f"{found}.{name}" if name.isidentifier() else f'getattr({found}, "{name}")'
    return found
