"""ArrayBackend: describes the arrays of a backend: dtypes, memory, and how to make one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..types.dtype import dtype
from ..types.named_dtype import AskedDtypes
from .allocator import Allocator, DataPtr
from .lowering import Lowering

if TYPE_CHECKING:
    from ..typing import NativeDtype, ShapedArray


class ArrayBackend(Lowering):
    """The array side of a backend; a backend plugin subclasses it and passes an instance to
    `Backend.attach`.

    Attributes
    ----------
    array_types
        Classes whose instances are this backend's arrays.
    mutable_arrays
        False for immutable arrays: an in-place operator then replaces the array of its tensor
        (`overwritten`), and raises if another tensor shares the memory.
    dtype_bits
        Native dtype of an array (``array.dtype``) to the dtype bit of a signature. Contains all
        dtypes that kernels may return.
    native_dtypes
        The way back: `dtype` to the native dtype.
    dlpack_types
        The `DLDeviceType` for export, followed by other types that `from_dlpack` accepts. Empty if
        the array library does not support DLPack.
    allocator
        Allocator of memory for storages that are created or resized directly. None: `empty` creates
        it.
    shared_allocator
        Allocator of memory shared between processes, or None.
    bit_generators
        Valid second arguments of `new_generator`, the default first. Empty: there is no such
        argument.
    several_devices
        Whether arrays may be on another device than the current one.
    is_unnumbered
        Whether `device_index` is None for every array, so that only the first array is queried.
    launches_kernels
        Whether array functions launch kernels, whose names `tell_launches` reports.
    """

    array_types: tuple[type, ...] = ()
    mutable_arrays: bool = True
    dtype_bits: Mapping[Any, int]
    native_dtypes: Mapping[dtype, Any]
    dlpack_types: tuple[int, ...] = ()
    allocator: Allocator | None = None
    shared_allocator: Allocator | None = None
    bit_generators: tuple[str, ...] = ()
    several_devices: bool = False
    is_unnumbered: bool = False
    launches_kernels: bool = False

    @cached_property
    def asked_dtypes(self) -> Mapping[dtype, Any]:
        """`native_dtypes` for dtypes that callers give: what is a name alone is refused."""
        return AskedDtypes(self.native_dtypes)

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        """Return `value` (a Python number, nested sequence, host array or array of this backend) as
        an array.
        """
        raise NotImplementedError

    def to_scalar_array(self, result: ShapedArray) -> Any:
        """Convert a 0-d scalar returned by a kernel to an array."""
        return self.asarray(result)

    def scalar(self, value: object, native_dtype: NativeDtype) -> Any:
        """Return the Python number `value` as a new 0-d array of `native_dtype`, wrapping
        out-of-range integers.
        """
        raise NotImplementedError

    def to_host(self, array: Any) -> Any:
        """Return `array` as a NumPy array, sharing memory where the backend lives in host
        memory.
        """
        raise NotImplementedError

    def from_host_soon(self, array: ShapedArray) -> Any:
        """Return a copy of an array in host memory; for page-locked memory, the copy may still be
        running. Default: `asarray`.
        """
        return self.asarray(array)

    def to_host_soon(self, array: ShapedArray) -> Any:
        """Return a copy of `array` as a NumPy array, in page-locked memory, to which a device may
        still be writing. Default: a copy of the result of `to_host`.
        """
        return self.to_host(array).copy()

    def is_pinned(self, array: ShapedArray) -> bool:
        """Return whether the memory of a NumPy array is page-locked for these devices."""
        return False

    def empty_pinned(self, like: object) -> Any:
        """Return an uninitialised NumPy array in page-locked memory, in the shape and order of
        strides of a NumPy array.
        """
        raise NotImplementedError

    def empty(
        self, shape: tuple[int, ...], native_dtype: Any, device_index: int | None = None
    ) -> Any:
        """Return an uninitialised C-contiguous array."""
        raise NotImplementedError

    def full(self, shape: tuple[int, ...], value: object, native_dtype: NativeDtype) -> Any:
        """Return an array filled with the number `value`."""
        array = self.empty(shape, native_dtype)
        self.copy_into(array, self.scalar(value, native_dtype))
        return array

    def device_count(self) -> int:
        """Return the number of devices."""
        return 1

    def on_device(self, index: int) -> AbstractContextManager[object]:
        """Return a context manager in which new arrays are created on the device `index`."""
        return nullcontext()

    def to_device(self, array: ShapedArray, index: int) -> Any:
        """Return `array` on the device `index`."""
        return array

    def device_index(self, array: Any) -> int | None:
        """Return the index of the device that holds `array`; None if the backend has a single
        device without an index (cpu).
        """
        return None

    def current_device(self) -> int | None:
        """Return the index of the current device; None if there is only one device."""
        return None

    def fused_step(self, rule: str) -> Callable[..., bool | None] | None:
        """Return a function that runs the steps of an optimizer for many parameters at once, or
        None.

        It gets the arrays of every parameter, its gradient and its state, and the numbers of the
        rule, and writes to all but the gradients. On the host, it also writes the step counts and
        checks the arrays: it returns False without writing if some arrays are unsuitable.
        """
        return None

    def tell_launches(self, to: Callable[[str], None] | None) -> str | None:
        """Call `to` with the name of every launched kernel from now on, in the launching thread;
        None stops this. Return the reason why names are unknown, or None.
        """
        return f"{type(self).__name__} does not tell them"

    def data_ptr(self, array: Any) -> int:
        """Return the address of the first element."""
        raise NotImplementedError

    def storage_of(self, array: Any) -> Any:
        """Return the array that owns the memory of `array` (itself, or the root of its bases)."""
        while (base := getattr(array, "base", None)) is not None and isinstance(
            base, self.array_types
        ):
            array = base
        return array

    def wrap_foreign(self, array: Any) -> Any:
        """Return a view of a program's array, for a tensor around it."""
        return array.view()

    def resized(self, array: Any, shape: tuple[int, ...]) -> Any | None:
        """Return a view in C order of another shape that begins where `array` does; None if its
        memory is too small, or if such a view is impossible.
        """
        return None

    def byte_bounds(self, array: ShapedArray) -> tuple[int, int]:
        """Return the address of the lowest byte of `array`, and the address after its highest
        byte.
        """
        low = high = self.data_ptr(array)
        itemsize = array.dtype.itemsize
        steps = getattr(array, "strides", None)
        if 0 in array.shape:
            return low, high
        if steps is None:
            steps = [step * itemsize for step in self.strides(array)]
        for size, step in zip(array.shape, steps, strict=True):
            if step < 0:
                low += (size - 1) * step
            else:
                high += (size - 1) * step
        return low, high + itemsize

    def memory_bounds(self, array: ShapedArray) -> tuple[int, int]:
        """Return the start address of the memory of `array`, and the address after its end.

        Foreign memory may have gaps between the elements of its owner, which count as part of it,
        or may have several owners.
        """
        return self.byte_bounds(self.storage_of(array))

    # -- memory as such: storages that are made, resized or given to other tensors -----------------

    def bytes_at(self, pointer: DataPtr) -> Any:
        """Return the memory of `pointer` as a 1-dimensional uint8 array, which keeps the pointer
        alive.
        """
        raise NotImplementedError(
            f"{type(self).__qualname__} has an allocator, but not bytes_at(self, pointer), which "
            "makes an array of what it allocates."
        )

    def pointer_of(self, memory: ShapedArray) -> DataPtr | None:
        """Return the pointer from which `memory` was created; None if it does not come from an
        allocator.
        """
        return None

    def as_view(
        self,
        memory: Any,
        native_dtype: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
    ) -> Any:
        """Return a view of a part of `memory`.

        Parameters
        ----------
        memory
            The owner of the memory, as returned by `storage_of`.
        native_dtype, shape
            Of the array.
        strides, offset
            In bytes; the offset of the first element is relative to the start of the memory. The
            caller has checked the bounds.
        """
        raise NotImplementedError(
            f"the arrays of {type(self).__qualname__} cannot show a part of some memory by strides."
        )

    def owns_memory(self, memory: Any) -> bool:
        """Return whether `memory` belongs to the array library or to an allocator, so that it may
        be replaced once nothing else shares it.
        """
        return False

    def owns(self, holder: object) -> tuple[Any, ...]:
        """Return the objects that keep the memory of `holder` alive: an array, or an object
        referenced by one.
        """
        base = getattr(holder, "base", None)
        return () if base is None else (base,)

    def strides(self, array: Any) -> tuple[int, ...]:
        """Return the strides of `array` in elements."""
        itemsize = array.dtype.itemsize
        return tuple(stride // itemsize for stride in array.strides)

    def is_contiguous(self, array: Any) -> bool:
        """Return whether the elements of `array` lie in C order without gaps."""
        expected = 1
        for size, stride in zip(reversed(array.shape), reversed(self.strides(array)), strict=True):
            if size != 1 and stride != expected:
                return 0 in array.shape
            expected *= size
        return True

    def is_column_major(self, array: ShapedArray) -> bool:
        """Return whether the matrix `array` is stored by columns, without gaps."""
        return self.strides(array) == (1, array.shape[0])

    def copy_into(self, destination: Any, source: Any) -> None:
        """Write `source`, broadcast and cast, into `destination`."""
        destination[...] = source

    def write_once(self, array: ShapedArray, source: ShapedArray, memory: ShapedArray) -> bool:
        """Write `source` into a read-only `array` whose elements overlap in memory. Return False if
        that is impossible.

        Parameters
        ----------
        array
            The array to write to.
        source
            The new elements.
        memory
            The array that owns the memory.
        """
        return False

    def overwritten(self, array: ShapedArray, source: ShapedArray) -> Any:
        """Return a new array of the shape and dtype of `array` with the elements of `source`; for
        immutable arrays.
        """
        raise NotImplementedError

    def cast(self, array: Any, native_dtype: Any) -> Any:
        """Return `array` with another dtype (a copy)."""
        return array.astype(native_dtype)

    synchronize: Callable[[], None] | None = None

    def current_stream(self, index: int) -> int:
        """Return the address of the stream that operators use on a device; 0 without streams."""
        return 0

    def to_dlpack(self, array: Any, stream: int | None, max_version: tuple[int, int] | None) -> Any:
        """Return a DLPack capsule of `array`, which shares its memory; see ``array.__dlpack__``."""
        return array.__dlpack__(stream=stream, max_version=max_version)

    def from_dlpack(self, source: object) -> Any:
        """Return an array that shares memory with `source`, an object of the DLPack protocol in
        this backend's memory.

        Raises
        ------
        BufferError, TypeError
            If the array library does not support its dtype.
        """
        raise NotImplementedError

    def may_overlap(self, a: Any, b: Any) -> bool:
        """Return whether two arrays share some element."""
        raise NotImplementedError

    # -- random numbers ----------------------------------------------------------------------------

    def new_generator(self, seed: int) -> Any:
        """Return a source of random numbers for `seed`."""
        raise NotImplementedError

    def generator_state(self, native: Any, seed: int) -> bytes:
        """Return the state and the initial seed of the random source `native`, as a fixed number of
        bytes.
        """
        raise NotImplementedError(
            f"the generators of {type(self).__module__}.{type(self).__qualname__} cannot tell "
            "their state. Use manual_seed() to get the same numbers again; a checkpoint takes "
            "preserve_rng_state=False."
        )

    def restored_generator(self, state: bytes, like: Any) -> tuple[Any, int]:
        """Return `like`, or another random source of its kind, with the state from
        `generator_state`, and its initial seed.
        """
        raise NotImplementedError
