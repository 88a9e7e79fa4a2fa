"""The functions that PyTorch's pickles call to create tensors, with checks of every argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor, TypedStorage, UntypedStorage
from dovetail_kernel import dtype, sparse_coo

from ...nn.parameter import Parameter
from ..tensor_records import TensorRecord, check_place
from .restricted_pickles import corrupt


def rebuild_tensor(
    storage: object,
    offset: object,
    size: object,
    stride: object,
    requires_grad: object = False,
    hooks: object = None,
    metadata: object = None,
) -> Tensor:
    """Create a tensor of the dtype of its storage."""
    if not isinstance(storage, TypedStorage):
        raise corrupt("a tensor has no typed storage")
    return _tensor_on(storage, offset, size, stride, requires_grad, storage.dtype, metadata)


def rebuild_tensor_v3(
    storage: object,
    offset: object,
    size: object,
    stride: object,
    requires_grad: object,
    hooks: object,
    kind: object,
    metadata: object = None,
) -> Tensor:
    return _tensor_on(storage, offset, size, stride, requires_grad, kind, metadata)


def rebuild_sparse_tensor(layout: object, data: object) -> Tensor:
    """Create a sparse COO tensor, with checked indices."""
    if layout is not sparse_coo or type(data) is not tuple or len(data) not in (3, 4):
        raise corrupt("a sparse tensor is not made of indices, values and a size")
    indices, values, size, *is_coalesced = data
    if type(indices) is not Tensor or type(values) is not Tensor:
        raise corrupt("a sparse tensor has no indices or no values")
    from ...sparse.constructors import sparse_coo_tensor  # few files have one

    try:
        return sparse_coo_tensor(
            indices, values, checked_sizes(tuple(size)), is_coalesced=is_coalesced == [True] or None
        )
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise corrupt(f"a sparse tensor is none ({error})") from error


def _tensor_on(
    storage: object,
    offset: object,
    size: object,
    stride: object,
    requires_grad: object,
    kind: Any,
    metadata: object = None,
) -> Tensor:
    """Return a leaf that shows a part of a storage."""
    untyped: Any = storage._untyped_storage if isinstance(storage, TypedStorage) else storage
    if not isinstance(untyped, UntypedStorage):
        raise corrupt("a tensor has no storage")
    record = _record(offset, size, stride, requires_grad, kind)
    check_place(record, untyped.nbytes(), "a tensor")
    made: Tensor = aten.empty(0, dtype=kind, device=untyped.device)
    if 0 in record.shape:  # it may lie anywhere, and need not make the storage larger
        untyped = UntypedStorage(0, device=untyped.device) if record.offset else untyped
        record = record._replace(offset=0)
    if untyped._backend.arrays.mutable_arrays:
        made = made.set_(untyped, record.offset, record.shape, record.stride)
    else:
        made = _part_of(untyped, record)
    for name, applied in _set_bits(metadata):
        if applied:
            made = _on_memory(made, Tensor.conj if name == "conj" else Tensor.neg)
    if requires_grad:
        made.requires_grad_()
    return made


def _on_memory(tensor: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Return ``function(tensor)`` with the strides of `tensor`, of its memory element by element:
    an expanded tensor may have any number of elements in a small file.
    """
    if not tensor.numel():
        return tensor
    shape, strides = tensor.shape, tensor.stride()
    span = 1 + sum([(size - 1) * step for size, step in zip(shape, strides, strict=True)])
    line = function(tensor.as_strided((span,), (1,)))
    return line.resolve_conj().as_strided(shape, strides, 0)


def _part_of(storage: UntypedStorage, record: TensorRecord) -> Tensor:
    """Return what a tensor shows of a storage whose array cannot be written: a part of its value,
    as another tensor.
    """
    line: Tensor = aten.empty(0, dtype=record.dtype, device=storage.device)
    kind, array = line.array.dtype, storage.array.reshape((-1,))
    arrays: Any = storage._backend.arrays
    line.array = array if array.dtype == kind else arrays.reinterpret(array, kind)
    return aten.as_strided(line, record.shape, record.stride, record.offset).clone()


def _set_bits(metadata: object) -> list[tuple[str, Any]]:
    if metadata is None:
        return []
    if type(metadata) is not dict or not metadata.keys() <= {"conj", "neg"}:
        raise corrupt("the metadata of a tensor says something else than conj and neg")
    return list(metadata.items())


def _record(
    offset: object, size: object, stride: object, requires_grad: object, kind: object
) -> TensorRecord:
    if not isinstance(kind, dtype):
        raise corrupt("a tensor has no dtype")
    if type(requires_grad) is not bool:
        raise corrupt("requires_grad of a tensor is not a bool")
    record = TensorRecord(
        "", kind, checked_sizes(size), checked_sizes(stride), _size(offset), requires_grad
    )
    if len(record.shape) != len(record.stride):
        raise corrupt(f"a tensor has {len(record.shape)} sizes, {len(record.stride)} strides")
    if requires_grad and not (kind.is_floating_point or kind.is_complex):
        raise corrupt(f"a tensor requires grad, but its dtype is {kind}")
    return record


def checked_sizes(value: object) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) > 64:
        raise corrupt("the shape or the strides of a tensor are no tuple of at most 64 sizes")
    return tuple([_size(each) for each in value])


def _size(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise corrupt("a size, a stride or an offset of a tensor is no non-negative integer")
    return value


def rebuild_parameter(
    data: object, requires_grad: object, hooks: object, state: object = None
) -> Parameter:
    if type(data) is not Tensor or type(requires_grad) is not bool:
        raise corrupt("a parameter has no tensor, or its requires_grad is not a bool")
    if requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
        raise corrupt(f"a parameter requires grad, but its dtype is {data.dtype}")
    made = Parameter(data, requires_grad=requires_grad)
    set_attributes(made, state)
    return made


def rebuild_parameter_with_state(
    data: object, requires_grad: object, hooks: object, state: object
) -> Any:
    return rebuild_parameter(data, requires_grad, hooks, state)


def rebuild_meta_tensor_no_storage(kind: Any, size: object, stride: Any, requires_grad: Any) -> Any:
    record = _record(0, size, stride, requires_grad, kind)
    made = aten.empty_strided(record.shape, record.stride, dtype=kind, device="meta")
    return made.requires_grad_(requires_grad)


def set_attributes(obj: object, state: object) -> None:
    """Set instance attributes, such as the ``_metadata`` of a state dict."""
    if type(state) is tuple and len(state) == 2:  # __dict__, and values of slots
        set_attributes(obj, state[0])
        state = state[1]
    if state is None:
        return
    if type(state) is not dict or not hasattr(obj, "__dict__"):
        raise corrupt(f"a {type(obj).__name__} has a state that is not a dict of attributes")
    for name, value in state.items():
        if type(name) is not str or name.startswith("__") or hasattr(obj, name):
            raise corrupt(f"{name!r:.60} is no attribute of a saved {type(obj).__name__}")
        vars(obj)[name] = value
