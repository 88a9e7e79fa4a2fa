"""What `Function.apply` makes of what `forward` returned: new tensors with a maker, views of
inputs, inputs written in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import TensorBase, bump_version, share_version, warn_user
from dovetail_kernel.signature import GRAD, NORMAL, VIEW

from ..graph import engine_ops as calls
from ..graph.autograd_meta import gradient_edge, requires_grad
from ..graph.function_node import DIFFERENTIABLE, BackwardCFunction
from ..graph.node import NO_METADATA
from ..graph.saved_extras import needs_extras
from ..graph.views import CreationMeta, check_inplace, rebase_history, set_view, view_meta


def wrap_outputs(
    node: BackwardCFunction, output: object, inputs: Sequence[object], recording: bool
) -> Any:
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


def _mark_view_of_input(output: TensorBase, inputs: Sequence[object]) -> None:
    """Make `output` a view of the input whose memory it shares, if there is one: it must not be
    written in place.
    """
    for value in inputs:
        if isinstance(value, TensorBase) and value._storage is output._storage:
            info = view_meta(value)
            set_view(
                output, info.base if info is not None else value, CreationMeta.IN_CUSTOM_FUNCTION
            )
            return


class _Outputs:
    """The uncommon ways in which outputs come: several, inputs as they are, written in place, not
    differentiable.
    """

    def __init__(self, node: BackwardCFunction, inputs: Sequence[object], recording: bool) -> None:
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
            if not any([tensor is value for value in self.inputs]):
                warn_user(
                    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors "
                    "that have been mutated should be passed to mark_dirty()."
                )
            bump_version(tensor)
            if not any([tensor is each for each in node.non_differentiable or ()]):
                self.check_dirty(tensor, len(values))
        # What is not a tensor has a place among the gradients too, where backward gets None.
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
        return made if isinstance(output, list) else tuple(made)

    def check_dirty(self, tensor: TensorBase, count: int) -> None:
        if not self.recording:
            return
        if tensor._signature & VIEW:
            check_inplace(tensor, True)
            if count > 1:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, "
                    "your Function cannot return more than one Tensor. This is not supported by "
                    "the current autograd engine. You should either make sure the input is not a "
                    "view (using .clone() for example) or make your Function only return one "
                    "Tensor (potentially splitting it into two Functions: one doing the inplace "
                    "that returns a single Tensor and a second one that does the other "
                    "operations)."
                )
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
            if skips or not self.recording:
                return alias_of(value) if requires_grad(value) else value
            rebase_history(value, node, output_nr)
            return value
        if is_input:
            source = value
            value = alias_of(source)
            info = view_meta(source)
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
            cuts = self.recording and value._signature & (GRAD | VIEW) == GRAD
            return calls.detach(value) if cuts else value
        is_others = value._grad_fn is not None and value._grad_fn is not self.node
        if is_others and value._signature & (GRAD | VIEW) == GRAD:
            value = calls.detach(value)
        self.attach(value, output_nr)
        if value._storage is not None:
            _mark_view_of_input(value, self.inputs)
        info = view_meta(value)
        if info is not None:  # also of what forward made, and may have written since
            set_view(value, info.base, CreationMeta.IN_CUSTOM_FUNCTION)
        return value

    def attach(self, value: TensorBase, output_nr: int) -> None:
        if self.recording:
            value._grad_fn = self.node
            value.output_nr = output_nr
            value._signature |= GRAD


def alias_of(tensor: TensorBase) -> TensorBase:
    """Return a new tensor with the memory and version of `tensor`."""
    twin = calls.twin(tensor, type(tensor))
    twin._signature = tensor._signature & ~(GRAD | VIEW)
    twin._storage = tensor.untyped_storage()
    twin._counter = share_version(tensor)
    return twin
