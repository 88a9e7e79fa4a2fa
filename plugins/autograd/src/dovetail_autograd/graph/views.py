"""Differentiable views, and what an in-place write means for the graph of a tensor, its base and
its views.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from dovetail_kernel import TensorBase, VersionCounter, dispatch_state, set_state, state
from dovetail_kernel.devices import may_overlap_itself
from dovetail_kernel.keys import PYTHON_DISPATCH, inference_mode_off, known_state, without_python
from dovetail_kernel.signature import GRAD, NO_GRAD, NORMAL, VIEW, WRAPPED_BIT

from . import engine_ops
from .autograd_meta import AutogradMeta, gradient_edge, requires_grad, retain_on_node
from .flatten import flatten
from .node import Node, next_sequence_nr
from .saved_slots import SECOND_TIME, current_version
from .view_memory import Place, viewed


class CreationMeta(Enum):
    """Says how a view came about, which decides whether it may be written in place in grad mode."""

    DEFAULT = "DEFAULT"
    IN_CUSTOM_FUNCTION = "IN_CUSTOM_FUNCTION"
    MULTI_OUTPUT_NODE = "MULTI_OUTPUT_NODE"
    NO_GRAD_MODE = "NO_GRAD_MODE"
    INFERENCE_MODE = "INFERENCE_MODE"


class DifferentiableViewMeta(AutogradMeta):
    """The AutogradMeta of a differentiable view, which says what it is a view of.

    Attributes
    ----------
    base
        The root: never itself a view.
    creation_meta
        How the view came about.
    attr_version
        The version at which its ``_grad_fn`` was right.
    """

    # Without a constructor, whose frame would cost as much as all else: see `set_view`.
    __slots__ = ()
    base: TensorBase
    creation_meta: CreationMeta
    attr_version: int

    def grad_fn(self, tensor: TensorBase) -> Node | None:
        """Return the node that made the view `tensor`, made anew if its base was written in place
        since.
        """
        base = self.base
        if tensor._grad_fn is None and not requires_grad(base):
            return None
        version = current_version(tensor)
        if self.attr_version != version:
            if self.creation_meta is not CreationMeta.DEFAULT:
                raise _forbidden_view(tensor, self, "its base or another view of its base has been")
            # First, since `retain_grad` of the view asks for its node again.
            self.attr_version = version
            _regenerate(tensor, base)
        node: Node | None = tensor._grad_fn
        return node


def mark_view(result: TensorBase, source: TensorBase, several: bool = False) -> None:
    """Note that `result`, made by a view operator, is a view of `source`; its ``_grad_fn`` is set
    already.

    Parameters
    ----------
    several
        The operator returned several views.
    """
    base, creation = view_of(source, several)
    set_view(result, base, creation)


def view_of(source: TensorBase, several: bool) -> tuple[TensorBase, CreationMeta]:
    """Return the root of a view of `source` that is being made, and how it comes about."""
    creation = CreationMeta.DEFAULT
    if source._signature & VIEW:
        creation, source = source._meta.creation_meta, source._meta.base
    if several:
        creation = CreationMeta.MULTI_OUTPUT_NODE
    now = state()
    return source, creation_in(now, creation) if now else creation


def creation_in(now: int, recorded: CreationMeta) -> CreationMeta:
    """Return how views come about in the dispatch state `now`: as `recorded` where it records."""
    if known_state(now & ~NO_GRAD).inference:
        return CreationMeta.INFERENCE_MODE
    return CreationMeta.NO_GRAD_MODE if now & NO_GRAD else recorded


def set_view(result: TensorBase, base: TensorBase, creation_meta: CreationMeta) -> None:
    """Make `result`, a tensor that was just made, a view of the root `base`."""
    meta = result._meta
    if meta is None:
        meta = result._meta = DifferentiableViewMeta()
    else:
        meta.__class__ = DifferentiableViewMeta
    counter = result._counter
    if counter is None:
        counter = result._counter = VersionCounter()
    meta.base = base
    meta.creation_meta = creation_meta
    meta.attr_version = counter.value
    result._signature |= GRAD | VIEW


def view_meta(tensor: TensorBase) -> DifferentiableViewMeta | None:
    """Return the view metadata of `tensor`; None if it is not a view."""
    if not tensor._signature & VIEW:
        return None
    meta: DifferentiableViewMeta = tensor._meta
    return meta


def _regenerate(tensor: TensorBase, base: TensorBase) -> None:
    is_cut = not requires_grad(base)
    if is_cut:
        base = engine_ops.detach(base)
        base._signature |= GRAD
    before = state()
    # The node is recorded in any mode, inference mode too; a `TorchDispatchMode` does not see it.
    recording = inference_mode_off(before) if before & ~NO_GRAD else 0
    if recording and not base._signature & (PYTHON_DISPATCH | WRAPPED_BIT):
        recording = without_python(recording)
    try:
        set_state(recording)
        fresh = viewed(base, Place(tensor, base))
    finally:
        set_state(before)
    old, node = tensor._grad_fn, fresh._grad_fn
    tensor._grad_fn = node
    tensor.output_nr = fresh.output_nr
    _move_retain_grad(tensor, old)
    if is_cut:
        # The base was detached in place, so what the view shows since the write is a constant.
        while not node.next_edges[0][0]._is_leaf_node:
            node = node.next_edges[0][0]
        node.next_edges = (None,)


def _move_retain_grad(tensor: TensorBase, old: Node | None) -> None:
    """Let the node that `tensor` has now keep its gradient, instead of `old`: other hooks stay
    where they are.
    """
    meta = tensor._meta
    if meta is None or not meta.retains_grad:
        return
    if old is not None and old._node_hooks is not None:
        for output_nr, reference in list(old._node_hooks.retained.items()):
            if reference() is tensor:
                del old._node_hooks.retained[output_nr]
    retain_on_node(tensor)


def check_inplace(tensor: TensorBase, any_requires_grad: bool) -> None:
    """Raise an error for an in-place write to `tensor` that its graph does not allow; called in
    grad mode, before anything is written.

    Parameters
    ----------
    any_requires_grad
        Whether an argument of the operator is known to require grad.

    Raises
    ------
    RuntimeError
        For a leaf that requires grad, a view of one, or a view that may not be written.
    """
    signature = tensor._signature
    if not signature & GRAD:
        return
    if not signature & NORMAL and not dispatch_state().inference:
        return
    info = view_meta(tensor)
    if info is not None:
        if not any_requires_grad and not requires_grad(tensor):
            return
        if info.creation_meta is not CreationMeta.DEFAULT:
            raise _forbidden_view(tensor, info)
        if info.base._grad_fn is None and requires_grad(tensor):
            raise _write_to_leaf("a view of a leaf Variable")
        is_leaf = info.requires_grad and info.grad_fn(tensor) is None
    else:
        is_leaf = tensor._grad_fn is None
    if is_leaf:
        raise _write_to_leaf("a leaf Variable")


def _write_to_leaf(written: str) -> RuntimeError:
    return RuntimeError(
        f"{written} that requires grad is being used in an in-place operation. "
        "Do it in a no_grad() block, or on a clone."
    )


def _forbidden_view(
    tensor: TensorBase, info: DifferentiableViewMeta, written: str = "is being"
) -> RuntimeError:
    """Return the error for a view whose making leaves no way to record that it, or what `written`
    says, is modified.
    """
    maker = tensor._grad_fn
    name = (
        maker.name().removesuffix("Backward0").removesuffix("Backward")
        if maker is not None
        else "a function"
    )
    match info.creation_meta:
        case CreationMeta.NO_GRAD_MODE | CreationMeta.INFERENCE_MODE:
            mode = "no_grad" if info.creation_meta is CreationMeta.NO_GRAD_MODE else "inference"
            where = "with grad mode enabled" if mode == "no_grad" else "in normal mode"
            return RuntimeError(
                f"A view was created in {mode} mode and {written} modified inplace {where}. Given "
                "that this use case "
                "is ambiguous and error-prone, it is forbidden. You can clarify your code by "
                "moving both the view and "
                f"the inplace either both inside the {mode} block (if you don't want the inplace "
                "to be tracked) or "
                "both outside (if you want the inplace to be tracked)."
            )
        case CreationMeta.MULTI_OUTPUT_NODE:
            return RuntimeError(
                f"Output {tensor.output_nr} of {name} is a view and {written} modified inplace. "
                "This view is the "
                "output of a function that returns multiple views. Such functions do not allow "
                "the output views to be "
                "modified inplace. You should replace the inplace operation by an out-of-place one."
            )
        case _:
            return RuntimeError(
                f"Output {tensor.output_nr} of {name} is a view and {written} modified inplace. "
                "This view was created "
                "inside a custom Function (or because an input was returned as-is) and the "
                "autograd logic to handle "
                "view+inplace would override the custom backward associated with the custom "
                "Function, leading to "
                "incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
                "output of the "
                "custom Function."
            )


def rebase_history(tensor: TensorBase, node: Node, output_nr: int = 0) -> None:
    """Make `node` the maker of `tensor`, which an in-place operator has just written.

    If `tensor` is a view, its base becomes the output of a `CopySlices` that runs `node` on the
    viewed part.
    """
    info = view_meta(tensor)
    old = tensor._grad_fn
    if info is None:
        tensor._grad_fn = node
        tensor.output_nr = output_nr
        tensor._signature |= GRAD
        _move_retain_grad(tensor, old)
        return
    base = info.base
    if may_overlap_itself(base.array.shape, base.stride()):
        raise RuntimeError(
            "an in-place write to a view whose base overlaps itself cannot be differentiated: it "
            f"has shape {list(base.array.shape)} and strides {list(base.stride())}. Write to a "
            "view of "
            "base.contiguous()."
        )
    old_base = base._grad_fn
    copy = CopySlices(base, tensor, node)
    base._grad_fn = copy
    base.output_nr = 0
    base._signature |= GRAD
    _move_retain_grad(base, old_base)
    info.attr_version = -1
    tensor._grad_fn = tensor._grad_fn or copy
    info.grad_fn(tensor)


def take_history(tensor: TensorBase, view: TensorBase) -> None:
    """Make the node of `view`, a view of `tensor` that it shows from now on, that of `tensor`."""
    node = view._grad_fn
    if node is None:
        return
    old, tensor._grad_fn = tensor._grad_fn, node
    tensor.output_nr = view.output_nr
    info = view_meta(tensor)
    if info is not None:
        info.attr_version = current_version(tensor)
    _move_retain_grad(tensor, old)


class CopySlices(Node):
    """Node of a base whose view was written in place by `fn`: the gradient of the viewed part goes
    through `fn`.
    """

    __slots__ = ("base_stride", "fn", "place")
    _is_formula_node = True

    def __init__(self, base: TensorBase, view: TensorBase, fn: Node) -> None:
        edge = gradient_edge(base)
        self.fn: Node | None = fn
        self.base_stride = list(base.stride())
        self.place = Place(view, base, base.storage_offset())
        self.next_edges = (edge, *fn.next_edges[1:])
        self.sequence_nr = next_sequence_nr()
        self.input_metadata = (tuple(base.array.shape), base.array.dtype)
        self._array_backend = None
        self._node_hooks = None

    def name(self) -> str:
        return "dovetail::autograd::CopySlices"

    def apply_tensors(self, *grads: TensorBase | None) -> Sequence[TensorBase | None]:
        """Return the gradient of the base before the write, and those of the other inputs of
        `fn`.
        """
        grad = grads[0]
        if grad is None:
            return [None] * len(self.next_edges)
        fn = self.fn
        if fn is None:
            raise RuntimeError(SECOND_TIME)
        # In the layout of the base, so that the view's strides find its elements in the gradient
        # too.
        result = engine_ops.with_strides(grad, self.base_stride)
        part = viewed(result, self.place)
        returned: Any = fn.apply_tensors(engine_ops.clone(part))
        own, *others = flatten(fn, returned)
        if own is None:
            engine_ops.operator("zero_", "default")(part)
        else:
            if own._signature & WRAPPED_BIT:
                result = self._wrapped_as_well(result, own)
                part = viewed(result, self.place)
            engine_ops.operator("copy_", "default")(part, own)
        return [result if self.next_edges[0] is not None else None, *others]

    def _wrapped_as_well(self, result: TensorBase, own: TensorBase) -> TensorBase:
        """Return a gradient of the base into which `own`, which may be a batch where it is none,
        can be written.
        """
        zero = engine_ops.operator("new_zeros", "default")(own, [])
        both = engine_ops.operator("add", "Tensor")(result, zero)
        return engine_ops.with_strides(both, self.base_stride)

    def _release_saved(self) -> None:
        """Let go of `fn`, which keeps what it saved: a saved result leads to it when that is
        differentiated again.
        """
        self.fn = None
