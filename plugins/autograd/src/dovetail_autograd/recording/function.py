"""`Function`: derivatives written by hand, as a class with `forward` and `backward`. The context is
the graph node.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from dovetail_kernel.keys.state import set_state, state
from dovetail_kernel.tensor.tensor_base import TensorBase
from dovetail_kernel.tensor.version import bump_version, share_version
from dovetail_kernel.types.signature import GRAD, NO_GRAD, NORMAL, VIEW, WRAPPED_BIT

from ..graph import engine_ops as calls
from ..graph.autograd_meta import gradient_edge, leaf_edge
from ..graph.function_node import DIFFERENTIABLE, FunctionNode, no_backward
from ..graph.node import NO_METADATA, next_sequence_nr
from ..graph.recording_extras import needs_extras
from ..graph.views import CreationMeta, check_inplace, rebase_history, set_view, view_info
from .error_nodes import DelayedError

GRAD_OR_WRAPPED = GRAD | WRAPPED_BIT


class FunctionMeta(type):
    """Makes the node class of every Function: ``Scale`` gets ``ScaleBackward``."""

    _node_class: type[FunctionNode]
    _has_setup_context: bool
    _has_vjp: bool

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        cls._node_class = type(
            name + "Backward", (FunctionNode,), {"_function": cls, "__module__": cls.__module__}
        )
        cls._has_setup_context = any("setup_context" in each.__dict__ for each in cls.__mro__[:-2])
        cls._has_vjp = any("vjp" in each.__dict__ for each in cls.__mro__[:-2])


class Function(metaclass=FunctionMeta):
    """Base class of operations with a derivative of their own.

    A subclass has static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, or instead
    of the former ``forward(*args)`` with ``setup_context(ctx, inputs, output)``. It is called by
    ``Subclass.apply(*args)``.
    """

    generate_vmap_rule: ClassVar[bool] = False

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style "
            "autograd function "
            "with static forward method: call MyFunction.apply(...)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; grad mode is off inside.

        Parameters
        ----------
        *args
            The context, then the arguments of `apply`; only the latter if there is a
            `setup_context`.
        """
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save on `ctx` what backward needs; called after a `forward` without context."""
        raise NotImplementedError("setup_context is not implemented.")

    backward = staticmethod(no_backward)
    vjp = staticmethod(no_backward)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs, for those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Return the outputs for batched arguments, and their batch dimensions."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap "
            "staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function and record it.

        Parameters
        ----------
        *args, **kwargs
            Arguments of `forward`. Gradients flow to tensors among them, not to tensors inside
            lists.

        Raises
        ------
        RuntimeError
            If a tensor marked as dirty is not returned, or is a leaf that requires grad.
        """
        node = cls._node_class()
        node._array_backend = node._node_hooks = None
        node._made = node._no_tensors = ()
        before = state()
        edges: list[Any] = []
        edge: Any
        recording = False
        inputs = (*args, *kwargs.values()) if kwargs else args
        for value in inputs:
            edge = None
            if isinstance(value, TensorBase):
                if value._signature & GRAD_OR_WRAPPED:
                    if value._signature & WRAPPED_BIT:
                        return _apply_to_wrapped(cls, args, kwargs)
                    if value._signature & VIEW:
                        edge = gradient_edge(value)
                    elif value._grad_fn is not None:
                        edge = value._grad_fn, value.output_nr
                    else:
                        edge = leaf_edge(value)
                    if edge is not None:
                        recording = True
            else:
                node._no_tensors = (*node._no_tensors, len(edges))
            edges.append(edge)
        node.next_edges = tuple(edges)
        if before:
            if before & NO_GRAD:
                recording = False
            if before & ~NO_GRAD and _holds_wrapped(inputs):
                return _apply_to_wrapped(cls, args, kwargs)
        try:
            set_state(before | NO_GRAD)
            if cls._has_setup_context:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(node, inputs, output)
            elif kwargs:
                output = cls.forward(node, *args, **kwargs)
            elif len(args) == 1:  # to spread arguments costs as much as to pass them
                output = cls.forward(node, args[0])
            else:
                output = cls.forward(node, *args)
        finally:
            set_state(before)
        if recording:
            node.sequence_nr = next_sequence_nr()
        return wrap_outputs(node, output, inputs, recording)


_apply_to_wrapped: Callable[..., Any]
"""Does what `Function.apply` is to do with wrapped tensors; installed before there are any."""


def set_apply_to_wrapped(apply: Callable[..., Any]) -> None:
    """Install ``apply(cls, args, kwargs)`` as what `Function.apply` does with wrapped tensors."""
    global _apply_to_wrapped
    _apply_to_wrapped = apply


def _holds_wrapped(values: Any) -> bool:
    """Return whether there is a tensor of a transform in containers among `values`."""
    for value in values:
        if isinstance(value, (tuple, list, dict)):
            items = value.values() if isinstance(value, dict) else value
            if any(
                [isinstance(item, TensorBase) and item._signature & WRAPPED_BIT for item in items]
            ):
                return True
            if _holds_wrapped(items):
                return True
    return False


def wrap_outputs(node: FunctionNode, output: Any, inputs: Sequence[Any], recording: bool) -> Any:
    """Return what `forward` returned, with `node` as its maker if the call is recorded."""
    if (
        isinstance(output, TensorBase)
        and node.dirty_tensors is None
        and node.non_differentiable is None
        and not output._signature & (GRAD | VIEW)
    ):
        for value in inputs:
            if value is output:
                return _Outputs(node, inputs, recording).wrap(output)
        # one new tensor: the common case
        if recording and output._signature & DIFFERENTIABLE:
            node.input_metadata = (output.array.shape, output.array.dtype)
            node._made = (output._signature,)
            output._grad_fn = node
            output._signature |= GRAD
            if output._storage is not None:
                _mark_view_of_input(output, inputs)
            if node.to_save or needs_extras():
                node._keep_saved(output)
        elif recording:
            node.input_metadata = (output.array.shape, output.array.dtype)
            node._keep_saved()
        return output
    return _Outputs(node, inputs, recording).wrap(output)


