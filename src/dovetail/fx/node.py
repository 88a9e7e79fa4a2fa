"""`Node`: a step of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from .immutable_collections import immutable_dict, immutable_list
from .names import qualified_name, type_text
from .purity import changes_its_tensor, has_side_effect, is_impure_function

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any

OPS: Final = (
    *("placeholder", "get_attr", "call_function", "call_method", "call_module"),
    *("output", "root"),
)
"""What a node does."""


class Node:
    """A step of a graph: its operation, target and arguments. Created by `Graph.create_node`.

    Attributes
    ----------
    graph
        The graph of the node.
    name
        The name of its result, unique in the graph.
    op
        ``'placeholder'``, ``'get_attr'``, ``'call_function'``, ``'call_method'``,
        ``'call_module'`` or ``'output'``.
    target
        The function, or the name of the method, module, attribute or parameter.
    args, kwargs
        Its arguments, in which nodes represent their results. Lists and dicts in them are
        immutable; assign new ones.
    users
        The nodes that use its result, as a dict with values None.
    type
        An annotation, or None.
    meta
        A dict for metadata of passes.
    """

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: object = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"op {op!r} is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = {name!r}] target {target} has type "
                    f"{type(target).__name__} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = {name!r}] target {target} has type "
                f"{type(target).__name__} but a str is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._erased = False
        self._prev = self._next = self
        self._set(args, kwargs)

    # -- arguments -------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The unique nodes in the arguments."""
        return list(self._input_nodes)

    def _set(self, args: Iterable[Argument], kwargs: dict[str, Argument]) -> None:
        inputs: dict[Node, None] = {}

        def note(node: Node) -> Node:
            inputs[node] = None
            return node

        new_args = map_arg(tuple(args), note)
        new_kwargs = map_arg(dict(kwargs), note)
        for each in self._input_nodes:
            each.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = new_args, new_kwargs, inputs
        for each in inputs:
            each.users[self] = None

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Set the positional argument at `idx` to `arg`."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert `arg` before the positional argument at `idx`.

        Raises
        ------
        AssertionError
            If there are fewer arguments.
        """
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Set the keyword argument `key` to `arg`."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace `old_input` by `new_input` in the arguments."""

        def other(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, other), map_arg(self._kwargs, other))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Replace this node by `replace_with` in all its users.

        Parameters
        ----------
        delete_user_cb
            Predicate for the users to change.
        propagate_meta
            Whether to copy the ``meta`` of this node to `replace_with`.

        Returns
        -------
        list of Node
            The previous users.

        Raises
        ------
        AssertionError
            If `propagate_meta` is True and `replace_with` already has a ``meta``.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                    "replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        users = list(self.users)
        changed = [user for user in users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # -- places ----------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The next node; after the last one, the root, which is not a step."""
        return self._next

    @property
    def prev(self) -> Node:
        """The previous node; before the first one, the root, which is not a step."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move `x`, a node of the same graph, before this node."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move `x`, a node of the same graph, after this node."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # -- what it is ------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """The stack trace of its creation, if the tracer recorded it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether the node must be kept even if it has no users.

        Parameters
        ----------
        impure_random
            Whether random operators count as impure.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return is_impure_function(self.target, self.kwargs, impure_random)
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError(
                    "self.graph.owning_module not set for purity check: make a GraphModule of the "
                    "graph"
                )
            found = owner.get_submodule(str(self.target))
            return bool(getattr(found, "_is_impure", False))
        return self.op == "call_method" and changes_its_tensor(str(self.target))

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Return the line of the node in the text of its graph; for the output node, a return line.

        Parameters
        ----------
        placeholder_names, maybe_return_typename
            Lists that receive the names of parameters and the annotation of the result.
        include_tensor_metadata
            Whether to include shapes and dtypes recorded by a pass.
        """
        kind = f": {type_text(self.type)} " if self.type is not None else ": "
        uses = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(self._parameter_text())
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} {kind}{uses} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} {kind}{uses} = {self.op}[target={self.target}]"
        if self.op == "output":
            if self.type is not None and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {type_text(self.type)}"
            return f"return {self.args[0]}"
        noted = self.meta.get("tensor_meta") if include_tensor_metadata else None
        metadata = f" # {noted}" if noted is not None else ""
        return (
            f"%{self.name} {kind}{uses} = {self.op}[target={self._target_text()}](args = "
            f"{argument_text(self.args)}, kwargs = {argument_text(self.kwargs)}){metadata}"
        )

    def _parameter_text(self) -> str:
        kind = f": {type_text(self.type)}" if self.type is not None else ""
        default = f"={self.args[0]}" if self.args else ""
        return f"{self.target}{kind}{default}"

    def _target_text(self) -> str:
        if isinstance(self.target, str):
            return self.target
        if getattr(self.target, "__module__", "") == "builtins":
            return f"builtins.{self.target.__name__}"
        if getattr(self.target, "__module__", "") == "_operator":
            return f"operator.{self.target.__name__}"
        return qualified_name(self.target)

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        return self._place() < other._place()

    def __gt__(self, other: Node) -> bool:
        return other < self

    def _place(self) -> int:
        places: dict[Node, int] = self.graph.places()
        return places[self]


class _Change(NamedTuple):
    """How to go through nested arguments."""

    of_leaf: Callable[[Any], Any]

    def __call__(self, a: Argument) -> Argument:
        if isinstance(a, tuple):
            changed = tuple([self(each) for each in a])
            return type(a)(*changed) if hasattr(a, "_fields") else changed
        if isinstance(a, list):
            return immutable_list([self(each) for each in a])
        if isinstance(a, dict):
            return immutable_dict([(key, self(value)) for key, value in a.items()])
        if isinstance(a, slice):
            return slice(self(a.start), self(a.stop), self(a.step))
        return self.of_leaf(a)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Return `a` with `fn` applied to all leaves in its tuples, lists, dicts and slices."""
    return _Change(fn)(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Return `a` with `fn` applied to the nodes in its tuples, lists, dicts and slices."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return _Change(lambda each: fn(each) if isinstance(each, Node) else each)(a)


def argument_text(arg: Argument) -> str:
    """Return an argument as the text of a graph has it, nodes with a percent sign."""
    if isinstance(arg, list):
        return f"[{', '.join([argument_text(each) for each in arg])}]"
    if isinstance(arg, tuple):
        items = ", ".join([argument_text(each) for each in arg])
        return f"({items}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        items = ", ".join([f"{key}: {argument_text(value)}" for key, value in arg.items()])
        return f"{{{items}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)
