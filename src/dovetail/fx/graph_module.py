"""`GraphModule`: a module whose forward is the source of a graph."""

from __future__ import annotations

import copy
import linecache
import weakref
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, Self

from ..nn import Module
from ..serialization import save
from .graph import Graph, PythonCode
from .graph_tables import GraphTable, graph_of, table_of
from .names import GLOBALS, qualified_name
from .source import TreeCodeGen

__all__ = ["GraphModule"]

_numbers = count()
_USER_PRESERVED_ATTRIBUTES_KEY: Final = "_user_preserved_attributes"
"""Where `GraphModule.meta` has the attributes that a program wants copied with the module."""
_TABLES: Final = ("_modules", "_parameters", "_buffers", "_non_persistent_buffers_set", "training")
"""What a module has, beside its forward."""


class GraphModule(Module):
    """A module whose forward is the source of a graph. Each instance has its own class.

    Parameters
    ----------
    root
        A module, or a dict from dotted names to modules and attributes; the targets of nodes are
        copied from it.
    graph
        The graph; it is copied if another module has it already.
    class_name
        Name of the class.

    Raises
    ------
    RuntimeError
        For a root of another type, or for a dict that lacks a target.

    Attributes
    ----------
    graph
        The graph; assigning another recompiles.
    code
        The source of the forward.
    meta
        A dict for metadata of passes.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        # `recompile` writes the forward of the class: it has to be that of one module.
        own = type("GraphModuleImpl", (_written_class(cls),), {"_is_of_graph": True})
        return super().__new__(own)

    def __init__(
        self, root: Module | Mapping[str, object], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
            if hasattr(root, "_non_persistent_buffers_set"):
                self._non_persistent_buffers_set = set(root._non_persistent_buffers_set)
            for name in _targets(graph):
                if _has(root, name):
                    _copy_attr(root, self, name)
        elif isinstance(root, Mapping):
            names = _targets(graph)
            for name, node in names.items():
                if name not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {name} but that target was not provided "
                        "in ``root``!"
                    )
            for name in sorted(names, key=lambda each: each.count(".")):
                _assign(root[name], self, name)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras
        self.meta: dict[str, Any] = {}
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; assigning another recompiles."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self._graph = graph if graph.owning_module is None else copy.deepcopy(graph)
        self._graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of the forward."""
        return self._code

    def recompile(self) -> PythonCode:
        """Regenerate the forward after a change of the graph, and return its source."""
        form = self._graph._codegen
        if isinstance(form, TreeCodeGen):
            self._in_spec, self._out_spec = form.in_spec, form.out_spec
        written = self._graph.python_code("self")
        self._code = written.src
        type(self).forward = _function(written.src, written.globals)
        return written

    # -- submodules ------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module at a path, creating intermediate modules; return whether this was
        possible.
        """
        *above, last = target.split(".")
        module: Any = self
        for name in above:
            module = _module_at(module, name)
            if not isinstance(module, Module):
                return False
        module.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; return whether there was one."""
        *above, last = target.split(".")
        module: Any = self
        for name in above:
            module = getattr(module, name, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, last, None), Module):
            return False
        delattr(module, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node uses."""
        used: set[str] = set()
        for name, node in _targets(self._graph).items():
            parts = name.split(".")
            used.update([".".join(parts[: end + 1]) for end in range(len(parts))])
            if node.op == "call_module" and _has(self, name):
                used.update(
                    [f"{name}.{each}" for each, _ in self.get_submodule(name).named_modules()]
                )
        for name in [each for each, _ in self.named_modules() if each and each not in used]:
            self.delete_submodule(name)

    # -- copies, files ---------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, object]) -> GraphModule:
        made = GraphModule.__new__(_written_class(type(self)))
        memo[id(self)] = made
        kept = copy.deepcopy(self._without_graph(), memo)
        return _filled(made, type(self).__name__, kept, copy.deepcopy(self._graph))

    def __copy__(self) -> GraphModule:
        made = GraphModule.__new__(_written_class(type(self)))
        GraphModule.__init__(made, self, self._graph, type(self).__name__)
        made.meta = self.meta
        return made

    def __reduce__(self) -> Any:
        parts = type(self).__name__, self._without_graph(), table_of(self._graph)
        return rebuild_graph_module, (_written_class(type(self)), *parts)

    def _without_graph(self) -> dict[str, Any]:
        """Return the attributes but the graph, which is kept otherwise."""
        return {name: value for name, value in self.__dict__.items() if name != "_graph"}

    def to_folder(self, folder: str | Path, module_name: str = "FxModule") -> None:
        """Write the module as a package: its source and its data.

        Parameters
        ----------
        folder
            The folder, which is created if necessary.
        module_name
            Name of the class.
        """
        place = Path(folder)
        place.mkdir(exist_ok=True, parents=True)
        tables = {name: self.__dict__[name] for name in _TABLES}
        save(tables, place / "tables.pt")
        lines = [_imports(self._graph.python_code("self")), "from pathlib import Path", ""]
        lines += ["", f"class {module_name}(dovetail.nn.Module):", "    def __init__(self):"]
        lines += [
            "        super().__init__()",
            "        file = Path(__file__).parent / 'tables.pt'",
        ]
        lines += ["        self.__dict__.update(dovetail.load(file, weights_only=False))"]
        lines += ["", *[f"    {line}".rstrip() for line in self.code.strip().split("\n")], ""]
        (place / "module.py").write_text("\n".join(lines))
        (place / "__init__.py").write_text("from .module import *\n")

    # -- texts -----------------------------------------------------------------------------------

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Return the source as a class, and print it unless `print_output` is False."""
        lines = [f"class {type(self).__name__}(dovetail.nn.Module):"]
        lines += [f"    {line}" if line.strip() else "" for line in self.code.strip().split("\n")]
        text = "\n".join(lines).rstrip() + "\n"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, hint])


