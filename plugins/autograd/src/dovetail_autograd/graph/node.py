"""Nodes of the graph: one per recorded call, with edges to the nodes that made its inputs and what
it saved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, TypeAlias

from dovetail_kernel import Backend, TensorBase, dtype, dtype_of_signature

from .flatten import flatten
from .hooks import NodeHooks, RemovableHandle

sequence_numbers: Final = itertools.count()

next_sequence_nr: Callable[[], int] = sequence_numbers.__next__
"""Return the next sequence number. Edges always lead to smaller ones (AccumulateGrad apart)."""

Metadata = tuple[tuple[int, ...], Any]
"""Shape and native dtype of one output of a node."""

NO_METADATA: Final[Metadata] = ((), None)
"""Metadata of an output that is not a tensor, such as an int: its gradient is never defined."""


class Edge(NamedTuple):
    """One way on in the graph, as it is presented: to output `input_nr` of `function`. It prints
    as the pair that it is.
    """

    function: Node | None
    input_nr: int

    def __repr__(self) -> str:
        return tuple.__repr__(self)


class GradientEdge(NamedTuple):
    """An edge of the graph, usable as an output or input of `grad` and `backward`."""

    node: Node
    output_nr: int


class InputMetadata(NamedTuple):
    """Describes a gradient that a node takes: that of one of its outputs."""

    shape: tuple[int, ...]
    dtype: dtype | Any
    device: str | None
    is_nested_tensor: bool = False


class Node:
    """A recorded call.

    Attributes
    ----------
    next_edges
        Per differentiable input an `EdgeTuple`, or None.
    sequence_nr
        Ready nodes run by the highest first.
    input_metadata
        For one output its `Metadata`, for several a list of them.
    _array_backend
        The backend whose arrays the array body takes; None if only the tensors body will do, as for
        every node with hooks.
    _node_hooks
        None until something is registered or `metadata` is asked for.
    """

    __slots__ = ("_array_backend", "_node_hooks", "input_metadata", "next_edges", "sequence_nr")

    next_edges: tuple[EdgeTuple | None, ...]
    sequence_nr: int
    input_metadata: Metadata | list[Metadata]
    _array_backend: Backend | None
    _node_hooks: NodeHooks | None

    _formula_record: ClassVar[Any] = None
    _is_leaf_node: ClassVar[bool] = False
    """Whether the node is an AccumulateGrad."""
    _is_formula_node: ClassVar[bool] = False
    """Whether the node is built in: undefined gradients in mean undefined gradients out, and a
    complex gradient for a real input counts by its real part.
    """
    _is_flat: ClassVar[bool] = False
    """Whether `apply_tensors` itself checks that it returns one gradient per edge."""
    _freed: ClassVar[tuple[str, ...] | None] = None
    """The slots that `_release_saved` frees; None: it does something else."""
    _fusion: ClassVar[Any] = None
    """The `Fusion` of a node that stands for two until it is presented; None for any other."""

    # -- what a node computes; overridden per class ------------------------------------------------

    def apply_tensors(self, *grads: TensorBase | None) -> Any:
        """Return the gradients of the inputs, one per edge."""
        raise NotImplementedError

    def apply_arrays(self, kernels: object, edges: Sequence[EdgeTuple | None], *grads: Any) -> Any:
        """Return the gradients that belong to `edges`, those of the node, over arrays.

        Only called on a node with an `_array_backend`.
        """
        raise NotImplementedError

    def _release_saved(self) -> None:
        """Free what was saved."""

    # -- what a node tells about itself ------------------------------------------------------------

    def name(self) -> str:
        """Return the name of the node."""
        return type(self).__name__

    @property
    def _num_outputs(self) -> int:
        """The number of gradients that the node takes."""
        return len(self.input_metadata) if type(self.input_metadata) is list else 1

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        """One (node or None, input number) per differentiable input."""
        edges = self.next_edges
        return tuple(
            [
                Edge(None, 0) if edge is None else Edge(edge[0].presented(), edge[1])
                for edge in edges
            ]
        )

    def presented(self) -> Node:
        """Return this node as the user sees it."""
        return self

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for user data."""
        hooks = self._make_hooks()
        if hooks.metadata is None:
            hooks.metadata = {}
        return hooks.metadata

    @property
    def requires_grad(self) -> bool:
        """Whether any input requires grad."""
        return any([edge is not None for edge in self.next_edges])

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        backend = self._array_backend
        metadata = self.input_metadata
        described: Sequence[Metadata | None]
        described = metadata if isinstance(metadata, list) else [metadata]
        return tuple(
            [
                InputMetadata(
                    shape,
                    native
                    if backend is None or native is None
                    else dtype_of_signature(backend.arrays.dtype_bits[native]),
                    None if backend is None else backend.name,
                )
                for shape, native in [each or NO_METADATA for each in described]
            ]
        )

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def _set_sequence_nr(self, sequence_nr: int) -> None:
        self.sequence_nr = sequence_nr

    # -- calling it --------------------------------------------------------------------------------

    def __call__(self, *grads: TensorBase | None) -> Any:
        """Return the gradients of the inputs for those of the outputs, as the node computes them:
        one, or a tuple of several. Hooks do not run, and what was saved stays.

        Parameters
        ----------
        *grads
            One tensor, or None, per output of the node.

        Raises
        ------
        TypeError
            If there are not as many gradients as outputs, or one is not a tensor.
        RuntimeError
            If what the node saved was freed.
        """
        node = self.presented()
        if len(grads) != node._num_outputs:
            raise TypeError(
                f"expected {node._num_outputs} arguments, got {len(grads)} instead. Give "
                f"{node.name()} one gradient, or None, per output."
            )
        for index, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, TensorBase):
                raise TypeError(
                    f"argument {index} is not a Variable, but {type(grad).__name__}. Give a tensor "
                    "or None."
                )
        if node._is_formula_node and not any([grad is not None for grad in grads]):
            returned = (None,) * len(node.next_edges)
        else:
            returned = tuple(flatten(node, node.apply_tensors(*grads)))
        return returned[0] if len(returned) == 1 else returned

    # -- hooks -------------------------------------------------------------------------------------

    def _make_hooks(self) -> NodeHooks:
        hooks = self._node_hooks
        if hooks is None:
            hooks = NodeHooks()
            self._leave_arrays()
            self._node_hooks = hooks
        return hooks

    def _leave_arrays(self) -> None:
        """Become a node that takes the tensors body only."""
        self._array_backend = None

    def register_hook(self, fn: Callable[..., object]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node ran.

        Parameters
        ----------
        fn
            Gets the gradients the node returned and those it was given, as tuples, and may return a
            tuple to replace the former.

        Returns
        -------
        RemovableHandle
            ``handle.remove()`` removes the hook.
        """
        return self._make_hooks().after.register(fn)

    def register_prehook(self, fn: Callable[..., object]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node runs; it may return a tuple to replace the
        gradients.

        Returns
        -------
        RemovableHandle
            ``handle.remove()`` removes the hook.
        """
        return self._make_hooks().before.register(fn)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"cannot pickle '{self.name()}' object: a graph is neither copied nor saved. Detach "
            "what refers to it."
        )

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"


LeafEdge: TypeAlias = tuple[Node, int, TensorBase]
EdgeTuple: TypeAlias = tuple[Node, int] | LeafEdge
"""One way on in the graph as the graph holds it: (node, output number of it), and the leaf if it
leads to one.
"""
