"""The arrays of wrapped tensors: a batch of tensors, or a tensor with its tangent, in place of
a plain array.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from dovetail_kernel import (
    DTYPES,
    ArrayBackend,
    DatalessArray,
    TensorBase,
    dtype,
    state,
    tensor_class,
)
from dovetail_kernel.keys import known_state
from dovetail_kernel.signature import DTYPE_MASK, NO_GRAD, NORMAL, WRAPPED_BIT, ZERO_DIM
from dovetail_kernel.tensor import inside_counter
from dovetail_kernel.types import BY_BIT

from ...engine.active_levels import framed
from ...graph.engine_ops import operator

if TYPE_CHECKING:
    from .levels import Level

_new: Final = object.__new__


class WrappedArray:
    """Stands in place of an array inside a transform. Shape, dtype and strides are those of
    the tensor that users see.

    Attributes
    ----------
    level
        The transform that the wrapper belongs to.
    physical
        The tensor inside, which may be wrapped itself, by a transform further out.
    shape, dtype
        The sizes, as users see them, and the dtype: the native dtypes of wrapped arrays are the
        dtypes themselves. An operator that changes sizes in place gives its tensor another wrapper.
    """

    __slots__ = ("dtype", "level", "physical", "shape")
    kind = "wrapped"
    hidden_dims: ClassVar[int] = 0
    """How many of the dimensions of the physical tensor, its first, users do not see."""

    def __init__(self, physical: TensorBase, level: Level) -> None:
        self.physical = physical
        self.level = level
        hidden, shape = self.hidden_dims, physical.array.shape
        self.shape: tuple[int, ...] = shape[hidden:] if hidden else shape
        self.dtype: dtype = BY_BIT[physical._signature & DTYPE_MASK]

    @property
    def element_strides(self) -> tuple[int, ...]:
        """The strides in elements."""
        return tuple(self.physical.stride())

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return tuple(stride * self.itemsize for stride in self.element_strides)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def copy(self) -> WrappedArray:
        """Return a wrapper of copies."""
        raise NotImplementedError

    def without_tangent(self) -> WrappedArray:
        """Return what is left in place of the wrapper when its tensor is detached in place."""
        return self

    def host(self) -> Any:
        """Return the elements of the tensor inside as a NumPy array."""
        physical = self.physical
        return physical._backend.arrays.to_host(physical.array)

    def view(self) -> Any:
        """Return the elements as a NumPy array (what ``Tensor.numpy`` asks a host array for)."""
        return self.host()

    def __repr__(self) -> str:
        return framed(f"{self.kind}(lvl={self.level.depth}", self.inner_text())

    def inner_text(self) -> str:
        """Return the text of the tensor inside."""
        if self.level.is_alive:
            text: str = self.level.run_outside(repr, self.physical)
            return text
        return repr(self.physical)


class BatchedArray(WrappedArray):
    """A batch of tensors that are to be seen one at a time: the physical tensor has the batch in
    dimension 0.
    """

    __slots__ = ()
    kind = "BatchedTensor"
    dim: ClassVar[int | None] = 0
    hidden_dims = 1

    @property
    def element_strides(self) -> tuple[int, ...]:
        """The strides within one entry, in elements."""
        return tuple(self.physical.stride())[1:]

    def __repr__(self) -> str:
        return framed(f"{self.kind}(lvl={self.level.depth}, bdim=0", self.inner_text())

    def copy(self) -> BatchedArray:
        """Return a wrapper of a copy."""
        return BatchedArray(operator("clone", "default")(self.physical), self.level)

    def host(self) -> NoReturn:
        """Raise an error: a batch is not a single array. Always raises RuntimeError."""
        raise RuntimeError(
            "Cannot access data pointer of Tensor that doesn't have storage: vmap: the elements "
            "of a batched tensor "
            "cannot be looked at inside of vmap. Return the tensor from the function, and look at "
            "it there."
        )


class MovedArray(BatchedArray):
    """A batch that was given in dimension `given`, and is shown as it was given."""

    __slots__ = ("given",)

    def __init__(self, physical: TensorBase, level: Level, given: int) -> None:
        super().__init__(physical, level)
        self.given = given

    def __repr__(self) -> str:
        return framed(f"{self.kind}(lvl={self.level.depth}, bdim={self.given}", self.inner_text())

    def inner_text(self) -> str:
        """Return the text of the tensor as it was given."""
        as_given = operator("movedim", "int")
        text: str = self.level.run_outside(lambda: repr(as_given(self.physical, 0, self.given)))
        return text


class SharedArray(WrappedArray):
    """A tensor that all samples share, at the level of their vmap.

    A fresh leaf of a gradient inside of a vmap is one: if it were the tensor itself, the physical
    calls would record a graph to it as well. And so is what is computed from nothing but shared
    tensors.
    """

    __slots__ = ()
    kind = "BatchedTensor"
    dim: ClassVar[int | None] = None

    def __repr__(self) -> str:
        return self.inner_text()

    def copy(self) -> SharedArray:
        """Return a wrapper of a copy."""
        return SharedArray(operator("clone", "default")(self.physical), self.level)


class WrappedArrays(ArrayBackend):
    """Tells the kernel about wrapped arrays. None is made here: only transforms wrap."""

    array_types = (WrappedArray,)

    def __init__(self) -> None:
        self.dtype_bits = {each: each.bit for each in DTYPES}
        self.native_dtypes = {each: each for each in DTYPES}

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        """Return a wrapped array as it is. Raises TypeError for anything else."""
        if isinstance(value, WrappedArray) and native_dtype in (None, value.dtype):
            return value
        raise TypeError(f"a {type(value).__name__} cannot be made an array of a function transform")

    def to_host(self, array: WrappedArray) -> Any:
        """Return the elements as a NumPy array."""
        return array.host()

    def data_ptr(self, array: WrappedArray) -> int:
        """Return the address of the first element of the physical tensor, also without elements.

        That of a wrapper subclass, which has no memory, is the distance from its beginning.
        """
        physical = array.physical
        inner = physical.array
        if inner.__class__ is DatalessArray:
            return int(inner.offset) * int(inner.dtype.itemsize)
        return physical._backend.arrays.data_ptr(inner)

    def storage_of(self, array: WrappedArray) -> WrappedArray:
        """Return the wrapper itself: views of wrapped tensors share the storage object of their
        base.
        """
        return array

    def strides(self, array: WrappedArray) -> tuple[int, ...]:
        """Return the strides in elements."""
        return array.element_strides

    def may_overlap(self, a: WrappedArray, b: WrappedArray) -> bool:
        """Return whether the physical tensors share some element."""
        backend = a.physical._backend
        return b.physical._backend is backend and backend.arrays.may_overlap(
            a.physical.array, b.physical.array
        )


def is_wrapped(value: object) -> bool:
    """Return whether `value` is a wrapped tensor."""
    return isinstance(value, TensorBase) and bool(value._signature & WRAPPED_BIT)


def wrapped(physical: TensorBase, level: Level, array: WrappedArray | None = None) -> TensorBase:
    """Return a new leaf around `physical` at `level`, by the wrapper `array`. Default: as a
    batch.
    """
    # Every result of a physical call comes by here: nothing is called that Python is written in.
    if array is None:
        array = _new(BatchedArray)
        array.physical, array.level = physical, level
        array.shape = physical.array.shape[1:]
        array.dtype = BY_BIT[physical._signature & DTYPE_MASK]
    signature = WRAPPED_BIT | array.dtype.bit
    if not array.shape:
        signature |= ZERO_DIM
    now = known_state(state() & ~NO_GRAD)
    if not now.inference:
        signature |= NORMAL
    tensor: TensorBase = _new(tensor_class())
    tensor.array = array
    tensor._signature = signature
    tensor._grad_fn = tensor._storage = tensor._counter = tensor._meta = None
    tensor.output_nr = 0
    if now.transformed:
        tensor._counter = inside_counter()
    return tensor
