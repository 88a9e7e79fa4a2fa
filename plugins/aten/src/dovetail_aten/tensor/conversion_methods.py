"""Conversion of tensors to other dtypes and devices: the methods of `Tensor` for it."""

from __future__ import annotations

from math import prod
from typing import Any

from dovetail_kernel import (
    DTYPES,
    Device,
    DeviceLike,
    MemoryFormat,
    TensorBase,
    backend_of_signature,
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    is_grad_enabled,
    preserve_format,
    uint8,
    warn_user_once,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.short_tracebacks import shorten_traceback
from dovetail_kernel.signature import GRAD, ZERO_DIM

from .._generated import functions as aten
from ..backend.devices import as_device, is_on
from ..calling.compiled_entries import attribute_entry, scalar_entry
from ..calling.signatures import shown_as
from ..kernel_support.geometry.memory_layout import suggested_format
from .array_namespace import TensorNamespace
from .batch_errors import ItemOfBatchError
from .conversion import conversion_of
from .legacy_constructors import TensorMeta, TypedTensor


def _to(
    self: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    other: object = None,
    memory_format: object = None,
) -> None:
    """Show what `to` takes, apart from a dtype or a tensor in the place of `device`."""


class TensorConversions(TensorNamespace):
    """The part of Tensor that converts it."""

    __slots__ = ()

    @attribute_entry("to")
    @shown_as(_to)
    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensor with another dtype or on another device; the tensor itself if nothing
        changes.

        ``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``, each with
        ``non_blocking=False`` and ``copy=False`` after, and ``memory_format`` by keyword. Raises
        TypeError for other arguments, and NotImplementedError from the meta device to another.
        """
        try:
            wanted, device, non_blocking, copy, memory_format = conversion_of(args, kwargs)
        except Exception as error:
            shorten_traceback(error)
            raise
        signature = self._signature
        if wanted is not None and signature & wanted.bit:
            wanted = None
        if device is not None and _is_on(self, device):
            device = None
        if wanted is None and device is None:
            if not copy and (memory_format is None or memory_format is preserve_format):
                return self
            if not copy and suggested_format(self) is memory_format:
                return self
        if device is None and memory_format is None:
            return aten._to_copy(self, dtype=wanted)  # type: ignore[arg-type]
        return aten._to_copy(
            self,  # type: ignore[arg-type]
            dtype=wanted,
            device=device,
            non_blocking=non_blocking,
            memory_format=memory_format,
        )

    @scalar_entry(bool, bool)
    def __bool__(self) -> bool:
        size = 1 if self._signature & ZERO_DIM else prod(self.array.shape)
        if size != 1:
            raise RuntimeError(
                "Boolean value of Tensor with no values is ambiguous. Ask x.numel()."
                if not size
                else "Boolean value of Tensor with more than one value is "
                "ambiguous. Use any(), all() or numel()."
            )
        try:
            return bool(aten._local_scalar_dense(self))  # type: ignore[arg-type]
        except ItemOfBatchError as error:
            raise error.of_control_flow() from None

    @scalar_entry(lambda number: int(_real(number, "int64_t")), int)
    def __int__(self) -> int:
        return int(_real(self._single(), "int64_t"))

    __long__ = __int__
    __nonzero__ = __bool__

    @scalar_entry(lambda number: float(_real(number, "double")), float, is_detached=True)
    def __float__(self) -> float:
        if self._signature & GRAD and self.requires_grad:  # a view has the bit as well
            _warn_of_lost_gradient()
        number = self._single()
        return number if number.__class__ is float else float(_real(number, "double"))

    def __complex__(self) -> complex:
        if self._signature & GRAD and self.requires_grad:  # a view has the bit as well
            _warn_of_lost_gradient()
        return complex(self._single())

    def __index__(self) -> int:
        if self.dtype.category > 1 or prod(self.array.shape) != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(aten._local_scalar_dense(self))  # type: ignore[arg-type]

    def _single(self) -> Any:
        if not self._signature & ZERO_DIM and prod(self.array.shape) != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars. Use tolist()."
            )
        return aten._local_scalar_dense(self)  # type: ignore[arg-type]

    def type(self, dtype: object = None, non_blocking: bool = False) -> Any:
        """Return the name of the tensor's type, ``'dovetail.FloatTensor'``; with `dtype`, the
        converted tensor.
        """
        if dtype is None:
            place = "" if self.is_cpu else f"{self._device_backend.name}."
            return f"{self.dtype._package}.{place}{self.dtype.scalar_name}Tensor"
        if isinstance(dtype, str):
            place = "cuda" if ".cuda." in dtype else "cpu"
            return self.to(place, _dtype_of_type(dtype), non_blocking=non_blocking)
        if isinstance(dtype, TypedTensor):
            return self.to(dtype.where, dtype.dtype, non_blocking=non_blocking)
        if isinstance(dtype, TensorMeta):  # `x.type(Tensor)`: as the constructor makes them
            return self.to("cpu", get_default_dtype(), non_blocking=non_blocking)
        if dtype in (bool, int, float):
            raise ValueError(f"invalid type: {dtype.__name__!r}. Use to() for a Python type.")
        return self.to(dtype=dtype, non_blocking=non_blocking)

    def type_as(self, other: TensorBase) -> Any:
        """Return the tensor with the dtype and on the device of `other`. Raises TypeError if
        `other` is not a tensor.
        """
        if not isinstance(other, TensorBase):
            raise TypeError(
                "type_as(): argument 'other' (position 1) must be Tensor, not "
                f"{type(other).__name__}. Use to() for a dtype or a device."
            )
        return self.to(other)

    def float(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as float32."""
        return _as(self, float32, memory_format)

    def double(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as float64."""
        return _as(self, float64, memory_format)

    def half(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as float16."""
        return _as(self, float16, memory_format)

    def bfloat16(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as bfloat16."""
        return _as(self, bfloat16, memory_format)

    def char(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as int8."""
        return _as(self, int8, memory_format)

    def byte(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as uint8."""
        return _as(self, uint8, memory_format)

    def short(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as int16."""
        return _as(self, int16, memory_format)

    def int(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as int32."""
        return _as(self, int32, memory_format)

    def long(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as int64."""
        return _as(self, int64, memory_format)

    def bool(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as bool."""
        return _as(self, bool_, memory_format)

    def cfloat(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as complex64."""
        return _as(self, complex64, memory_format)

    def cdouble(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor as complex128."""
        return _as(self, complex128, memory_format)

    @attribute_entry("cpu")
    def cpu(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor in host memory."""
        return self.to("cpu", memory_format=memory_format)

    def cuda(
        self,
        device: DeviceLike | None = None,
        non_blocking: object = False,
        memory_format: MemoryFormat | None = None,
    ) -> Any:
        """Return the tensor on a CUDA device, by default the current one."""
        wanted = (
            Device("cuda")
            if device is None
            else Device("cuda", device)
            if isinstance(device, int_)
            else device
        )
        return self.to(as_device(wanted), non_blocking=non_blocking, memory_format=memory_format)


int_ = int


def _as(tensor: Any, wanted: dtype, memory_format: MemoryFormat | None) -> Any:
    if memory_format is not None:
        return tensor.to(wanted, memory_format=memory_format)
    return tensor if tensor._signature & wanted.bit else aten._to_copy(tensor, dtype=wanted)


def _is_on(tensor: TensorBase, device: Device) -> bool:
    backend = backend_of_signature(tensor._signature)
    if not backend.is_device:
        return _is_on(tensor.array.physical, device)
    return device.type == backend.name and is_on(backend.arrays, tensor.array, device)


def _dtype_of_type(name: str) -> dtype:
    scalar = name.rpartition(".")[2].removesuffix("Tensor")
    found = next(iter([each for each in DTYPES if each.scalar_name == scalar]), None)
    if found is None:
        raise ValueError(f"invalid type: '{name}'. Give a dtype such as dovetail.float32.")
    return found


def _warn_of_lost_gradient() -> None:
    if is_grad_enabled():
        warn_user_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior: the number has no gradient. Use tensor.item(), or tensor.detach() first."
        )


def _real(number: object, name: str) -> Any:
    if number.__class__ is complex:
        if number.imag:
            raise RuntimeError(
                f"value cannot be converted to type {name} without overflow: {number}. Take .real."
            )
        return number.real
    return number
