"""Small questions about tensors that ``torch._C`` answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn
from weakref import ref

import dovetail_autograd
from dovetail_aten import Tensor
from dovetail_kernel import Size, TensorBase, get_default_device

from ..functions.tensor_functions import broadcast_shapes


class qscheme:
    """The type of quantization schemes. Tensors are not quantized here, so there are none."""

    __slots__ = ()

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        """Refuse. Raises TypeError."""
        raise TypeError("cannot create 'dovetail.qscheme' instances. Use a floating point dtype.")


class _WeakTensorRef(ref[TensorBase]):
    """A weak reference to a tensor."""

    __slots__ = ()

    def expired(self) -> bool:
        """Return whether the tensor is gone."""
        return self() is None


def _any_requires_grad(*args: Any) -> bool:
    """Return whether a tensor among the arguments requires grad."""
    return any([isinstance(each, TensorBase) and each.requires_grad for each in args])


def _get_default_device() -> str:
    """Return the default device as text."""
    return str(get_default_device())


def _is_tracing() -> bool:
    """Return whether `dovetail.jit.trace` records the calls of the program."""
    from . import _get_tracing_state

    return _get_tracing_state() is not None


def _increment_version(tensors: Iterable[Tensor]) -> None:
    """Count a write to each of the tensors."""
    # By an iterator: a tensor alone is one of its rows, as in PyTorch.
    dovetail_autograd.increment_version(iter(tensors))


def _set_grad_enabled(mode: bool) -> None:
    """Record graphs from here on, or do not."""
    dovetail_autograd.set_grad_enabled(mode)


def _infer_size(first: Size, second: Size) -> Size:
    """Return the shape that two shapes broadcast to. Raises RuntimeError if they do not broadcast,
    or one of them is not a Size.
    """
    for position, each in enumerate((first, second), start=1):
        if not isinstance(each, Size):
            raise RuntimeError(
                f"expected a Size as argument {position}, but got {type(each).__name__}. Give the "
                "shape of a tensor."
            )
    return broadcast_shapes(first, second)


def _non_sym_sizes(tensor: Tensor) -> Size:
    """Return the shape of `tensor`."""
    return tensor.shape


def _has_storage(tensor: Tensor) -> bool:
    """Return whether `tensor` shows a storage. Wrappers of other tensors show none."""
    try:
        tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return False
    return True


def _storage_id(tensor: Tensor) -> int:
    """Return a number that tensors share exactly if they show one storage."""
    storage: Any = tensor.untyped_storage()
    return int(storage._cdata)


def _is_alias_of(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors show one storage."""
    return _storage_id(first) == _storage_id(second)


def _data_address(tensor: Tensor) -> int:
    """Return the address of the first element."""
    return tensor.data_ptr()
