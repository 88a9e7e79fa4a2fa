"""`Function`: derivatives written by hand, as a class with `forward` and `backward`. The context is
the graph node.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, Final, NoReturn

from dovetail_dispatcher import handle_torch_function
from dovetail_dispatcher.compiled_code import load_compiled_code
from dovetail_dispatcher.sockets import COMPILED_ENTRY
from dovetail_kernel import TensorBase, set_state, state, warn_user
from dovetail_kernel.signature import GRAD, NO_GRAD, VIEW, WRAPPED_BIT

from ..graph.autograd_meta import gradient_edge, leaf_edge
from ..graph.function_node import (
    DIFFERENTIABLE,
    BackwardCFunction,
    FunctionCtx,
    _FunctionBase,
    _HookMixin,
    no_backward,
)
from ..graph.node import next_sequence_nr
from ..sockets import WRAPPED_FUNCTION
from .error_nodes import Error, attach
from .function_outputs import wrap_outputs

GRAD_OR_WRAPPED = GRAD | WRAPPED_BIT

applies_are_asked: ContextVar[bool] = ContextVar("dovetail_applies_are_asked", default=False)
"""Whether the active `TorchFunctionMode` is asked about each `Function.apply`, as one that records
a program is; others see what `forward` calls.
"""


_NOTED: Final = (
    *("forward", "setup_context", "vjp"),
    *("boxed_grads_call", "clear_saved_tensors_on_access"),
)
"""Attributes of a Function that its metaclass looks at once, and when they are set."""


class FunctionMeta(type):
    """Makes the node class of every Function: ``Scale`` gets ``ScaleBackward``."""

    _backward_cls: type[BackwardCFunction]
    _has_setup_context: bool
    _has_vjp: bool
    _is_special: bool
    _with_defaults: inspect.Signature | None
    _plain_call: tuple[type[BackwardCFunction], bool] | None
    forward: Any
    setup_context: Any
    vjp: Any
    boxed_grads_call: bool
    clear_saved_tensors_on_access: bool

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object]) -> None:
        super().__init__(name, bases, namespace)
        place = BackwardCFunction.__module__
        cls._backward_cls = type(
            name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": place}
        )
        cls._note_methods()

    def _note_methods(cls) -> None:
        """Note which methods the class has, and those made of it: `apply` asks at every call."""
        cls._has_setup_context = _is_setup_context_defined(cls.setup_context)
        cls._with_defaults = _with_defaults(cls.forward) if cls._has_setup_context else None
        cls._plain_call = (
            (cls._backward_cls, cls._has_setup_context) if cls._with_defaults is None else None
        )
        cls._has_vjp = cls.vjp is not no_backward
        cls._is_special = cls._has_vjp or cls.boxed_grads_call
        cls._backward_cls._clears_saved = cls.clear_saved_tensors_on_access
        derived: Any = cls.__subclasses__()
        for each in derived:
            each._note_methods()

    def __setattr__(cls, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name in _NOTED:
            cls._note_methods()

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        cls._note_methods()


def _no_setup_context(ctx: object, inputs: tuple[object, ...], output: object) -> None:
    """Save on `ctx` what backward needs; called after a `forward` without context."""
    raise NotImplementedError("setup_context is not implemented.")


def _is_setup_context_defined(setup_context: Callable[..., object]) -> bool:
    """Return whether the method of a Function is one of the user's."""
    return setup_context is not _no_setup_context


def _with_defaults(forward: Callable[..., object]) -> inspect.Signature | None:
    """Return the signature of a method that has defaults, which `setup_context` gets too."""
    try:
        signature = inspect.signature(forward)
    except ValueError:  # a built-in function that does not tell it
        return None
    has_defaults = any([each.default is not each.empty for each in signature.parameters.values()])
    return signature if has_defaults else None


def _compiled(text: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled entry before `apply`; what it does not see through is the text's."""
    nodes: Any = BackwardCFunction

    def parts(_: object) -> list[Any]:
        calls = (gradient_edge, leaf_edge, wrap_outputs, next_sequence_nr)
        bits = (NO_GRAD, WRAPPED_BIT, DIFFERENTIABLE)
        said = (nodes.next_edges, nodes.sequence_nr, nodes.input_metadata, nodes._array_backend)
        return ["apply", *calls, *bits, *said, nodes._node_hooks, nodes._made, nodes._no_tensors]

    load_compiled_code()
    return COMPILED_ENTRY.plug(text, parts)


class _SingleLevelFunction(_FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    """The methods of a Function that its author writes, and their defaults.

    Attributes
    ----------
    clear_saved_tensors_on_access
        Whether reading ``ctx.saved_tensors`` in backward frees them. Default: False.
    boxed_grads_call
        Whether `backward` takes its gradients in one list, which it may empty. Default: False.
    """

    clear_saved_tensors_on_access: ClassVar[bool] = False
    boxed_grads_call: ClassVar[bool] = False

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

    setup_context = staticmethod(_no_setup_context)
    backward = staticmethod(no_backward)
    vjp = staticmethod(no_backward)

    @staticmethod
    def jvp(ctx: object, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs, for those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )


class Function(_SingleLevelFunction):
    """Base class of operations with a custom derivative.

    A subclass has static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``, or instead
    of the former ``forward(*args)`` with ``setup_context(ctx, inputs, output)``. It is called by
    ``Subclass.apply(*args)``.

    Tensors in a list returned by `forward` have gradients, as in a tuple; PyTorch detaches such a
    list from the graph.
    """

    generate_vmap_rule: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_user(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so call them on the class itself.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method: call MyFunction.apply(...)."
        )

    @staticmethod
    def vmap(info: object, in_dims: object, *args: Any) -> Any:
        """Return the outputs for batched arguments, and their batch dimensions."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap "
            "staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    @_compiled
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
        before = state()
        if before & ~NO_GRAD and applies_are_asked.get():
            return handle_torch_function(cls.apply, (), *args, **kwargs)
        if cls._with_defaults is not None:
            bound = cls._with_defaults.bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        node = cls._backward_cls()
        node._array_backend = node._node_hooks = None
        node._made = ()
        others: tuple[int, ...] = ()
        edges: list[Any] = []
        recording = False
        inputs = (*args, *kwargs.values()) if kwargs else args
        for value in inputs:
            if isinstance(value, TensorBase):
                edge: Any = None
                if value._signature & GRAD_OR_WRAPPED:
                    if value._signature & WRAPPED_BIT:
                        return WRAPPED_FUNCTION.plug(cls, args, kwargs)
                    if value._signature & VIEW:
                        edge = gradient_edge(value)
                    elif value._grad_fn is not None:
                        edge = value._grad_fn, value.output_nr
                    else:
                        edge = leaf_edge(value)
                    if edge is not None:
                        recording = True
                edges.append(edge)
            else:
                others = (*others, len(edges) + len(others))
        node._no_tensors = others
        node.next_edges = tuple(edges)
        if before:
            if before & NO_GRAD:
                recording = False
            if before & ~NO_GRAD and _holds_wrapped(inputs):
                return WRAPPED_FUNCTION.plug(cls, args, kwargs)
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
        returned = list(outputs) if several else [outputs]
        node = Error(
            "trying to differentiate twice a function that was marked with @once_differentiable",
            [grad for grad in grads if isinstance(grad, TensorBase)],
            [output for output in returned if isinstance(output, TensorBase)],
        )
        guarded = attach(node, returned)
        return tuple(guarded) if several else guarded[0]

    return wrapper
