"""``node._raw_saved_self``: a saved value as an object that takes pack and unpack hooks."""

from __future__ import annotations

from collections.abc import Callable

from dovetail_dispatcher.calls import OF_NUMBER
from dovetail_dispatcher.table import Saved
from dovetail_kernel import TensorBase, set_state, state, wrap
from dovetail_kernel.signature import NO_GRAD

from . import engine_ops
from .autograd_meta import gradient_edge
from .node import Node
from .saved_slots import (
    RELEASED,
    SECOND_TIME,
    Packed,
    current_version,
    is_differentiable,
    modified,
    placed,
    raise_modified,
    rebuild,
)


class SavedTensor:
    """One saved value of one node."""

    __slots__ = ("_node", "_saved")

    def __init__(self, node: Node, saved: Saved) -> None:
        self._node = node
        self._saved = saved

    def register_hooks(
        self, pack: Callable[[TensorBase], object], unpack: Callable[..., TensorBase]
    ) -> None:
        """Replace the saved tensor by what `pack` makes of it; `unpack` is to give the tensor back
        at use. Raises RuntimeError if hooks were registered on it already, nothing is saved, or the
        value was freed.
        """
        value = getattr(self._node, f"_{self._saved.name}")
        if value is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden: nothing "
                "was saved."
            )
        if value is RELEASED:
            raise RuntimeError(SECOND_TIME)
        if type(value) is Packed or self._saved.kind == "list":
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        pack_saved(self._node, self._saved, lambda tensor: pack(engine_ops.detach(tensor)), unpack)


def pack_saved(
    node: Node,
    saved: Saved,
    pack: Callable[[TensorBase], object],
    unpack: Callable[..., TensorBase],
) -> None:
    """Put the value `saved` of `node` into the hands of `pack` and `unpack`. The node then takes
    the tensors body. Raises RuntimeError if `pack` writes to its argument in place.
    """
    slot = f"_{saved.name}"
    value = getattr(node, slot)
    leave_arrays(node)
    if value is None or saved.kind == "value":
        return
    if saved.kind == "list":
        packed = tuple(
            [None if tensor is None else pack_tensor(tensor, pack, unpack) for tensor in value]
        )
        setattr(node, slot, packed)
        return
    if saved.kind == "input":
        if value.output_nr != OF_NUMBER:
            setattr(node, slot, pack_tensor(value, pack, unpack))
        return
    tensor = rebuild(node, getattr(node, slot)[0])
    maker = (node, saved.output) if is_differentiable(node, saved.output, tensor) else None
    setattr(node, slot, pack_tensor(tensor, pack, unpack, maker))


def check_unwritten(node: Node, saved: Saved) -> None:
    """Check that the call that `node` is for has not written to what is saved, before it is packed.
    Raises RuntimeError if it has, as in ``x.mul_(x)``.
    """
    value = getattr(node, f"_{saved.name}")
    if saved.kind == "input" and value is not None:
        if current_version(value) != getattr(node, f"_{saved.name}_version"):
            raise_modified(node, saved.name)
    elif saved.kind == "list":
        versions = getattr(node, f"_{saved.name}_version")
        for tensor, version in zip(value, versions, strict=True):
            if tensor is not None and current_version(tensor) != version:
                raise modified(tensor, current_version(tensor), version, None, 0)


def pack_tensor(
    tensor: TensorBase,
    pack: Callable[[TensorBase], object],
    unpack: Callable[..., TensorBase],
    maker: tuple[Node, int] | None = None,
) -> Packed:
    """Return `tensor` packed.

    Parameters
    ----------
    tensor
        What is saved.
    pack, unpack
        The hooks.
    maker
        For a result of the node that saves it: that node, and which result it is.

    Raises
    ------
    RuntimeError
        If `pack` writes to its argument in place.
    """
    before = current_version(tensor)
    given = tensor if maker is None else placed(tensor, maker)
    grad_mode = state()
    try:
        set_state(grad_mode | NO_GRAD)
        value = pack(given)
    finally:
        set_state(grad_mode)
    if current_version(given) != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input "
            "to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. "
            "Clone the tensor first."
        )
    return Packed(value, unpack, None if maker is not None else gradient_edge(tensor))


def leave_arrays(node: Node) -> None:
    """Make `node` one that takes the tensors body only: no slot of it needs its backend from now
    on.
    """
    backend = node._array_backend
    if backend is None:
        return
    for saved in node._formula_record.saved:
        slot = f"_{saved.name}"
        value = getattr(node, slot)
        if saved.kind == "result" and type(value) is tuple:
            array, counter, expected = value
            setattr(node, slot, (wrap(array, backend), counter, expected))
    node._array_backend = None
