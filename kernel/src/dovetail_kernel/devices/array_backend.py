"""ArrayBackend: describes the arrays of a backend: dtypes, memory, and how to make one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ..types.dtype import dtype
from ..types.named_dtype import AskedDtypes
from ..user_warning import warn_user
from .allocator import Allocator, DataPtr
from .lowering import Lowering

if TYPE_CHECKING:
    from ..typing import NativeDtype, ShapedArray

_RENAMED: Final = {
    "lift": "to_scalar_array",
    "shown": "as_view",
    "adopted": "wrap_foreign",
    "keeps": "owns",
}
"""Methods that backends of the last release override, and their names now."""


class ArrayBackend(Lowering):
    """The array side of a backend; a backend plugin subclasses it and hands an instance to
    `Backend.attach`.

    Attributes
    ----------
    array_types
        Classes whose instances are this backend's arrays.
    mutable_arrays
        False for arrays that cannot be written: an in-place operator then gives its tensor a new
        array (`overwritten`), and raises where another tensor shows the same memory.
    dtype_bits
        Native dtype of an array (``array.dtype``) to the dtype bit of a signature. Total over what
        kernels may return.
    native_dtypes
        The way back: `dtype` to the native dtype.
    dlpack_types
        The `DLDeviceType` that arrays are exported with, then others that `from_dlpack` takes.
        Empty where the array library does not take part in DLPack.
    allocator
        Where the memory of storages comes from that are made or resized as such. None: `empty`
        makes it.
    shared_allocator
        Where memory comes from that several processes share. None: there is none.
    bit_generators
        Names that `new_generator` takes as its second argument, the default first. Empty: it takes
        none.
    several_devices
        Whether arrays may be on another device than the current one.
    is_unnumbered
        Whether `device_index` is None for every array: then it is asked of the first one alone.
    launches_kernels
        Whether array functions hand kernels to a device, whose names `tell_launches` tells.
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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for old, new in _RENAMED.items():
            if old in vars(cls):
                warn_user(
                    f"{cls.__module__}.{cls.__qualname__}.{old} is called {new} now. Rename it: "
                    "the old name is not called after the next minor release.",
                    DeprecationWarning,
                )
                setattr(cls, new, vars(cls)[old])

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
        """Return as an array what a kernel returned instead of one: a 0-d scalar of the array
        library.
        """
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
        """Return a copy of an array in host memory, which a device may still be reading where that
        memory is page-locked. Default: `asarray`.
        """
        return self.asarray(array)

    def to_host_soon(self, array: ShapedArray) -> Any:
        """Return a copy of `array` as a NumPy array, in page-locked memory, to which a device may
        still be writing. Default: a copy of what `to_host` returns.
        """
        return self.to_host(array).copy()

    def is_pinned(self, array: ShapedArray) -> bool:
        """Return whether a NumPy array lies in memory that is page-locked for these devices."""
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
        """Return an array full of the number `value`."""
        array = self.empty(shape, native_dtype)
        self.copy_into(array, self.scalar(value, native_dtype))
        return array

    def device_count(self) -> int:
        """Return how many devices there are."""
        return 1

    def on_device(self, index: int) -> AbstractContextManager[object]:
        """Return a context in which new arrays are made on the device `index`."""
        return nullcontext()

    def to_device(self, array: ShapedArray, index: int) -> Any:
        """Return `array` on the device `index`."""
        return array

    def device_index(self, array: Any) -> int | None:
        """Return the index of the device that holds `array`; None where a backend has only one,
        unnumbered (cpu).
        """
        return None

    def current_device(self) -> int | None:
        """Return the index of the device that is meant where none is said; None where there is only
        one.
        """
        return None

    def fused_step(self, rule: str) -> Callable[..., bool | None] | None:
        """Return what takes the steps of an optimizer for many parameters at once; None where there
        is no such kernel.

        It is given, for every parameter, its array, that of its gradient and those of its state,
        and the numbers of the rule; it writes to all but the gradients. On the host it writes the
        number of steps too, and checks the arrays: it returns False if some do not fit, and then
        has written nothing.
        """
        return None

    def tell_launches(self, to: Callable[[str], None] | None) -> str | None:
        """Call `to` with the name of every kernel that is handed to a device from now on, in the
        thread that does; None ends it. Return why the names are not known, None where they are.
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
        """Return a view of an array that a program made, for a tensor around it."""
        return array.view()

    def resized(self, array: Any, shape: tuple[int, ...]) -> Any | None:
        """Return a view in C order of another shape that begins where `array` does; None if the
        memory that it lies in has no room, or cannot be shown so.
        """
        return None

    def byte_bounds(self, array: ShapedArray) -> tuple[int, int]:
        """Return the addresses of the lowest byte of `array` and of the one behind its highest."""
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

        Memory that another library made may have gaps between the elements of the array that owns
        it, which count as part of it, or be shared by several of them.
        """
        return self.byte_bounds(self.storage_of(array))

    # -- memory as such: storages that are made, resized or given to other tensors -----------------

    def bytes_at(self, pointer: DataPtr) -> Any:
        """Return the memory of `pointer` as a line of uint8, which keeps the pointer alive."""
        raise NotImplementedError(
            f"{type(self).__qualname__} has an allocator, but not bytes_at(self, pointer), which "
            "makes an array of what it allocates."
        )

    def pointer_of(self, memory: ShapedArray) -> DataPtr | None:
        """Return the pointer that `memory`, the owner of some memory, was made of; None if no
        allocator of ours made it.
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
        """Return an array that shows a part of `memory`, which owns it.

        Parameters
        ----------
        memory
            The owner of the memory, as `storage_of` gives it.
        native_dtype, shape
            Of the array.
        strides, offset
            In bytes; the offset is that of the first element from the start of the memory. The
            caller has checked that they stay within it.
        """
        raise NotImplementedError(
            f"the arrays of {type(self).__qualname__} cannot show a part of some memory by strides."
        )

    def owns_memory(self, memory: Any) -> bool:
        """Return whether `memory`, the owner of some memory, is the array library's own or an
        allocator's: then it may be left for other memory, once nothing else shows it.
        """
        return False

    def owns(self, holder: object) -> tuple[Any, ...]:
        """Return what `holder`, an array or what one of them keeps, refers to of the objects that
        keep its memory.
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
        """Return whether the matrix `array` lies in memory column by column, without gaps."""
        return self.strides(array) == (1, array.shape[0])

    def copy_into(self, destination: Any, source: Any) -> None:
        """Write `source`, broadcast and cast, into `destination`."""
        destination[...] = source

    def write_once(self, array: ShapedArray, source: ShapedArray, memory: ShapedArray) -> bool:
        """Write `source` into `array`, which refuses writes since it, or what it is a view of, has
        elements that share memory; return whether that was possible.

        Parameters
        ----------
        array
            What is written.
        source
            What it is to hold.
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
            If its dtype is none that the array library has.
        """
        raise NotImplementedError

    def may_overlap(self, a: Any, b: Any) -> bool:
        """Return whether two arrays share some element."""
        raise NotImplementedError

    # -- random numbers ----------------------------------------------------------------------------

    def new_generator(self, seed: int) -> Any:
        """Return a source of random numbers that depends on `seed` alone."""
        raise NotImplementedError

    def generator_state(self, native: Any, seed: int) -> bytes:
        """Return where the source of random numbers `native` stands, and the seed that it started
        from; always as many bytes.
        """
        raise NotImplementedError(
            f"the generators of {type(self).__module__}.{type(self).__qualname__} cannot tell "
            "their state. Use manual_seed() to get the same numbers again; a checkpoint takes "
            "preserve_rng_state=False."
        )

    def restored_generator(self, state: bytes, like: Any) -> tuple[Any, int]:
        """Return `like`, or another source of random numbers of its kind, that stands where
        `generator_state` says, and the seed that it started from.
        """
        raise NotImplementedError
