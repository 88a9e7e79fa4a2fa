"""Copies and pickles of tensors: what shared memory before shares it afterwards."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from contextlib import contextmanager
from pickle import UnpicklingError
from typing import Any, Final, TypeVar, cast

from dovetail_dispatcher import ops
from dovetail_dispatcher.calls import note_views
from dovetail_kernel import (
    BY_NAME,
    DatalessArray,
    Device,
    Storage,
    TensorBase,
    contiguous_format,
    dtype,
    restoring,
    set_state,
    share_storage,
    state,
    uint8,
    warn_user,
    wrap,
)
from dovetail_kernel.keys import STATE
from dovetail_kernel.signature import NO_GRAD

from .._generated import functions as aten
from ..backend.devices import as_device, backend_for, ready_backend
from .new_subclasses import ask_for_geometry, make_wrapper_subclass
from .storage_classes.untyped_storage import UntypedStorage

_SLOTS: Final = frozenset(TensorBase.__slots__)
_DTYPES: type = dtype  # where an argument has that name
_Tensor = TypeVar("_Tensor", bound=TensorBase)


def reduce_tensor(tensor: TensorBase) -> tuple[Any, ...]:
    """Return how to make `tensor` again as a leaf, for pickle and `copy.copy`.

    Its storage is an object of the pickle: other tensors that show the same memory will do so
    again. Attributes are the third part, which pickle sets last: they may lead back to the tensor.
    """
    for hook in (tensor._backward_hooks or {}).values():
        if not getattr(hook, "__torch_unserializable__", False):
            warn_user(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the "
                "function with @dovetail.utils.hooks.unserializable_hook to suppress this warning"
            )
    if tensor.array.__class__ is DatalessArray:
        made_by: Any = rebuild_wrapper, _geometry(tensor)
    else:
        made_by = rebuild_tensor, (type(tensor), *_place(tensor), tensor.requires_grad)
    slots = _slots_of_class(tensor)
    if slots:
        return (*made_by, (vars(tensor), slots))
    return (*made_by, vars(tensor)) if vars(tensor) else made_by


def _slots_of_class(tensor: TensorBase) -> dict[str, Any]:
    """Return the values of the slots that the class of `tensor` adds to those of tensors."""
    slots = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    own = set(slots).difference(_SLOTS) if slots else ()
    return {slot: getattr(tensor, slot) for slot in own if hasattr(tensor, slot)}


def deepcopy_tensor(tensor: TensorBase, memo: dict[int, Any]) -> Any:
    """Return a copy of a leaf with its gradient and attributes, but without hooks; see
    `copy.deepcopy`. Raises RuntimeError if an operator made the tensor.
    """
    found = memo.get(id(tensor))
    if found is not None:
        return found
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. "
            "If an attribute of a module is one that an operator made, compute it in forward(); "
            "else copy x.detach()."
        )
    from copy import deepcopy

    if tensor.array.__class__ is DatalessArray:
        made = rebuild_wrapper(*_geometry(tensor))
        ask_for_geometry(made, tensor.array.asked)
    else:
        place = _place(tensor)
        storage = place[0]
        copied = memo.get(id(storage))
        if copied is None:
            copied = memo[id(storage)] = _copy_of(storage)
            # That of a copy which `_place` made would be gone, and its id another's.
            memo.setdefault(id(memo), []).append(storage)
        made = rebuild_tensor(type(tensor), copied, *place[1:], tensor.requires_grad)
    memo[id(tensor)] = made
    if tensor.grad is not None:
        made.grad = deepcopy(tensor.grad, memo)
    made.__dict__.update(deepcopy(tensor.__dict__, memo))
    for slot, value in _slots_of_class(tensor).items():
        setattr(made, slot, deepcopy(value, memo))
    return made


def _geometry(tensor: TensorBase) -> tuple[Any, ...]:
    """Return what `rebuild_wrapper` takes for a tensor without data."""
    _refuse_lost(tensor)
    shape, strides, offset = tuple(tensor.array.shape), tensor.stride(), tensor.array.offset
    kind, device = tensor.dtype.name, str(tensor.device)
    return type(tensor), kind, shape, strides, offset, device, tensor.requires_grad


def _refuse_lost(tensor: TensorBase) -> None:
    """Raise an error for a tensor whose storage has become too small for it; a wrapper has no
    storage.
    """
    if tensor.array.base is not None:
        tensor.array.refuse()


def rebuild_wrapper(
    cls: type[TensorBase],
    dtype: str | dtype,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    device: str | Device,
    requires_grad: bool,
) -> TensorBase:
    """Return a new leaf of the wrapper subclass `cls`; what it wraps comes with its attributes."""
    kind = BY_NAME.get(dtype) if isinstance(dtype, str) else dtype
    _expect(isinstance(kind, _DTYPES), dtype, "dtype")
    made: TensorBase = make_wrapper_subclass(
        cls, size, stride, offset, dtype=kind, device=device, requires_grad=requires_grad
    )
    return made


Place = tuple[Storage, dtype, tuple[int, ...], tuple[int, ...], int]


def _place(tensor: TensorBase) -> Place:
    """Return the storage of `tensor`, its dtype, shape and strides, and where it begins, in
    elements.
    """
    tensor = storable(tensor)
    storage = share_storage(tensor)
    shape = tuple(tensor.array.shape)
    return storage, tensor.dtype, shape, tensor.stride(), tensor.storage_offset()


@restoring(STATE)
def storable(tensor: _Tensor) -> _Tensor:
    """Return `tensor`, or a copy of one that no strides and offset of a storage describe.

    A kernel may return an array that is read backwards, or that lies between the elements of what
    it is a view of. Where arrays cannot be written a view is an array of its own.
    """
    if tensor.array.__class__ is DatalessArray:
        _refuse_lost(tensor)
        return tensor
    storage, itemsize = share_storage(tensor), tensor.dtype.itemsize
    is_shown = tensor._backend.arrays.mutable_arrays or tensor.array is storage.array
    steps = getattr(tensor.array, "strides", None) or ()
    low, high = tensor._backend.arrays.byte_bounds(tensor.array)
    start, stop = storage._bounds()
    if (
        is_shown
        and all([step >= 0 and not step % itemsize for step in steps])
        and not (low - start) % itemsize
        and start <= low
        and high <= stop
    ):
        return tensor
    with _outside():
        whole: Any = wrap(tensor.array, tensor._backend)
        copied: Any = aten.clone(whole, memory_format=contiguous_format)
    return cast("_Tensor", copied)


@contextmanager
def _outside() -> Iterator[None]:
    """Call operators unseen: by modes, by autograd, and by inference mode."""
    before = state()
    try:
        set_state(NO_GRAD)
        yield
    finally:
        set_state(before)


def _flat(storage: Storage) -> Any:
    """Return the elements of a storage in the order in which they lie, as a tensor of the dtype
    they were made with.
    """
    whole: Any = wrap(storage.array, storage._backend)
    return aten.as_strided(whole, (storage.nbytes() // whole.dtype.itemsize,), (1,), 0)


@restoring(STATE)
def _copy_of(storage: Storage) -> Storage:
    with _outside():
        return share_storage(aten.clone(_flat(storage)))


@restoring(STATE)
def _reduce_storage(storage: Storage) -> tuple[Any, ...]:
    with _outside():
        flat = _flat(storage)
        host = flat.numel() if flat.is_meta else storage._backend.arrays.to_host(flat.array)
        return rebuild_storage, (storage.device, flat.dtype, host)


@restoring(STATE)
def rebuild_storage(device: Device, dtype: dtype, host: Any) -> Storage:
    """Return a new storage on `device` with the elements of a host array; `host` is their number
    where there are none, on the meta device. Raises pickle.UnpicklingError if no pickle of a
    storage says this.
    """
    _expect(isinstance(device, Device), device, "device")
    _expect(isinstance(dtype, _DTYPES), dtype, "dtype")
    with _outside():
        if device.type == "meta":
            _expect(isinstance(host, int) and host >= 0, host, "number of elements")
            arrays = backend_for(device).arrays
            return share_storage(
                wrap(arrays.empty((host,), arrays.native_dtypes[dtype]), backend_for(device))
            )
        native = ready_backend("cpu").arrays.native_dtypes[dtype]
        is_line = getattr(host, "dtype", None) == native and host.strides == (native.itemsize,)
        _expect(is_line, host, f"line of {dtype} elements")
        owned = host if host.flags.writeable and host.base is None else host.copy()
        return share_storage(wrap(owned, ready_backend("cpu")).to(as_device(device)))  # type: ignore[attr-defined]


@restoring(STATE)
def rebuild_tensor(
    cls: type[TensorBase],
    storage: Storage,
    dtype: dtype,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    requires_grad: bool,
) -> TensorBase:
    """Return a new leaf of class `cls` that shows a part of `storage`. Raises
    pickle.UnpicklingError or RuntimeError if no pickle of a tensor says this, or if the storage has
    no such part.
    """
    is_class: bool = isinstance(cls, type)  # a pickle may say anything
    _expect(is_class and issubclass(cls, TensorBase), cls, "class")
    _expect(isinstance(storage, Storage), storage, "storage")
    _expect(isinstance(dtype, _DTYPES), dtype, "dtype")
    _expect(isinstance(requires_grad, bool), requires_grad, "requires_grad")
    _expect(_are_ints(size), size, "size")
    _expect(_are_ints(stride), stride, "stride")
    _expect(_is_int(offset), offset, "storage offset")
    with _outside():
        whole: Any = wrap(storage.array, storage._backend)
        if whole.dtype is not dtype:
            whole = whole.view(uint8)
            whole = whole[: storage.nbytes() // dtype.itemsize * dtype.itemsize].view(dtype)
        view = aten.as_strided(whole, size, stride, offset)
    made = wrap(view.array, storage._backend, cls)
    made._storage = storage
    if whole.array is storage.array and not storage._backend.arrays.mutable_arrays:
        whole._storage = storage  # writes to either are to be seen by both
        note_views(ops.aten.as_strided.default, made, whole, (size, stride, offset), {})
    if requires_grad:
        made.requires_grad = requires_grad
    return made


def _are_ints(value: object) -> bool:
    return isinstance(value, tuple) and all([_is_int(each) for each in value])


def _is_int(value: object) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _expect(is_valid: bool, value: object, what: str) -> None:
    """Raise an error for a value that Dovetail's pickles do not contain."""
    if not is_valid:
        raise UnpicklingError(
            f"the pickle of a tensor is corrupt: {value!r:.60} is not its {what}. Pickle the "
            "tensor again."
        )


copyreg.pickle(UntypedStorage, _reduce_storage)