def _mark_view_of_input(output: TensorBase, inputs: Sequence[Any]) -> None:
    """Make `output` a view of the input whose memory it shares, if there is one: it must not be
    written in place.
    """
    for value in inputs:
        if isinstance(value, TensorBase) and value._storage is output._storage:
            info = view_info(value)
            set_view(
                output, info.base if info is not None else value, CreationMeta.IN_CUSTOM_FUNCTION
            )
            return


class _Outputs:
    """The uncommon ways in which outputs come: several, inputs as they are, written in place, not
    differentiable.
    """

    def __init__(self, node: FunctionNode, inputs: Sequence[Any], recording: bool) -> None:
        self.node = node
        self.inputs = [value for value in inputs if isinstance(value, TensorBase)]
        self.recording = recording

    def wrap(self, output: Any) -> Any:
        node = self.node
        several = isinstance(output, (tuple, list))
        values = list(output) if several else [output]
        dirty = node.dirty_tensors or ()
        for tensor in dirty:
            if not any([tensor is value for value in values]):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as "
                    "output. The inputs "
                    "that are modified inplace must all be outputs of the Function."
                )
            bump_version(tensor)
            self.check_dirty(tensor)
        # What is no tensor has a place among the gradients too, where backward gets None.
        metadata = [
            (tuple(value.array.shape), value.array.dtype)
            if isinstance(value, TensorBase)
            else NO_METADATA
            for value in values
        ]
        node.input_metadata = metadata[0] if len(metadata) == 1 else metadata
        made = [
            self.wrap_tensor(value, output_nr, any([value is tensor for tensor in dirty]))
            if isinstance(value, TensorBase)
            else value
            for output_nr, value in enumerate(values)
        ]
        if self.recording:
            node._describe_outputs(made)
            node._keep_saved(*[value for value in made if isinstance(value, TensorBase)])
        if not several:
            return made[0]
        return tuple(made)

    def check_dirty(self, tensor: TensorBase) -> None:
        if not self.recording:
            return
        if tensor._signature & VIEW:
            check_inplace(tensor, True)
        edge = gradient_edge(tensor)
        if edge is not None and edge[0]._is_leaf_node:
            raise RuntimeError(
                "a leaf Variable that requires grad has been used in an in-place operation. Do it "
                "on a clone."
            )

    def wrap_tensor(self, value: TensorBase, output_nr: int, is_dirty: bool) -> TensorBase:
        node = self.node
        is_input = any([value is given for given in self.inputs])
        is_listed = any([value is each for each in node.non_differentiable or ()])
        skips = is_listed or not value._signature & DIFFERENTIABLE
        if is_dirty:
            if self.recording and not skips:
                rebase_history(value, node, output_nr)
            return value
        if is_input:
            source = value
            value = _alias(source)
            info = view_info(source)
            if is_listed:
                return value
            if source._signature & NORMAL and (self.recording or gradient_edge(source) is None):
                if not skips:
                    self.attach(value, output_nr)
                set_view(
                    value,
                    info.base if info is not None else source,
                    CreationMeta.IN_CUSTOM_FUNCTION,
                )
            return value
        if skips or not self.recording:
            return calls.detach(value) if value._signature & GRAD and self.recording else value
        if value._signature & GRAD and value._grad_fn is not None and not value._signature & VIEW:
            value = calls.detach(value)
        self.attach(value, output_nr)
        if value._storage is not None:
            _mark_view_of_input(value, self.inputs)
        return value

    def attach(self, value: TensorBase, output_nr: int) -> None:
        if self.recording:
            value._grad_fn = self.node
            value.output_nr = output_nr
            value._signature |= GRAD


def _alias(tensor: TensorBase) -> TensorBase:
    """Return a new tensor with the memory and version of `tensor`."""
    twin = calls.twin(tensor, type(tensor))
    twin._signature = tensor._signature & ~(GRAD | VIEW)
    twin._storage = tensor.untyped_storage()
    twin._counter = share_version(tensor)
    return twin


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return `backward` as a function whose result is a constant: differentiating it again is an
    error.

    The error is raised only if an incoming gradient itself requires grad.
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        before = state()
        try:
            set_state(before | NO_GRAD)
            outputs = backward(ctx, *grads)
        finally:
            set_state(before)
        if before & NO_GRAD or not any(
            [isinstance(grad, TensorBase) and grad.requires_grad for grad in grads]
        ):
            return outputs
        several = isinstance(outputs, tuple)
        guarded = _guard(list(outputs) if several else [outputs], grads)
        return tuple(guarded) if several else guarded[0]

    return wrapper


def _guard(outputs: list[Any], grads: Sequence[Any]) -> list[Any]:
    node = DelayedError(
        "trying to differentiate twice a function that was marked with @once_differentiable",
        [grad for grad in grads if isinstance(grad, TensorBase)],
        [output for output in outputs if isinstance(output, TensorBase)],
    )
    guarded: list[Any] = []
    output_nr = 0
    for output in outputs:
        if isinstance(output, TensorBase):
            output = _alias(output)
            output._grad_fn = node
            output.output_nr = output_nr
            output._signature |= GRAD
            output_nr += 1
        guarded.append(output)
    return guarded


__all__ = ["Function", "FunctionMeta", "once_differentiable", "set_apply_to_wrapped"]
