"""`symbolic_trace`: runs a program with proxies in place of values, and records a graph."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from types import FunctionType, ModuleType
from typing import Any, Final

from dovetail_aten import Tensor
from dovetail_aten.autocast import is_autocast_enabled
from dovetail_autograd import is_grad_enabled, is_inference_mode_enabled
from dovetail_kernel import defining_module, warn_user

from ..functions.condition_checks import _assert
from ..nn import Module, Parameter, Sequential
from ..utils import _pytree as pytree
from ._compatibility import compatibility
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node
from .proxy import Proxy, TraceError, TracerBase
from .source import TreeCodeGen
from .traced_parameters import annotations_of, is_nested, taking_all_by_position
from .whole_calls import Replacements, wrap

__all__ = ["PH", "Tracer", "compatibility", "symbolic_trace", "wrap"]


class _PlaceHolder:
    def __repr__(self) -> str:
        return "PH"


PH: Final = _PlaceHolder()
"""Stands in `concrete_args` for what stays a parameter."""


def _assert_is_none(value: object, msg: str) -> None:
    """Raise AssertionError with a message unless a value is None."""
    _assert(value is None, msg)


class Tracer(TracerBase):
    """Traces a program to a graph. Subclasses decide which modules to trace into.

    Parameters
    ----------
    autowrap_modules
        Modules whose functions are recorded as single calls for proxy arguments.
    autowrap_functions
        More such functions.
    param_shapes_constant
        Accepted and ignored: shapes of parameters are always constant.

    Attributes
    ----------
    root
        The traced module.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., object], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._kept: dict[int, Callable[..., Any]] = {
            id(value): value
            for module in autowrap_modules
            for name in dir(module)
            if not name.startswith("_") and callable(value := getattr(module, name))
        }
        self._kept.update({id(each): each for each in autowrap_functions})
        self._kept_modules = tuple(autowrap_modules)
        self._parameters: dict[str, Proxy] = {}
        self._paths: dict[Module, str] = {}
        self.root: Module = Module()
        self.root_module_name = ""
        self.module_stack: dict[str, tuple[str, Any]] = {}
        self._modes: tuple[bool, ...] | None = None

    # -- what subclasses change ------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether a module is recorded as a single call: True for the library's modules
        except `Sequential`.
        """
        return defining_module(type(m)).startswith("dovetail.nn") and not isinstance(m, Sequential)

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Return the result of calling a submodule: a proxy, or the result of its forward.

        Parameters
        ----------
        forward
            Calls the module, with the same arguments.
        """
        path = self.path_of_module(m)
        known, self.module_stack = self.module_stack, {**self.module_stack, path: (path, type(m))}
        try:
            if not self.is_leaf_module(m, path):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", path, args, kwargs)
        finally:
            self.module_stack = known

    def getattr(self, attr: str, attr_val: object, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return the value of an attribute of a module; for a parameter, a proxy."""
        if isinstance(attr_val, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is attr_val:
                    if name not in parameter_proxy_cache:
                        made = self.create_proxy("get_attr", name, (), {})
                        parameter_proxy_cache[name] = made
                    return parameter_proxy_cache[name]
        return attr_val

    def path_of_module(self, mod: Module) -> str:
        """Return the path from the root to a module.

        Raises
        ------
        NameError
            If the root has no such module.
        """
        found = self._paths.get(mod)
        if found is None:
            for name, each in self.root.named_modules():
                if each is mod:
                    return name
            raise NameError("module is not installed as a submodule")
        return found

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node, with the modules around it in its ``meta``; warn if a mode is active that
        graphs cannot represent.
        """
        if self._modes is not None and self._modes != _modes_in_force():
            self._modes = None
            warn_user(
                "The program changes grad mode, inference mode or autocast while it is traced: "
                "graphs have no such steps, and run in the mode that they are called in. Keep the "
                "block whole with dovetail.fx.wrap, or as a leaf module."
            )
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def create_arg(self, a: object) -> Argument:
        """Convert an argument for a node: tensors become attributes of the root.

        Raises
        ------
        NameError
            For a parameter that the root does not have.
        """
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            return self.create_node("get_attr", self._constant(a), (), {})
        return super().create_arg(a)

    def _constant(self, tensor: Tensor) -> str:
        """Return the name of the attribute of the root that has a tensor, a new one if need be."""
        for name, value in vars(self.root).items():
            if value is tensor:
                return name
        number = 0
        while hasattr(self.root, f"_tensor_constant{number}"):
            number += 1
        name = f"_tensor_constant{number}"
        self.root.register_buffer(name, tensor)
        return name

    # -- tracing ---------------------------------------------------------------------------------

    def trace(
        self,
        root: Module | Callable[..., object],
        concrete_args: Mapping[str, object] | None = None,
    ) -> Graph:
        """Return the graph of a module or function.

        Parameters
        ----------
        concrete_args
            Fixed values of parameters, which the graph checks. `PH` in a nested value keeps a
            parameter.

        Raises
        ------
        TraceError
            If the program depends on values.
        """
        if isinstance(root, Module):
            self.root = root
            function: Any = type(root).forward
            self.root_module_name = type(root).__name__
            self._paths = {each: name for name, each in root.named_modules()}
        else:
            if not isinstance(root, FunctionType):
                raise AssertionError(f"Expected FunctionType, got {type(root)}")
            self.root, function, self._paths = Module(), root, {}
        self.graph = Graph(tracer_cls=type(self))
        self._parameters = {}
        self._modes = _modes_in_force()
        taken, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        function = inspect.unwrap(function)
        names = getattr(function, "__globals__", {})
        with self._recording(names):
            result = taken(*args)
            self.create_node(
                "output",
                "output",
                (self.create_arg(result),),
                {},
                type_expr=annotations_of(function).get("return"),
            )
        return self.graph

    def create_args_for_root(
        self,
        root_fn: FunctionType,
        is_module: bool,
        concrete_args: Mapping[str, object] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return a function with positional parameters only, and the proxies for its parameters.

        Parameters
        ----------
        is_module
            Whether the first parameter is the root module.

        Raises
        ------
        RuntimeError
            For a method without a first parameter.
        TraceError
            For a decorated function with variadic arguments, whose parameters are unknown.
        """
        function = inspect.unwrap(root_fn)
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:count])
        args: list[Any] = []
        if is_module:
            if not names:
                raise RuntimeError(
                    "``self`` argument cannot be part of *args expansion! forward needs it by name"
                )
            args.append(self.root)
            names = names[1:]
        known = {name: value for name, value in (concrete_args or {}).items() if name in names}
        parameters = inspect.signature(function).parameters
        kinds = annotations_of(function)
        for name in names:
            default = parameters[name].default
            defaults = () if default is inspect.Parameter.empty else (default,)
            if name not in known:
                args.append(self._parameter(name, defaults, kinds.get(name)))
            elif is_nested(known[name]):
                leaf = partial(self._known_parameter, name, ())
                args.append(pytree.tree_map(leaf, known[name]))
            else:
                args.append(self._known_parameter(name, defaults, known[name]))
        if any([is_nested(value) for value in known.values()]):
            given = [known[name] if is_nested(known.get(name)) else PH for name in names]
            self.graph.set_codegen(TreeCodeGen(names, pytree.tree_structure(tuple(given))))
        for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
            if code.co_flags & flag:
                args.append(self._parameter(f"{stars}{code.co_varnames[count]}", (), None))
                count += 1
        if function is root_fn:
            return taking_all_by_position(function), args
        if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            raise TraceError(
                f"{root_fn.__qualname__} is decorated, and takes any arguments: a tracer cannot "
                "tell what its decorator gets. Name the parameters"
            )
        by_name = code.co_varnames[code.co_argcount : count]
        return partial(_calling, root_fn, by_name), args

    def _parameter(self, name: str, defaults: tuple[object, ...], kind: object) -> Proxy:
        """Return what stands for a parameter."""
        return self.create_proxy("placeholder", name, defaults, {}, type_expr=kind)

    def _known_parameter(self, name: str, defaults: tuple[object, ...], value: object) -> Any:
        """Return the value that a parameter is to have, and have the graph check it; what stands
        for it if that may be any.
        """
        if value is PH:
            return self._parameter(name, defaults, None)
        made: Any = self._parameter(f"{name}_1", defaults, None)
        message = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (made, message), {})
        elif isinstance(value, (bool, int, float, str)):
            held: Any = made == value  # what stands for a bool
            self.create_proxy("call_function", _assert, (held, message), {})
        return value

    @contextmanager
    def _recording(self, names: dict[str, object]) -> Iterator[None]:
        """Let the calls of modules, and of functions that are kept whole, be recorded.

        Parameters
        ----------
        names
            The globals of what is traced.
        """
        replacements = Replacements()
        call, read = Module.__call__, Module.__getattr__

        @wraps(call)
        def recorded_call(module: Module, *args: Any, **kwargs: Any) -> Any:
            replacements.keep_whole(getattr(module.forward, "__globals__", {}), self._kept)
            return self.call_module(module, partial(call, module), args, kwargs)

        @wraps(read)
        def recorded_read(module: Module, name: str) -> Any:
            return self.getattr(name, read(module, name), self._parameters)

        try:
            replacements.set_attribute(Module, "__call__", recorded_call)
            replacements.set_attribute(Module, "__getattr__", recorded_read)
            replacements.keep_known_whole()
            replacements.keep_modules_whole(self._kept_modules, self._kept)
            replacements.keep_whole(names, self._kept)
            yield
        finally:
            replacements.undo()


def _calling(function: Callable[..., object], by_name: tuple[str, ...], *args: Any) -> Any:
    """Call a function that takes its last arguments by name alone."""
    count = len(args) - len(by_name)
    return function(*args[:count], **dict(zip(by_name, args[count:], strict=True)))


def _modes_in_force() -> tuple[bool, ...]:
    """Return what decides how calls are recorded, and in which dtype."""
    return (
        is_grad_enabled(),
        is_inference_mode_enabled(),
        *[is_autocast_enabled(each) for each in ("cpu", "cuda")],
    )


def symbolic_trace(
    root: Module | Callable[..., object], concrete_args: Mapping[str, object] | None = None
) -> GraphModule:
    """Return an equivalent module with an editable graph.

    Parameters
    ----------
    root
        Module or function, which is called once with proxies.
    concrete_args
        As for `Tracer.trace`.

    Raises
    ------
    TraceError
        If the program depends on values, as in ``if x.sum() > 0``.

    Examples
    --------
    ::

        traced = symbolic_trace(model)
        print(traced.graph)
        print(traced.code)
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
