"""The class of tensors: generated operator methods, and by hand what is not one operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail_dispatcher import dispatch_modes, operator_modules
from dovetail_kernel import (
    MemoryFormat,
    TensorBase,
    backend_of_signature,
    bfloat16,
    contiguous_format,
    defining_module,
    dispatch_state,
    replace_array,
    share_storage,
    state,
    tensor_class,
    wrap,
)
from dovetail_kernel.keys import PYTHON_DISPATCH
from dovetail_kernel.signature import INFERENCE, NO_GRAD, NORMAL, WRAPPED_BIT, ZERO_DIM
from dovetail_kernel.tensor import WritableCounter, detach_version

from .._generated import functions as aten
from ..backend.pinned_memory import is_pinned, pin_memory
from ..calling.compiled_entries import attribute_entry, scalar_entry
from ..calling.signatures import FACTORY_OPTIONS, shown_plainly
from ..kernel_support.geometry.memory_layout import is_contiguous
from . import indexing, printing
from .copying import deepcopy_tensor, reduce_tensor
from .creation.factory import LikeFactory
from .creation.sizes import shape_of
from .data.from_data import tensor
from .dimension_order import dim_order
from .element_functions import apply_elements, map2_elements, map_elements
from .functions.low_rank import lu
from .functions.nonzero import nonzero
from .functions.norms import norm
from .functions.removed import eig, lstsq, solve, symeig
from .functions.unique import unique, unique_consecutive
from .legacy_constructors import TensorMeta, new, new_instance
from .storage_classes.typed_storage import TypedStorage, storage_of, typed_storage_of
from .subclasses import TensorSubclasses

operator_modules.update(
    {defining_module(value) for value in vars(aten).values() if isinstance(value, FunctionType)}
)

_DETACHES = PYTHON_DISPATCH | WRAPPED_BIT
"""Tensors whose ``data`` only an operator can get at."""

_new_empty = LikeFactory("new_empty")
_new_zeros = LikeFactory("new_zeros")
_new_ones = LikeFactory("new_ones")
_new_full = LikeFactory("new_full")


class Tensor(TensorSubclasses, metaclass=TensorMeta):
    """A multi-dimensional array of one dtype on one device, with an optional autograd graph.

    `tensor`, `zeros` and the other factories, and operators, create tensors. ``Tensor(data)`` and
    ``Tensor(2, 3)``, PyTorch's legacy constructors, create tensors of the default dtype on the cpu.
    """

    __slots__ = ()

    _is_plain: ClassVar[bool] = True
    __array_priority__: ClassVar[int] = 1000

    dim_order = dim_order
    eig = eig
    lstsq = lstsq
    lu = lu
    norm = norm  # type: ignore[assignment]  # other defaults than the operators of the name have
    nonzero: Callable[..., Any] = nonzero  # with as_tuple
    solve = solve
    symeig = symeig
    unique = unique
    unique_consecutive = unique_consecutive  # with as many results as were asked for

    # -- making tensors of tensors -----------------------------------------------------------------

    if not TYPE_CHECKING:  # for a type checker, a call of the class gives anything
        __new__ = new_instance
    new = new

    @property
    @attribute_entry("data")
    def data(self) -> Any:
        """The same data as a leaf without a graph, and with its own version counter. Assigning
        replaces the data in place.

        Raises
        ------
        RuntimeError
            On assigning a tensor without gradients to one that requires them.
        """
        made: Any
        if self._signature & _DETACHES or (state() & ~NO_GRAD and dispatch_modes.modes):
            made = self.detach()
            made._counter = detach_version(made._counter)
            return made
        made = wrap(self.array, self._backend)
        if made._counter is not None:
            made._counter = detach_version(self._counter)
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
        return tensor(
            data,
            dtype=self.dtype if dtype is None else dtype,
            device=self.device if device is None else device,
            requires_grad=requires_grad,
        )

    @shown_plainly(**FACTORY_OPTIONS)
    @_new_empty.called_by
    def new_empty(
        self, *sizes: Any, size: Any = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        """Return an uninitialized tensor, by default of this tensor's dtype and device."""
        shape = shape_of("new_empty", sizes, size)
        return _new_empty(self, shape, requires_grad=requires_grad, options=options)

    @shown_plainly(**FACTORY_OPTIONS)
    @_new_zeros.called_by
    def new_zeros(
        self, *sizes: Any, size: Any = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        """Return zeros, by default of this tensor's dtype and device."""
        shape = shape_of("new_zeros", sizes, size)
        return _new_zeros(self, shape, requires_grad=requires_grad, options=options)

    @shown_plainly(**FACTORY_OPTIONS)
    @_new_ones.called_by
    def new_ones(
        self, *sizes: Any, size: Any = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        """Return ones, by default of this tensor's dtype and device."""
        shape = shape_of("new_ones", sizes, size)
        return _new_ones(self, shape, requires_grad=requires_grad, options=options)

    @shown_plainly(**FACTORY_OPTIONS)
    @_new_full.called_by
    def new_full(
        self, size: Any, fill_value: Any, requires_grad: bool = False, **options: Any
    ) -> Any:
        """Return a tensor filled with `fill_value`, by default of this tensor's dtype and
        device.
        """
        return _new_full(
            self, tuple(size), fill_value, requires_grad=requires_grad, options=options
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return deepcopy_tensor(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce_tensor(self)

    # -- numbers -----------------------------------------------------------------------------------

    @scalar_entry()
    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises
        ------
        RuntimeError
            If there is not exactly one element, or on the meta device.
        """
        if not self._signature & ZERO_DIM and prod(self.array.shape) != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar. Use "
                "tolist(), or index it first."
            )
        return aten._local_scalar_dense(self)

    @attribute_entry("tolist")
    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers; a 0-d tensor as a number."""
        signature = self._signature
        if signature & PYTHON_DISPATCH:
            raise RuntimeError(
                f".tolist() is not supported for tensor subclasses, got {type(self).__name__}. "
                "Take the tensor out "
                "of it first."
            )
        host = backend_of_signature(signature).arrays.to_host(self.array)
        return (host.astype("float32") if signature & bfloat16.bit else host).tolist()

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
        """Return the elements of the tensor where `condition` is true, and `other` (a tensor or a
        number) elsewhere.

        A separate function is necessary because the operator takes the condition first.
        """
        made: Tensor = aten.where(condition, self, other)
        return made

    def polygamma(self, n: int) -> Tensor:
        """Return the derivative of order `n` of the digamma function at the elements, n >= 0."""
        made: Tensor = aten.polygamma(n, self)
        return made

    # -- memory ------------------------------------------------------------------------------------

    @attribute_entry("is_contiguous")
    def is_contiguous(self, memory_format: MemoryFormat = contiguous_format) -> Any:
        """Return whether the tensor is contiguous in memory, in C order or in `memory_format`."""
        if memory_format is contiguous_format:
            return backend_of_signature(self._signature).arrays.is_contiguous(self.array)
        return is_contiguous(self, memory_format)

    def get_device(self) -> Any:
        """Return the index of the device; -1 if devices have no index."""
        index = self.device.index
        return -1 if index is None else index

    def ndimension(self) -> Any:
        """Return the number of dimensions."""
        return len(self.array.shape)

    def is_same_size(self, other: TensorBase) -> Any:
        """Return whether the shapes are equal."""
        return self.array.shape == other.array.shape

    def storage(self) -> TypedStorage:
        """Return the storage with this tensor's dtype. Deprecated in PyTorch: use
        `untyped_storage`.
        """
        return storage_of(self)

    _typed_storage = typed_storage_of

    def module_load(self, other: Any, assign: bool = False) -> Any:
        """Return the tensor that replaces this one in a module after loading `other`: itself with
        the values of `other`, or with `assign`, the data of `other`.
        """
        return other.detach() if assign else self.copy_(other).detach()

    def is_shared(self) -> bool:
        """Return whether the memory is shared with other processes; always True on CUDA."""
        storage: Any = self.untyped_storage()
        return self.is_cuda or bool(storage.is_shared())

    def share_memory_(self) -> Any:
        """Move the storage to shared memory; see `UntypedStorage.share_memory_`."""
        storage: Any = self.untyped_storage()
        if not self.is_cuda:
            storage.share_memory_()
        return self

    apply_ = apply_elements
    map_ = map_elements
    map2_ = map2_elements

    is_pinned = is_pinned
    pin_memory = pin_memory

    @property
    def _cdata(self) -> int:
        """A number that no other tensor has while this one lives; not an address."""
        return id(self)

    def is_set_to(self, tensor: TensorBase) -> Any:
        """Return whether both tensors have the same storage, offset, shape and strides."""
        if not self._backend.arrays.mutable_arrays:
            return self.array is tensor.array
        return (
            share_storage(self) is share_storage(tensor)
            and self.storage_offset() == tensor.storage_offset()
            and self.array.shape == tensor.array.shape
            and self.stride() == tensor.stride()
        )
