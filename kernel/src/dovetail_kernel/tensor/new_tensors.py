"""Makes tensors around arrays, of the class that the base library sets for new tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from ..devices.backends import Backend
from ..keys.state import known_state, state
from ..signature import DTYPE_MASK, INFERENCE, NO_GRAD, NORMAL, ZERO_DIM
from ..sockets import AUTOGRAD, TENSOR_CLASS
from .dataless import DatalessArray
from .tensor_base import TensorBase
from .version import bump_version, inside_counter

if TYPE_CHECKING:
    from ..typing import ShapedArray

_frozen = False


@lru_cache(maxsize=1)
def tensor_class() -> type[TensorBase]:
    """Return the class of new tensors: the base library's Tensor, or TensorBase without it. Once
    asked for, it stays.
    """
    global _frozen
    _frozen = True
    return TENSOR_CLASS.plug or TensorBase


def set_tensor_class(cls: type[TensorBase]) -> None:
    """Set the class of new tensors, once, before the first tensor exists.

    Raises
    ------
    RuntimeError
        If tensors of another class exist already.
    """
    present = TENSOR_CLASS.plug
    if present is cls:
        return
    if present is not None or _frozen:
        raise RuntimeError(
            f"the class of new tensors is {(present or TensorBase).__qualname__} already and "
            f"tensors of it exist, so it cannot become {cls.__qualname__}. Import the base library "
            "before the first tensor is made."
        )
    TENSOR_CLASS.fill(cls)


def bare_tensor_maker() -> Callable[[], TensorBase]:
    """Return what makes an instance of the class of new tensors with no slot stored.

    The ``__new__`` of the class is for users.
    """
    return partial(object.__new__, tensor_class())


def wrap(array: ShapedArray, backend: Backend, cls: type[TensorBase] | None = None) -> TensorBase:
    """Return a new leaf around `array`, in whatever inference state the task is in.

    Parameters
    ----------
    array
        An array of `backend`; a 0-d scalar object is made an array.
    backend
        The backend that the array belongs to.
    cls
        Class of the result; default: the class of new tensors.
    """
    arrays = backend.arrays
    if array.__class__ is not DatalessArray and not isinstance(array, arrays.array_types):
        array = arrays.asarray(array)
    if cls is None:
        cls = tensor_class()
    signature = backend.bit | arrays.dtype_bits[array.dtype] | cls._class_bits
    if not array.shape:
        signature |= ZERO_DIM
    other = state() & ~NO_GRAD
    if not other:
        return new_tensor(array, signature | NORMAL, cls)
    now = known_state(other)
    tensor = new_tensor(array, signature | (INFERENCE if now.inference else NORMAL), cls)
    if now.transformed:
        tensor._counter = inside_counter()
    return tensor


def new_tensor(array: ShapedArray, signature: int, cls: type[TensorBase]) -> TensorBase:
    """Return a new leaf of class `cls` with every slot stored; what routes write out inline."""
    tensor = object.__new__(cls)
    tensor.array = array
    tensor._signature = signature
    tensor._grad_fn = None
    tensor.output_nr = 0
    tensor._storage = None
    tensor._counter = None
    tensor._meta = None
    return tensor


def show_view(tensor: TensorBase, name: str, view: Callable[[], TensorBase]) -> TensorBase:
    """Let `tensor` show what a view of it does: an in-place write of the operator `name`. Return
    the view.

    Parameters
    ----------
    tensor
        The tensor.
    name
        The operator, for messages.
    view
        Makes the view; called after the checks.
    """
    autograd = AUTOGRAD.plug
    autograd.check_inplace_view(tensor, name)
    shown = view()
    replace_array(tensor, shown.array)
    if shown.array.__class__ is DatalessArray and type(shown) is type(tensor):
        # What a wrapper is made of is told by its attributes.
        vars(tensor).update(vars(shown))
    bump_version(tensor)
    autograd.take_history(tensor, shown)
    return shown


def replace_array(tensor: TensorBase, array: ShapedArray) -> None:
    """Give `tensor` another array of the same backend (``.data =``, ``set_``), keeping its graph
    and version.
    """
    backend = tensor._backend
    tensor._signature = (
        tensor._signature & ~(DTYPE_MASK | ZERO_DIM)
        | backend.arrays.dtype_bits[array.dtype]
        | (0 if array.shape else ZERO_DIM)
    )
    tensor.array = array
    tensor._storage = None
    if tensor._meta is not None:
        tensor._meta.array_replaced(array)
