"""The part of Tensor for its subclasses: making them, and what functions do with them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

from dovetail_kernel import (
    DatalessArray,
    TensorBase,
    disabled_torch_function_impl,
    get_default_dtype,
    share_storage,
    share_version,
    strided,
    tensor_class,
    wrap,
)
from dovetail_kernel.keys.interception import NOT_PLAIN, PYTHON_DISPATCH
from dovetail_kernel.types.signature import OVERRIDES

from .._generated import functions as aten
from ..backend.devices import as_device, backend_for
from .exchange_methods import TensorExchange

__all__ = ["TensorSubclasses"]

_SLOTS = ("array", "_signature", "_grad_fn", "output_nr", "_storage", "_counter", "_meta")


class TensorSubclasses(TensorExchange):
    """The part of Tensor that is for its subclasses."""

    __slots__ = ()
    _is_plain: ClassVar[bool] = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` on the arguments as plain tensors, and return its results as instances of
        `cls`.

        What a subclass does that does not override it, and what an override calls by ``super()``.

        Returns
        -------
        object
            NotImplemented if some class in `types` is no base of `cls`.
        """
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        result = disabled_torch_function_impl(func, types, args, kwargs)
        return result if func in default_nowrap_functions() else _as_instances(result, cls)

    @staticmethod
    def _make_subclass(cls: type[Any], data: TensorBase, requires_grad: bool = False) -> Any:  # noqa: PLW0211 - torch's name
        """Return a new leaf of class `cls` that shares the data of a tensor.

        Parameters
        ----------
        cls
            A subclass of Tensor.
        data
            Any tensor; its storage and version are shared, its graph is not.
        requires_grad
            Whether gradients are computed for the leaf.

        Raises
        ------
        TypeError
            If `cls` is no subclass of Tensor, or `data` no tensor.
        """
        _check_subclass(cls)
        if not isinstance(data, TensorBase):
            raise TypeError(
                "_make_subclass(): argument 'data' (position 2) must be Tensor, not "
                f"{type(data).__name__}"
            )
        made = wrap(data.array, data._backend, cls)
        made._storage = share_storage(data)
        made._counter = share_version(data)
        if requires_grad:
            made.requires_grad = True
        return made

    @staticmethod
    def _make_wrapper_subclass(
        cls: type[Any],  # noqa: PLW0211 - torch's name
        size: Sequence[int],
        strides: Sequence[int] | None = None,
        storage_offset: int | None = None,
        *,
        dtype: Any = None,
        layout: Any = strided,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Any:
        """Return a new leaf of class `cls` that has a geometry and no data: its class knows where
        the data is.

        Every operator on it goes to the ``__torch_dispatch__`` of `cls`, below autograd.

        Parameters
        ----------
        cls
            A subclass of Tensor with ``__torch_dispatch__``.
        size
            The shape.
        strides, storage_offset
            In elements. Default: C-contiguous, 0.
        dtype
            Default: the default dtype.
        layout
            Only `strided`.
        device
            What the tensor says of where it is. Default: the default device.
        pin_memory
            Must not be True.
        requires_grad
            Whether gradients are computed for it.

        Raises
        ------
        TypeError
            If `cls` is no subclass of Tensor or has no ``__torch_dispatch__``, or `size` is no
            sequence of ints.
        """
        _check_subclass(cls)
        if not cls._class_bits & PYTHON_DISPATCH:
            raise TypeError(
                f"{cls.__name__} must define __torch_dispatch__: a wrapper subclass has no data "
                "that a kernel could "
                "use. Define it as a classmethod (cls, func, types, args, kwargs)."
            )
        if not isinstance(size, tuple | list) or not all(isinstance(n, int) for n in size):
            raise TypeError(
                "_make_wrapper_subclass(): argument 'size' (position 2) must be tuple of ints, not "
                f"{type(size).__name__}"
            )
        if pin_memory or layout not in (None, strided):
            raise RuntimeError(
                "_make_wrapper_subclass(): memory is not pinned here, and the layout is strided."
            )
        place = as_device(device)
        backend = backend_for(place)
        native = backend.arrays.native_dtypes[get_default_dtype() if dtype is None else dtype]
        made = wrap(
            DatalessArray(size, native, strides, storage_offset or 0, place.index), backend, cls
        )
        if requires_grad:
            made.requires_grad = True
        return made

    def as_subclass(self, cls: type[Any]) -> Any:
        """Return the tensor as an instance of `cls`, sharing data and graph."""
        _check_subclass(cls)
        tensor: Any = self
        if self._signature & OVERRIDES:
            made: Any = disabled_torch_function_impl(aten.alias, (), (tensor,))
        else:
            made = aten.alias(tensor)
        if made.__class__ is not cls:
            base: Any = object.__new__(cls)
            for slot in _SLOTS:
                setattr(base, slot, getattr(made, slot))
            base._signature = base._signature & ~NOT_PLAIN | cls._class_bits
            made = base
        return made


def _check_subclass(cls: type) -> None:
    if not issubclass(cls, TensorBase):
        raise TypeError(
            f"cls must be a type derived from Tensor, but got {cls.__name__}. Creating a Tensor "
            "subclass from a class "
            "that does not inherit from Tensor is not possible."
        )


@cache
def default_nowrap_functions() -> frozenset[Any]:
    """Return the functions whose results the default ``__torch_function__`` leaves as they are."""
    plain: Any = TensorBase
    return frozenset({plain._base.__get__, plain.grad.__get__})


def _as_instances(result: Any, cls: type[Any]) -> Any:
    """Return the tensors in `result`, which may be a list or tuple of them, as instances of
    `cls`.
    """
    if cls is tensor_class():
        return result
    if isinstance(result, TensorSubclasses):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, list | tuple):
        items = [_as_instances(item, cls) for item in result]
        kind: Any = type(result)
        return kind._make(items) if hasattr(kind, "_make") else kind(items)
    return result