class _CodeOnlyModule(Module):
    """A module with the attributes of another: what a subclass of `GraphModule` copies itself by.

    Parameters
    ----------
    body
        Its ``__dict__``.
    """

    def __init__(self, body: dict[str, object]) -> None:
        super().__init__()
        self.__dict__ = body


def _written_class(cls: type[GraphModule]) -> type[GraphModule]:
    """Return the class that a program wrote, of one that a single module has."""
    return next(iter([each for each in cls.__mro__ if "_is_of_graph" not in each.__dict__]))


def _module_at(module: object, name: str) -> Any:
    """Return an attribute of a module, a new plain module if it has none."""
    if getattr(module, name, None) is None:
        setattr(module, name, Module())
    return getattr(module, name)


def _targets(graph: Graph) -> dict[str, Any]:
    """Return the names that nodes have of modules and attributes, with the first such node."""
    found: dict[str, Any] = {}
    for node in graph.nodes:
        if node.op in ("get_attr", "call_module"):
            found.setdefault(str(node.target), node)
    return found


def _has(module: object, name: str) -> bool:
    for part in name.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def _copy_attr(source: Any, to: Any, name: str) -> None:
    """Give `to` what `source` has at a path, with plain modules between."""
    *above, last = name.split(".")
    for part in above:
        source, to = getattr(source, part), _module_at(to, part)
        if source is to:  # a module that another node calls: all of it is there
            return
    value = getattr(source, last)
    buffers = getattr(source, "_buffers", {})
    if last in buffers and last not in getattr(to, "_buffers", {}):
        persistent = last not in source._non_persistent_buffers_set
        to.register_buffer(last, value, persistent=persistent)
    else:
        setattr(to, last, value)


def _assign(value: Any, to: Any, name: str) -> None:
    """Give `to` a value at a path, with plain modules between."""
    from dovetail_aten import Tensor

    from ..nn import Parameter

    *above, last = name.split(".")
    for part in above:
        to = _module_at(to, part)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to.register_buffer(last, value)
    else:
        setattr(to, last, value)


def _function(src: str, names: Mapping[str, object]) -> Any:
    """Return the function that a source defines; tracebacks show its lines."""
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = (len(src), None, src.splitlines(keepends=True), file)
    names = {**names, "__name__": __name__}
    exec(compile(src, file, "exec"), names)
    forward: Any = names["forward"]
    weakref.finalize(forward.__code__, linecache.cache.pop, file, None).atexit = False
    return forward


def _imports(written: PythonCode) -> str:
    """Return the lines that import what the source names."""
    lines = []
    for name, value in written.globals.items():
        if name in GLOBALS:
            lines.append(GLOBALS[name][0])
            continue
        module, _, attribute = qualified_name(value).rpartition(".")
        if module:  # or it is built in
            lines.append(f"from {module} import {attribute} as {name}")
    return "\n".join(lines)


def rebuild_graph_module(
    cls: type[GraphModule], name: str, kept: dict[str, object], table: GraphTable
) -> GraphModule:
    """Make a module of what `GraphModule.__reduce__` returned."""
    return _filled(cls.__new__(cls), name, kept, graph_of(table))


def _filled(made: GraphModule, name: str, kept: dict[str, Any], graph: Graph) -> GraphModule:
    """Return a new module with the attributes of another, and a graph."""
    plain = Module()
    plain.__dict__.update(kept)
    GraphModule.__init__(made, plain, graph, name)
    for attribute, value in kept.items():
        made.__dict__.setdefault(attribute, value)
    for table in ("_modules", "_parameters", "_buffers"):  # what no node names, too
        made.__dict__[table].update(kept[table])
    made.meta = kept["meta"]
    return made


_load = rebuild_graph_module  # as pickles of 0.1.0 have it
