"""Makes instances of subclasses of Tensor: around the data of a tensor, or without data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail_dispatcher import ops
from dovetail_kernel import (
    DatalessArray,
    DeviceLike,
    Layout,
    MemoryFormat,
    Size,
    TensorBase,
    contiguous_format,
    dispatch_state,
    get_default_dtype,
    preserve_format,
    share_storage,
    share_version,
    strided,
    wrap,
)
from dovetail_kernel.keys import NOT_PLAIN, PYTHON_DISPATCH
from dovetail_kernel.signature import GRAD, NORMAL, VIEW
from dovetail_kernel.tensor import WritableCounter, new_tensor

from ..backend.devices import as_device, backend_for
from .data.dtype_arguments import as_dtype

SLOTS: Final = ("array", "_signature", "_grad_fn", "output_nr", "_storage", "_counter", "_meta")
"""What a tensor is made of."""
_ASKED: Final = {
    None: (),
    "strides": ("sym_stride",),
    "sizes": ("sym_size", "sym_stride", "sym_numel"),
}
"""What a policy asks ``__torch_dispatch__`` for."""


def make_subclass(
    cls: type[Any],
    data: TensorBase,
    require_grad: bool = False,
    *,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    device_for_backend_keys: object = None,
) -> Any:
    """Return a new leaf of class `cls` that shares the data of a tensor.

    Parameters
    ----------
    cls
        A subclass of Tensor.
    data
        Any tensor; its storage and version are shared, its graph is not.
    require_grad
        Whether gradients are computed for the leaf.
    dispatch_sizes_strides_policy, dispatch_device, dispatch_layout
        Must say that shape, strides, device and layout are those of `data`: None, False, False.
        Define properties in the class instead.
    device_for_backend_keys
        Must be None: the tensor has the keys of the backend that has its data.

    Raises
    ------
    TypeError
        If `cls` is not a subclass of Tensor, or `data` no tensor.
    NotImplementedError
        For an argument that cannot be changed.
    """
    check_subclass(cls)
    if not isinstance(data, TensorBase):
        raise TypeError(
            "_make_subclass(): argument 'data' (position 2) must be Tensor, not "
            f"{type(data).__name__}"
        )
    if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
        raise NotImplementedError(
            "_make_subclass(): shape, strides, device and layout are those of the data. Define "
            "properties in the class, or wrap the data: Tensor._make_wrapper_subclass."
        )
    if device_for_backend_keys is not None:
        raise NotImplementedError(
            "_make_subclass(): the keys of a tensor are those of the backend that has its data. "
            "Leave device_for_backend_keys out, or move the data."
        )
    signature = data._signature & ~(NOT_PLAIN | GRAD | VIEW)
    made = new_tensor(data.array, signature, cls)
    made._storage = share_storage(data)
    made._counter = share_version(data)
    if not signature & NORMAL and not dispatch_state().inference:
        made._counter = WritableCounter()
    if require_grad:
        made.requires_grad = require_grad
    made._signature |= cls._class_bits  # last: ``__torch_function__`` hears nothing of the above
    return made


def make_wrapper_subclass(
    cls: type[Any],
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: MemoryFormat | None = None,
    dtype: object = None,
    layout: Layout | None = strided,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: object = None,
    storage_size: int | None = None,
) -> Any:
    """Return a new leaf of class `cls` that has a geometry and no data: its class knows where the
    data is.

    Every operator on it goes to the ``__torch_dispatch__`` of `cls`, below autograd.

    Parameters
    ----------
    cls
        A subclass of Tensor with ``__torch_dispatch__``.
    size
        The shape.
    strides, storage_offset
        In elements. Default: C-contiguous, 0; an offset needs strides.
    memory_format
        Only `contiguous_format` or `preserve_format`; give the strides of others.
    dtype
        Default: the default dtype.
    layout
        Only `strided`.
    device
        What the tensor says of where it is. Default: the default device.
    pin_memory
        Must not be True.
    requires_grad
        Whether the tensor requires grad.
    dispatch_sizes_strides_policy
        ``"strides"`` asks ``__torch_dispatch__`` for the strides, ``"sizes"`` also for shape and
        number of elements, by the operators ``aten::sym_stride``, ``sym_size`` and ``sym_numel``.
        Where it returns None, and by default, they are those given.
    dispatch_device, dispatch_layout
        Must be False: device and layout are those given. Define properties in the class instead.
    _extra_dispatch_keys, storage_size
        Must be None.

    Raises
    ------
    TypeError
        If `cls` is not a subclass of Tensor or has no ``__torch_dispatch__``, or `size` is not a
        sequence of ints.
    RuntimeError
        For sizes, strides and an offset that describe no tensor.
    NotImplementedError
        For an argument that cannot be changed.
    """
    check_subclass(cls)
    if not cls._class_bits & PYTHON_DISPATCH:
        raise TypeError(
            f"{cls.__name__} must define __torch_dispatch__: a wrapper subclass has no data that a "
            "kernel could use. Define it as a classmethod (cls, func, types, args, kwargs)."
        )
    if size.__class__ is not Size and not (
        isinstance(size, tuple | list) and all([isinstance(n, int) for n in size])
    ):
        raise TypeError(
            "_make_wrapper_subclass(): argument 'size' (position 2) must be tuple of ints, not "
            f"{type(size).__name__}"
        )
    if pin_memory or (layout is not strided and layout is not None):
        raise RuntimeError(
            "_make_wrapper_subclass(): memory is not pinned here, and the layout is strided."
        )
    if memory_format is not None and memory_format not in (contiguous_format, preserve_format):
        raise NotImplementedError(
            f"_make_wrapper_subclass(): memory_format {memory_format} says no strides. Give them: "
            "strides=..."
        )
    if dispatch_sizes_strides_policy not in _ASKED:
        raise ValueError(
            f"Unknown sizes_strides_policy: {dispatch_sizes_strides_policy}; expected 'strides' "
            "or 'sizes'"
        )
    if dispatch_device or dispatch_layout:
        raise NotImplementedError(
            "_make_wrapper_subclass(): device and layout are no operators here, so that "
            "__torch_dispatch__ cannot be asked for them. Define properties in the class."
        )
    if _extra_dispatch_keys is not None or storage_size is not None:
        raise NotImplementedError(
            "_make_wrapper_subclass(): a tensor without data has no keys but those of its device "
            "and no storage of a size. Leave _extra_dispatch_keys and storage_size out."
        )
    if strides is not None or storage_offset is not None or (size and min(size) < 0):
        _check_geometry(size, strides, storage_offset)
    place = as_device(device)
    backend = backend_for(place)
    wanted = as_dtype(dtype, "_make_wrapper_subclass") or get_default_dtype()
    native = backend.arrays.native_dtypes[wanted]
    array = DatalessArray(size, native, strides, storage_offset or 0, place.index)
    made = wrap(array, backend, cls)
    if requires_grad:
        made.requires_grad = requires_grad
    if dispatch_sizes_strides_policy is not None:
        ask_for_geometry(made, _ASKED[dispatch_sizes_strides_policy])
    return made


def check_subclass(cls: Any) -> None:
    """Raise TypeError unless `cls` is a subclass of Tensor that leaves the slots to it."""
    if not issubclass(cls, TensorBase):
        raise TypeError(
            f"cls must be a type derived from Tensor, but got {cls.__name__}. Creating a Tensor "
            "subclass from a class that does not inherit from Tensor is not possible."
        )
    if cls._taken_slots:
        raise TypeError(
            f"{cls.__name__} defines {', '.join(cls._taken_slots)}, where Dovetail's tensors hold "
            "what they are made of. Give it another name in the class."
        )


def taken_slots(cls: Any) -> tuple[str, ...]:
    """Return the slots of tensors that a subclass has something else in place of."""
    base: Any = TensorBase
    return tuple([slot for slot in SLOTS if getattr(cls, slot) is not getattr(base, slot)])


def ask_for_geometry(tensor: TensorBase, questions: tuple[str, ...]) -> None:
    """Let ``__torch_dispatch__`` of a wrapper's class answer questions about its geometry, by the
    operators of these names.
    """

    def ask(question: str) -> Any:
        cls, op = type(tensor), getattr(ops.aten, question).default
        answer = cls.__torch_dispatch__(op, (cls,), (tensor,), {})  # it may say None
        if answer is NotImplemented:
            raise TypeError(
                f"Multiple dispatch failed for {question!r}: __torch_dispatch__ of {cls.__name__} "
                f"returned NotImplemented for {op}. Return the answer, or None."
            )
        return answer

    tensor.array.asked, tensor.array.ask = questions, ask


def _check_geometry(size: Sequence[int], strides: Sequence[int] | None, offset: int | None) -> None:
    if any([n < 0 for n in size]):
        raise RuntimeError(f"sizes must not be negative, but got {list(size)}. Give the shape.")
    if strides is None:
        if offset is not None:
            raise RuntimeError("setting storage offset without stride not supported. Give strides.")
        return
    if len(strides) != len(size):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    if any([step < 0 for step in strides]) or (offset or 0) < 0:
        raise RuntimeError(
            f"strides and storage_offset must not be negative, but got {list(strides)} and "
            f"{offset}."
        )
