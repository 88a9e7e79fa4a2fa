"""Hooks on nodes and tensors: how they are kept, the handle that removes one, and running them in
order.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from dovetail_kernel import TensorBase

TensorHooks: TypeAlias = dict[int, Callable[..., Any]]
"""`Hooks`, or the dict that was assigned in their place."""


class RemovableHandle:
    """Removes a hook from the mapping it was registered in; also a context manager that removes it
    at the end.

    Parameters
    ----------
    hooks
        The mapping from hook id to hook, held weakly.
    extra
        Further mappings from which the same id is removed.

    Attributes
    ----------
    hooks_dict_ref
        Weak reference to the mapping.
    extra_dict_ref
        Weak references to the further ones.
    """

    next_id: ClassVar[int] = 0

    def __init__(self, hooks: Any, *, extra: Sequence[object] = ()) -> None:
        self.hooks_dict_ref = weakref.ref(hooks)
        self.extra_dict_ref = tuple(weakref.ref(mapping) for mapping in extra)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple(mapping() for mapping in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(Hooks() if hooks is None else hooks)
        self.extra_dict_ref = tuple(
            weakref.ref(mapping) for mapping in extra if mapping is not None
        )
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def remove(self) -> None:
        """Remove the hook; a second time does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            mapping = reference()
            if mapping is not None:
                mapping.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Hooks(OrderedDict[int, Callable[..., Any]]):
    """The hooks of one kind on one node or tensor, by the id of their handle, in order of
    registration.
    """

    __slots__ = ()

    def register(self, hook: Callable[..., object]) -> RemovableHandle:
        """Add `hook` and return the handle that removes it."""
        return add_hook(self, hook)


def add_hook(hooks: TensorHooks, hook: Callable[..., Any]) -> RemovableHandle:
    """Add `hook` to a mapping, which may be one that was assigned; return the handle that removes
    it.
    """
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class NodeHooks:
    """All hooks of a node, made when the first is registered: a node without one pays a single None
    test.

    Attributes
    ----------
    tensor
        Tensor hooks by output number of the node.
    retained
        Non-leaf tensors that keep their gradient, by output number.
    before, after
        Node hooks: before the node, with the gradients of its outputs, and after it.
    metadata
        The node's `metadata` dict.
    """

    __slots__ = ("after", "before", "metadata", "retained", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, TensorHooks] = {}
        self.retained: dict[int, weakref.ref[TensorBase]] = {}
        self.before = Hooks()
        self.after = Hooks()
        self.metadata: dict[Any, Any] | None = None

    def tensor_hooks(self, output_nr: int) -> TensorHooks:
        """Return the tensor hooks on output `output_nr`, made on demand."""
        hooks = self.tensor.get(output_nr)
        if hooks is None:
            hooks = self.tensor[output_nr] = Hooks()
        return hooks


def hook_name(hook: Callable[..., object]) -> str:
    """Return the name of `hook` for messages."""
    return getattr(hook, "__name__", type(hook).__name__)


def run_tensor_hooks(hooks: TensorHooks, grad: TensorBase | None) -> TensorBase | None:
    """Run tensor hooks in order; each may replace the gradient. Raises TypeError if a hook returns
    something else than a tensor or None, and RuntimeError if a hook changes the gradient's shape,
    dtype or device, or gives one where None came.
    """
    for hook in tuple(hooks.values()):
        result = hook(grad)
        if result is not None and result is not grad:
            check_hook_result(grad, result, hook)
            grad = result
    return grad


def check_hook_result(grad: TensorBase | None, result: object, hook: Callable[..., object]) -> None:
    """Raise an error for a replacement that is not a tensor, has another shape, dtype or device, or
    replaces no gradient.
    """
    if not isinstance(result, TensorBase):
        raise TypeError(
            f"expected Variable, but hook returned '{type(result).__name__}'. Return a tensor or "
            "None."
        )
    if grad is None:
        raise RuntimeError(
            f"can't replace a None gradient with a non-None value, which hook '{hook_name(hook)}' "
            "returned. "
            "Return None where None was given."
        )
    if result.array.shape != grad.array.shape:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the size of value: {list(grad.array.shape)} "
            "became "
            f"{list(result.array.shape)}. A hook has to return a gradient of the same shape."
        )
    if result.dtype != grad.dtype:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was {grad.dtype} got "
            f"{result.dtype}). "
            "A hook has to return a gradient of the same dtype."
        )
    if result.device != grad.device:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the device of value (was {grad.device} got "
            f"{result.device}). "
            "A hook has to return a gradient on the same device."
        )


def run_node_hooks(
    hooks: Hooks, grads: tuple[TensorBase | None, ...], *arguments: tuple[TensorBase | None, ...]
) -> tuple[TensorBase | None, ...]:
    """Run node hooks in order as ``hook(grads, *arguments)``; each may replace the tuple `grads`.
    Raises TypeError if a hook returns something else than a tuple of tensors or None, and
    RuntimeError if a tuple has the wrong length, or a gradient another shape, or stands where None
    did.
    """
    for hook in tuple(hooks.values()):
        result = hook(grads, *arguments)
        if result is None:
            continue
        if not isinstance(result, tuple):
            raise TypeError(
                f"expected tuple, but hook returned '{type(result).__name__}'. Return a tuple or "
                "None."
            )
        if len(result) != len(grads):
            raise RuntimeError(
                f"hook '{hook_name(hook)}' has returned an incorrect number of values "
                f"(got {len(result)}, but expected {len(grads)}). Return one per gradient."
            )
        for old, new in zip(grads, result, strict=True):
            if new is not None:
                check_hook_result(old, new, hook)
        grads = tuple(result)
    return grads
