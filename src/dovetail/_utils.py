"""What programs take from ``torch._utils``: flattened lists of tensors, indices of devices, and
errors that are handed from one thread or process to another.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Device, DeviceLike
from dovetail_kernel import dtype as Dtype

from . import cuda
from .names.missing import serve_names as _serve_names

__all__ = ["classproperty"]


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """Return the elements of tensors of one dtype as a vector: a copy, or a view of a single
    tensor.
    """
    each = [tensor.contiguous().view(-1) for tensor in tensors]
    return each[0] if len(each) == 1 else aten.cat(each)


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return views of a vector with the shapes of `tensors`, one behind the other. Raises
    RuntimeError if it is too short.
    """
    parts, start = [], 0
    for tensor in tensors:
        size = tensor.numel()
        parts.append(flat.narrow(0, start, size).view(tensor.shape))
        start += size
    return tuple(parts)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield groups of tensors of one dtype and device, each of at most `size_limit` bytes unless a
    single tensor has more.
    """
    groups: dict[tuple[Dtype, Device], tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        kind, size = (tensor.dtype, tensor.device), tensor.numel() * tensor.element_size()
        group, total = groups.get(kind, ([], 0))
        if group and total + size > size_limit:
            yield group
            group, total = [], 0
        groups[kind] = ([*group, tensor], total + size)
    for group, _ in groups.values():
        yield group


def _reorder_tensors_as(
    tensors: Iterable[Tensor], ordered_tensors: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Return `tensors` with their dtypes in the order of those of `ordered_tensors`."""
    by_type: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        by_type.setdefault(tensor.type(), []).append(tensor)
    queues = {name: iter(group) for name, group in by_type.items()}
    return tuple(next(queues[tensor.type()]) for tensor in ordered_tensors)


def _element_size(dtype: Dtype) -> int:
    """Return the bytes of an element."""
    return dtype.itemsize


def _get_device_index(
    device: DeviceLike | None, optional: bool = False, allow_cpu: bool = False
) -> Any:
    """Return the index of a device.

    Parameters
    ----------
    device
        An index, a device, its name, or None.
    optional
        Whether the current device is taken where none is named; None without an accelerator.
    allow_cpu
        Whether the cpu is one too, with the index -1.

    Raises
    ------
    ValueError
        If there is no index.
    """
    place = Device(device) if isinstance(device, str) else device
    index = device if isinstance(device, int) else None
    if isinstance(place, Device):
        if place.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if place.type == "cpu" else place.index
    if index is None and optional:
        return _get_current_device_index()
    if index is None:
        raise ValueError(
            "Expected a torch.device with a specified index or an integer, but got:"
            f"{device}. Give 'cuda:0', say."
        )
    return index


def _get_available_device_type() -> str | None:
    """Return ``"cuda"`` where it works; None elsewhere."""
    return "cuda" if cuda.is_available() else None


def _get_current_device_index() -> int | None:
    """Return the index of the current device; None without an accelerator."""
    return cuda.current_device() if cuda.is_available() else None


def _get_all_device_indices() -> list[int] | None:
    """Return the indices of all devices; None without an accelerator."""
    return list(range(cuda.device_count())) if cuda.is_available() else None


def _get_device_module(device_type: str) -> Any:
    """Return the module of a device type: `dovetail.cuda`. Raises RuntimeError if there is none."""
    root = __name__.rpartition(".")[0]
    try:
        return import_module(f"{root}.{device_type}")
    except ModuleNotFoundError as error:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'{root}.{device_type}'. Register its backend."
        ) from error


def _import_dotted_name(name: str) -> Any:
    """Return what a dotted name stands for, beginning with a module."""
    first, *parts = name.split(".")
    found: Any = import_module(first)
    for part in parts:
        found = getattr(found, part)
    return found


class KeyErrorMessage(str):
    """A message that `KeyError` shows as it is, with its lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An error with its traceback as text, to be raised in another thread or process.

    Parameters
    ----------
    exc_info
        What ``sys.exc_info()`` returns. Default: that of the error that is handled now.
    where
        Where it happened, for the message.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import sys
        import traceback

        found = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = found[0]
        self.exc_msg = "".join(traceback.format_exception(*found))
        self.where = where

    def reraise(self) -> _typing.NoReturn:
        """Raise an error of the same type, with the text of the traceback; RuntimeError where the
        type takes no message.
        """
        message: Any = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class classproperty:
    """A property of a class: a decorator of a method that takes the class."""

    def __init__(self, func: Callable[..., object]) -> None:
        self.func = func

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self.func(type(instance) if owner is None else owner)


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """Return a tensor that shows a part of a `TypedStorage`."""
    made = aten.empty(0, dtype=storage.dtype, device=storage.device)
    return made.set_(storage._untyped_storage, storage_offset, tuple(size), tuple(stride))


def _rebuild_tensor_v2(
    storage: object,
    storage_offset: int,
    size: object,
    stride: object,
    requires_grad: bool,
    backward_hooks: object,
    metadata: object = None,
) -> Tensor:
    """Return a leaf that shows a part of a `TypedStorage`, with the hooks given."""
    made = _rebuild_tensor(storage, storage_offset, size, stride)
    made.requires_grad = requires_grad
    made._backward_hooks = backward_hooks
    return made


_serve_names(__name__)
