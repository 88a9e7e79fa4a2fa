"""The class of tensors: generated operator methods, and by hand what is not one operator."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from types import FunctionType
from typing import Any, ClassVar

from dovetail_dispatcher.interception.interceptable_attributes import operator_modules
from dovetail_dispatcher.interception.mode_stacks import dispatch_modes
from dovetail_kernel import (
    Device,
    MemoryFormat,
    TensorBase,
    backend_of_signature,
    bfloat16,
    complex64,
    complex128,
    contiguous_format,
    dispatch_state,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    preserve_format,
    replace_array,
    share_storage,
    state,
    tensor_class,
    uint8,
    wrap,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.keys.interception import PYTHON_DISPATCH
from dovetail_kernel.tensor.version import WritableCounter
from dovetail_kernel.types.dtype import DTYPES
from dovetail_kernel.types.signature import GRAD, INFERENCE, NO_GRAD, NORMAL, ZERO_DIM

from .._generated import functions as aten
from ..array_kernels.memory_layout import is_contiguous
from ..backend.devices import as_device
from . import indexing, printing
from .batch_errors import ItemOfBatchError
from .conversion import conversion_of
from .copying import deepcopy_tensor, reduce_tensor
from .legacy_constructors import TensorMeta, TypedTensor
from .norms import norm
from .sizes import shape_of
from .subclasses import TensorSubclasses

__all__ = ["Tensor"]

operator_modules.update(
    {value.__module__ for value in vars(aten).values() if isinstance(value, FunctionType)}
)


class Tensor(TensorSubclasses, metaclass=TensorMeta):
    """An array of numbers of one dtype on one device, with room for a graph.

    Tensors are made by `tensor`, `zeros` and the other factories, and by operators.
    ``Tensor(data)`` and ``Tensor(2, 3)``, PyTorch's constructors of old, make tensors of the
    default dtype on the cpu.
    """

    __slots__ = ()

    _is_plain: ClassVar[bool] = True
    __array_priority__: ClassVar[int] = 1000

    norm = norm  # type: ignore[assignment]  # other defaults than the operators of the name have

    # -- making tensors of tensors -----------------------------------------------------------------

    @property
    def data(self) -> Any:
        """The same data as a leaf without graph, and with a version of its own. Assigning replaces
        the data in place.

        Raises
        ------
        RuntimeError
            On assigning a tensor without gradients to one that requires them.
        """
        made: Any
        if self._signature & PYTHON_DISPATCH or (state() & ~NO_GRAD and dispatch_modes.modes):
            made = self.detach()
            made._counter = None
            return made
        made = wrap(self.array, self._backend)
        made._signature = made._signature & ~(NORMAL | INFERENCE) | self._signature & (
            NORMAL | INFERENCE
        )
        made._storage = share_storage(self)
        if not self._signature & NORMAL and not dispatch_state().inference:
            made._counter = WritableCounter()
        return made

    @data.setter
    def data(self, value: TensorBase) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        category = value.dtype.category
        if category < 2 and self.requires_grad:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype, "
                f"but got {value.dtype}. Convert it first."
            )
        if value._backend is not self._backend:
            self._signature = self._signature & ~self._backend.bit | value._backend.bit
        replace_array(self, value.array)
        self._storage = share_storage(value)

    def new_tensor(
        self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Any:
        """Return a tensor with a copy of `data`, by default of this tensor's dtype and device."""
        from .from_data import tensor

        return tensor(
            data,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
            requires_grad=requires_grad,
        )

    def new_empty(
        self, *sizes: Any, size: Any = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        """Return a tensor whose elements are not set, by default of this tensor's dtype and
        device.
        """
        return _new(aten.new_empty, self, sizes, size, options, requires_grad)

    def new_zeros(
        self, *sizes: Any, size: Any = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        """Return zeros, by default of this tensor's dtype and device."""
        return _new(aten.new_zeros, self, sizes, size, options, requires_grad)

    def new_ones(
        self, *sizes: Any, size: Any = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        """Return ones, by default of this tensor's dtype and device."""
        return _new(aten.new_ones, self, sizes, size, options, requires_grad)

    def new_full(
        self, size: Any, fill_value: Any, requires_grad: bool = False, **options: Any
    ) -> Any:
        """Return a tensor filled with `fill_value`, by default of this tensor's dtype and
        device.
        """
        made = aten.new_full(self, tuple(size), fill_value, **options)
        if requires_grad:
            made.requires_grad = True
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return deepcopy_tensor(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce_tensor(self)

    # -- numbers -----------------------------------------------------------------------------------

    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises
        ------
        RuntimeError
            If there is not exactly one, or on the meta device.
        """
        if not self._signature & ZERO_DIM and prod(self.array.shape) != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar. Use "
                "tolist(), or index it first."
            )
        return aten._local_scalar_dense(self)

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers; a 0-d tensor as a number."""
        if self._signature & PYTHON_DISPATCH:
            raise RuntimeError(
                f".tolist() is not supported for tensor subclasses, got {type(self).__name__}. "
                "Take the tensor out "
                "of it first."
            )
        host = self._backend.arrays.to_host(self.array)
        return (host.astype("float32") if self.dtype is bfloat16 else host).tolist()

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
            return bool(aten._local_scalar_dense(self))
        except ItemOfBatchError as error:
            raise error.of_control_flow() from None

    def __int__(self) -> int:
        return int(_real(self._single(), "int64_t"))

    def __float__(self) -> float:
        return float(_real(self._single(), "double"))

    def __complex__(self) -> complex:
        return complex(self._single())

    def __index__(self) -> int:
        if self.dtype.category > 1 or prod(self.array.shape) != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(aten._local_scalar_dense(self))

    def _single(self) -> Any:
        if prod(self.array.shape) != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars. Use tolist()."
            )
        return aten._local_scalar_dense(self)

    def __format__(self, spec: str) -> str:
        if self._signature & ZERO_DIM and type(self) is tensor_class() and not self.is_meta:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return printing.tensor_text(self, tensor_contents=tensor_contents)

    def __hash__(self) -> int:
        return id(self)

    # -- container ---------------------------------------------------------------------------------

    __getitem__ = indexing.getitem
    __setitem__ = indexing.setitem

    def __len__(self) -> int:
        shape = self.array.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return int(shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self._signature & ZERO_DIM:
            raise TypeError("iteration over a 0-d tensor")
        return iter(aten.unbind(self, 0))

    def __reversed__(self) -> Any:
        return self if self._signature & ZERO_DIM else aten.flip(self, (0,))

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, TensorBase | int | float | complex):
            equal = aten.eq(self, element)  # type: ignore[arg-type]
            return bool(aten.any(equal))
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}. Give a number."
        )

    # -- NumPy -------------------------------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> Any:
        """Return the elements as a NumPy array that shares memory.

        Parameters
        ----------
        force
            Detach and copy to host memory if that is what it takes.

        Raises
        ------
        RuntimeError
            If the tensor requires grad.
        TypeError
            If it is on another device than cpu, or of a dtype that NumPy has not.
        """
        if self._signature & PYTHON_DISPATCH:
            raise RuntimeError(
                ".numpy() is not supported for tensor subclasses. Take the tensor out of it first."
            )
        if force:
            return self.detach().cpu().numpy()
        if self._signature & GRAD and self.requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if not self.is_cpu:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to "
                "copy the tensor to host "
                "memory first."
            )
        if self.dtype is bfloat16:
            raise TypeError(
                "Got unsupported ScalarType BFloat16: NumPy has no such dtype. Convert it: "
                "x.float().numpy()."
            )
        return self.array.view()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        from .from_data import from_host

        return from_host(array)

    # -- exchange with other array libraries -------------------------------------------------------

    def __dlpack__(
        self,
        *,
        stream: Any = -1,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        """Return a DLPack capsule that shares memory with the tensor.

        Parameters
        ----------
        stream
            The stream on which the consumer will use the data; -1: do not wait for anything. None
            or -1 on cpu.
        max_version
            The newest DLPack that the consumer understands; default: the capsule without version.
        dl_device
            Device that the data shall be on, as ``__dlpack_device__`` gives it; default: where it
            is.
        copy
            True: always copy; False: never; None: if `dl_device` needs it.

        Raises
        ------
        BufferError
            If the tensor requires grad, or the array library cannot export it.
        ValueError
            If `copy` is False and a copy is needed.
        """
        from .dlpack import to_capsule

        return to_capsule(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> Any:
        """Return the DLPack device type and index of the memory.

        Raises
        ------
        ValueError
            For a device that DLPack does not know.
        """
        from .dlpack import dlpack_device

        return dlpack_device(self)

    @property
    def __cuda_array_interface__(self) -> Any:
        """The CUDA array interface of the memory, for numba and others.

        Raises
        ------
        AttributeError
            If the tensor is not on cuda.
        RuntimeError
            If it requires grad.
        """
        if not self.is_cuda:
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If "
                "CUDA data is required "
                "use tensor.cuda() to copy tensor to device memory."
            )
        if self.requires_grad:
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
                "aren't required, use "
                "var.detach() to get Variable that doesn't require grad."
            )
        return self.array.__cuda_array_interface__

    # -- operators whose methods are not their functions -------------------------------------------

    def __invert__(self) -> Tensor:
        """Return the complement of integers, the negation of bools.

        Raises
        ------
        TypeError
            For other dtypes.
        """
        if self.dtype.is_floating_point or self.dtype.is_complex:
            raise TypeError(
                "~ (operator.invert) is only implemented on integer and Boolean-type tensors. "
                "Compare it first: ~(x > 0)."
            )
        made: Tensor = aten.bitwise_not(self)
        return made

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """Return the tensor where `condition`, elsewhere `other`, a tensor or a number.

        The operator has the condition first, so that its function is no method as it is.
        """
        made: Tensor = aten.where(condition, self, other)
        return made

    # -- conversion --------------------------------------------------------------------------------

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return the tensor with another dtype or on another device; the tensor itself if nothing
        changes.

        ``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``, each with
        ``non_blocking=False`` and ``copy=False`` after, and ``memory_format`` by keyword.

        Raises
        ------
        TypeError
            For other arguments.
        NotImplementedError
            From the meta device to another.
        """
        wanted, device, non_blocking, copy, memory_format = conversion_of(args, kwargs)
        signature = self._signature
        if wanted is not None and signature & wanted.bit:
            wanted = None
        if device is not None and _is_on(self, device):
            device = None
        if wanted is None and device is None:
            if not copy and (memory_format is None or memory_format is preserve_format):
                return self
            if not copy and is_contiguous(self, memory_format):
                return self
        return aten._to_copy(
            self,
            dtype=wanted,
            device=device,
            non_blocking=non_blocking,
            memory_format=memory_format,
        )

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the tensor's type, ``'dovetail.FloatTensor'``; with `dtype`, the
        converted tensor.
        """
        if dtype is None:
            place = "" if self.is_cpu else f"{self._device_backend.name}."
            return f"dovetail.{place}{self.dtype.scalar_name}Tensor"
        if isinstance(dtype, str):
            return self.to(_dtype_of_type(dtype), non_blocking=non_blocking)
        wanted = dtype.dtype if isinstance(dtype, TypedTensor) else dtype
        return self.to(dtype=wanted, non_blocking=non_blocking)

    def type_as(self, other: TensorBase) -> Any:
        """Return the tensor with the dtype and on the device of `other`."""
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

    def cpu(self, memory_format: MemoryFormat | None = None) -> Any:
        """Return the tensor in host memory."""
        return self.to(Device("cpu"), memory_format=memory_format)

    def cuda(
        self,
        device: Any = None,
        non_blocking: Any = False,
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

    # -- memory ------------------------------------------------------------------------------------

    def is_contiguous(self, memory_format: MemoryFormat = contiguous_format) -> Any:
        """Return whether the elements lie in memory in the order of their indices, or in that of
        `memory_format`.
        """
        return is_contiguous(self, memory_format)

    def get_device(self) -> Any:
        """Return the index of the device, -1 where devices have none."""
        index = self.device.index
        return -1 if index is None else index

    def ndimension(self) -> Any:
        """Return the number of dimensions."""
        return len(self.array.shape)

    def is_same_size(self, other: TensorBase) -> Any:
        """Return whether the shapes are equal."""
        return self.array.shape == other.array.shape

    def is_set_to(self, tensor: TensorBase) -> Any:
        """Return whether both tensors show the same memory in the same way."""
        return (
            self.data_ptr() == tensor.data_ptr()
            and self.array.shape == tensor.array.shape
            and self.stride() == tensor.stride()
        )


int_ = int


def _new(
    factory: Any,
    like: TensorBase,
    sizes: tuple[Any, ...],
    size: Any,
    options: dict[str, Any],
    requires_grad: bool,
) -> Any:
    made = factory(like, shape_of(factory.__name__, sizes, size), **options)
    if requires_grad:
        made.requires_grad = True
    return made


def _as(tensor: Any, wanted: dtype, memory_format: MemoryFormat | None) -> Any:
    if memory_format is not None:
        return tensor.to(wanted, memory_format=memory_format)
    return tensor if tensor._signature & wanted.bit else aten._to_copy(tensor, dtype=wanted)


def _is_on(tensor: TensorBase, device: Device) -> bool:
    backend = backend_of_signature(tensor._signature)
    if not backend.is_device:
        return _is_on(tensor.array.physical, device)
    if device.type != backend.name:
        return False
    return device.index is None or device.index == (backend.arrays.device_index(tensor.array) or 0)


def _real(number: Any, name: str) -> Any:
    if number.__class__ is complex:
        if number.imag:
            raise RuntimeError(
                f"value cannot be converted to type {name} without overflow: {number}. Take .real."
            )
        return number.real
    return number


def _dtype_of_type(name: str) -> dtype:
    scalar = name.rpartition(".")[2].removesuffix("Tensor")
    found = next((each for each in DTYPES if each.scalar_name == scalar), None)
    if found is None:
        raise ValueError(f"invalid type: '{name}'. Give a dtype such as dovetail.float32.")
    return found
