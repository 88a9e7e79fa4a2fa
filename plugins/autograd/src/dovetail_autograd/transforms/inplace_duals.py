"""In-place writes to dual tensors, and to tensors that become dual by being written."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from dovetail_kernel import wrapped_backend
from dovetail_kernel.signature import DTYPE_MASK, GRAD, NORMAL, VIEW, ZERO_DIM
from dovetail_kernel.tensor_base import TensorBase, new_tensor, tensor_class

from ..calls import operator
from ..views import fills_its_memory, view_info
from .arrays import is_wrapped
from .duals import DualArray


def write_dual(level: Any, tensor: TensorBase, tangent: TensorBase) -> None:
    """Give `tensor`, which was just written in place, the tangent `tangent`.

    A tangent that views may share is written in place as well. A tensor without one becomes dual; if it is a view, so
    does its base.

    Raises
    ------
    RuntimeError
        If the tensor was not dual, and there are other views of its memory, which would not learn of it; or it is a
        view of a base that overlaps itself or has gaps.
    """
    if is_wrapped(tensor) and tensor.array.level is level:
        if tensor._storage is None:
            tensor.array.tangent = tangent
        else:
            operator("copy_", "default")(tensor.array.tangent, tangent)
        return
    info = view_info(tensor)
    if info is None:
        _check_no_other_views(tensor, 1)
        _become_dual(level, tensor, tangent)
        return
    base = info.base
    if not fills_its_memory(base):
        raise RuntimeError(
            "an in-place write of a value with a tangent to a view is not supported by forward AD if the base overlaps "
            f"itself or has gaps: it has shape {list(base.array.shape)} and strides {list(base.stride())}. Write to a "
            "view of base.contiguous()."
        )
    _check_no_other_views(tensor, 2)
    place = (list(tensor.array.shape), list(tensor.stride()), tensor.storage_offset() - base.storage_offset())
    primal = _moved_out(base)
    as_strided = operator("as_strided", "default")
    # Made of the new tangent, so that it is wrapped alike.
    memory = operator("new_zeros", "default")(tangent, [primal.numel()], dtype=primal.dtype)
    whole = as_strided(memory, list(primal.array.shape), list(primal.stride()), 0)
    part = as_strided(memory, *place)
    operator("copy_", "default")(part, tangent)
    viewed = as_strided(primal, place[0], place[1], place[2] + primal.storage_offset())
    _replace(level, base, primal, whole)
    _replace(level, tensor, viewed, part)
    tensor._storage = base.untyped_storage()
    tensor._counter = base._counter


def _check_no_other_views(tensor: TensorBase, holders: int) -> None:
    """Refuse if more than `holders` tensors share the memory of `tensor`: nothing leads from the memory to them."""
    storage = tensor._storage
    # One reference each from the variable here and from the call that counts.
    if storage is not None and getrefcount(storage) > holders + 2:
        raise RuntimeError(
            "an in-place write of a value with a tangent to a tensor that has none, and that other tensors are views "
            "of, is not supported by forward AD: those views would miss the tangent. Make them after the write, or "
            "write to a clone."
        )


def _become_dual(level: Any, tensor: TensorBase, tangent: TensorBase) -> None:
    primal = _moved_out(tensor)
    _replace(level, tensor, primal, tangent)


def _moved_out(tensor: TensorBase) -> TensorBase:
    """Return a new tensor that is what `tensor` was: array, memory, version and place in the graph."""
    made = new_tensor(
        tensor.array, tensor._signature & ~(VIEW | (0 if tensor._grad_fn is not None else GRAD)), tensor_class()
    )
    made._grad_fn = tensor._grad_fn
    made.output_nr = tensor.output_nr
    made._storage = tensor._storage
    made._counter = tensor._counter
    return made


def _replace(level: Any, tensor: TensorBase, primal: TensorBase, tangent: TensorBase) -> None:
    kept = tensor._signature & (DTYPE_MASK | ZERO_DIM | NORMAL)
    tensor.array = DualArray(primal, tangent, level)
    tensor._signature = kept | wrapped_backend().bit | (tensor._signature & VIEW and GRAD | VIEW)
    tensor._grad_fn = None
    tensor.output_nr = 0
    tensor._storage = None
