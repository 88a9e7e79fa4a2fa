"""`CpuArrays`: NumPy arrays as the core and the array kernels see them, where NumPy has more or is
faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import Any, Final

import ml_dtypes
import numpy as np

from dovetail_aten.kernel_support import contiguous_strides
from dovetail_aten.typing import Namespace
from dovetail_dispatcher.sockets import COMPILED_OPERATOR
from dovetail_kernel import DatalessArray, bfloat16, dtype
from dovetail_kernel.tensor import DlpackSource
from dovetail_kernel.typing import NativeDtype

from .functions.direct import DIRECT
from .functions.products import NUMPY
from .random.random_arrays import CpuRandom
from .silence import nameless, silent

Array = np.ndarray[Any, Any]
_ndarray: Final = np.ndarray

_copyto = silent(np.copyto)
_astype = silent(np.ndarray.astype)
_array = silent(np.array)

_MAX_WORK: Final = 10_000
_BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)
_COMPILED: Final = ("index_put", "index_combine", "index_add", "scatter", "cast", "contiguous")
"""Methods that may be compiled."""


class _AdoptedMemory:
    """The bytes from the first element of an array to its last, as memory of their own."""

    def __init__(self, array: Array, start: int, stop: int) -> None:
        self._owner = array  # not "base": what the array itself is a view of is no business of ours
        self.__array_interface__ = {
            "data": (start, not array.flags.writeable),
            "shape": (stop - start,),
            "typestr": "|u1",
            "version": 3,
        }


class CpuArrays(CpuRandom):
    """NumPy's arrays, and bfloat16 from ml_dtypes."""

    array_types = (np.ndarray,)
    checks_bounds = True
    is_unnumbered = True
    plain_arrays = True
    has_flags = True
    scipy_package = "scipy"
    dlpack_types = (1, 3)  # host memory, also where CUDA pinned it
    # Methods in Python would cost as much again.
    to_scalar_array = staticmethod(np.asarray)  # type: ignore[assignment]
    is_contiguous = staticmethod(attrgetter("flags.c_contiguous"))  # type: ignore[assignment]
    is_column_major = staticmethod(attrgetter("flags.fnc"))  # type: ignore[assignment]

    def __init__(self, device_type: str = "cpu", namespace: Namespace = NUMPY) -> None:
        super().__init__(device_type, namespace)
        for method in _COMPILED:
            setattr(self, method, self.compiled(f"arrays.{method}", getattr(self, method)))
        along = self.compiled("arrays.take_along_axis", np.take_along_axis)
        self.quick = {**DIRECT, "take_along_axis": along}
        self._ordered: dict[np.ufunc, Any] = {}

    def native_dtype(self, wanted: dtype) -> Any:
        """Return NumPy's dtype. Equivalent ones (``np.longlong``, ``np.int64``) are equal and hash
        alike.
        """
        return np.dtype(ml_dtypes.bfloat16 if wanted is bfloat16 else wanted.name)

    def may_warn(self, function: Callable[..., object]) -> bool:
        """Return False for ufuncs and their methods, whose warnings name the caller, since a route
        is not a caller.

        It also returns False for a function with the attribute ``never_warns``.
        """
        while isinstance(function, partial):
            function = function.func
        if getattr(function, "never_warns", False):
            return False
        return not isinstance(getattr(function, "__self__", function), np.ufunc)

    def scipy(self, function: str) -> Any | None:
        """Return a function of SciPy, by its dotted name."""
        found = CpuRandom.scipy(self, function)
        if not function.startswith("linalg.") or found is None:
            return found
        from .parallel.blas_threads import in_calling_thread

        if not function.startswith("linalg.get_"):
            return in_calling_thread(found)
        return lambda *args: [in_calling_thread(each) for each in found(*args)]

    def compiled(self, operator: str, reference: Any) -> Any:
        """Return the compiled kernel of an operator, or its reference if there is none. A compiled
        kernel never warns. Its reference must not warn either, including ufuncs, which warn
        according to the error state.
        """
        quiet = reference if getattr(reference, "never_warns", False) else silent(reference)
        found = COMPILED_OPERATOR.plug(operator, quiet)
        return reference if found is quiet else found

    def fused_step(self, rule: str) -> Any:
        """Return the compiled kernel of an optimizer's rule, None without compiled code."""
        return _compiled_step(rule)

    def rounded_once(self, function: Any) -> Any | None:
        """Return the compiled loop of a ufunc for half precision, if there is one."""
        found = self.compiled("rounded_once", function)
        return None if found is function else found

    def in_order(self, function: Callable[..., object]) -> Any:
        """Return an elementwise function whose results lie in memory in PyTorch's order; of a ufunc
        one that never warns.
        """
        if not isinstance(function, np.ufunc):
            return super().in_order(function)
        known = self._ordered.get(function)
        if known is None:
            turned = nameless(super().in_order(function))
            known = self._ordered[function] = _in_order_of_two(function, turned)
        return known

    # -- making arrays -----------------------------------------------------------------------------

    def asarray(self, value: Any, native_dtype: Any = None) -> Array:
        """Return `value` as an array in the machine's byte order, without a copy if possible.

        Raises
        ------
        TypeError
            For a dtype that Dovetail does not support.
        """
        array = np.asarray(value, native_dtype)
        if array.dtype not in self.dtype_bits:
            native = array.dtype.newbyteorder("=")
            if native not in self.dtype_bits:
                raise TypeError(
                    f"can't convert np.ndarray of type {array.dtype}. The only supported types "
                    "are: "
                    f"{', '.join(each.name for each in self.native_dtypes)}. Convert it with "
                    "astype first."
                )
            array = array.astype(native)
        return array

    def scalar(self, value: Any, native_dtype: Any) -> Array:
        if not isinstance(value, complex) or native_dtype.kind in "cb":
            try:
                made: Array = _array(value, native_dtype)
            except (OverflowError, ValueError):
                pass
            else:
                return made
        found: Array = super().scalar(value, native_dtype)
        return found

    def number(self, value: complex, native_dtype: NativeDtype) -> Array:
        """Return `value` as a read-only 0-d array, which ufuncs process faster than a Python
        number.
        """
        array = self.scalar(value, native_dtype)
        array.flags.writeable = False
        return array

    def wrap_foreign(self, array: Array) -> Array:
        """Return a view of `array`. If `array` is a view, the memory of the result begins with its
        first element and ends with its last, as in PyTorch.
        """
        if array.base is None:
            return array.view()
        memory = np.asarray(_AdoptedMemory(array, *self.byte_bounds(array)))
        return np.ndarray(array.shape, array.dtype, memory, strides=array.strides)

    def are_below(self, index: Array, size: int) -> bool:
        """Return whether all integers of an array are at least 0 and less than `size`."""
        return bool(index.min() >= 0) and bool(index.max() < size)

    def empty(
        self, shape: Sequence[int], native_dtype: NativeDtype, device_index: int | None = None
    ) -> Array:
        """Return an uninitialised C-contiguous array."""
        return np.empty(tuple(shape), native_dtype)

    def filled(self, shape: Sequence[int], number: Any, native_dtype: NativeDtype) -> Array:
        """Return a new C-contiguous array full of `number`."""
        made: Array = np.empty(shape, native_dtype)
        made.fill(number)
        return made

    def clone(self, array: np.ndarray) -> Array:
        """Return a new array with the same elements, in the order of PyTorch's copies."""
        return np.array(array) if array.flags.c_contiguous else super().clone(array)

    # -- memory ------------------------------------------------------------------------------------

    def to_host(self, array: Array) -> Array:
        """Return `array` itself."""
        return array

    def device_index(self, array: Array) -> None:
        """Return None: host memory has no device index."""

    def contiguous(self, array: Any) -> Array:
        if array.flags.c_contiguous:
            made: Array = array
            return made
        return array.copy()  # type: ignore[no-any-return]

    def copy_into(self, destination: Any, source: Any) -> None:
        """Write `source`, broadcast and cast, into `destination`; a real destination receives the
        real parts of complex numbers.
        """
        try:
            if source.dtype == destination.dtype:
                destination[...] = source
            else:
                _copyto(destination, _without_imaginary(source, destination.dtype), "unsafe")
        except TypeError:
            if destination.__class__ is DatalessArray:
                destination.refuse()
            raise

    def cast(self, array: Any, native_dtype: Any) -> Array:
        """Return a copy of `array` with another dtype; complex numbers are converted to their real
        parts in a real dtype.
        """
        # NumPy makes numbers, not arrays, of reductions over everything.
        found: Array = array if array.__class__ is np.ndarray else np.asarray(array)
        if found.dtype.kind == "c":
            found = _without_imaginary(found, native_dtype)
        if found.base is not None and 0 in found.strides:
            # Expanded: NumPy would put the dimensions that share memory innermost.
            found = self.clone(found)
        return _astype(found, native_dtype)  # type: ignore[no-any-return]

    def to_dlpack(
        self, array: np.ndarray, stream: int | None, max_version: tuple[int, int] | None
    ) -> Any:
        """Return a DLPack capsule of `array`; including bfloat16, which NumPy does not support."""
        if array.dtype != _BFLOAT16:
            return array.__dlpack__(max_version=max_version)
        from dovetail_kernel.tensor import BFLOAT, UINT, change_dtype_code

        capsule = array.view(np.uint16).__dlpack__(max_version=max_version)
        change_dtype_code(capsule, UINT, BFLOAT)
        return capsule

    def from_dlpack(self, source: Any) -> Array:
        """Return an array that shares memory with `source`.

        Raises
        ------
        BufferError, RuntimeError
            If NumPy does not support the dtype.
        """
        carrier = _Bfloat16AsIntegers(source)
        array: Array = np.from_dlpack(carrier)
        array = array.view(_BFLOAT16) if carrier.is_bfloat16 else array
        if isinstance(source, DlpackSource) and not source.is_versioned:
            return self.writable_view(array)  # which NumPy refuses to write, and PyTorch writes
        return array

    def may_overlap(self, a: Array, b: Array) -> bool:
        """Return whether two arrays share some element; True if this is too expensive to
        determine.
        """
        if not np.may_share_memory(a, b):
            return False
        try:
            return np.shares_memory(a, b, _MAX_WORK)  # type: ignore[arg-type, unused-ignore]  # old stubs
        except np.exceptions.TooHardError:
            return True

    # -- error functions ---------------------------------------------------------------------------

    def erf(self, array: Any) -> Any:
        """Return the error function, in the dtype of `array`."""
        return self._special("erf", array)

    def erfc(self, array: Any) -> Any:
        """Return the complementary error function."""
        return self._special("erfc", array)

    def _special(self, name: str, array: Any) -> Any:
        """Return a function of SciPy's, of half precision in single precision."""
        function: Any = self.scipy(f"special.{name}")
        wide = array if array.dtype.char in "fd" else self.cast(array, np.dtype(np.float32))
        return np.asarray(function(wide)).astype(array.dtype, copy=False)


def _in_order_of_two(ufunc: np.ufunc, turned: Callable[..., object]) -> Any:
    """Return what calls a ufunc, or `turned` unless the result is in C order by what the first
    array says, in all its dimensions, or all arrays.
    """

    def compute(x: Any, *others: Any) -> Any:
        if x.__class__ is _ndarray:
            ndim = -1 if 1 in x.shape else x.ndim  # in which it says the order
            if not (x.flags.c_contiguous and _is_plain(x.shape, x.strides)):
                steps = [step for step in x.strides if step]
                if steps != sorted({*steps}, reverse=True):
                    return turned(x, *others)
                ndim = ndim if len(steps) == x.ndim else -1
            for each in others:
                is_asked = each.__class__ is _ndarray and each.ndim > ndim
                if is_asked and not (
                    each.flags.c_contiguous and _is_plain(each.shape, each.strides)
                ):
                    return turned(x, *others)
        return ufunc(x, *others)

    return nameless(compute)


@lru_cache(4096)
def _is_plain(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether strides of an array in C order are those of a new one: dimensions of one
    element say no other order.
    """
    return strides == tuple([step * strides[-1] for step in contiguous_strides(shape)])


@cache
def _compiled_step(rule: str) -> Any:
    """Return the compiled kernel of an optimizer's rule, None without compiled code."""
    found = COMPILED_OPERATOR.plug(f"optimizer_step.{rule}", _not_taken)
    return None if found is _not_taken else found


def _not_taken(arrays: list[Sequence[object]], numbers: list[tuple[float, ...]]) -> bool:
    """Take no step: what no kernel takes is left to the rule in Python."""
    return False


class _Bfloat16AsIntegers:
    """Stands for an exporter of DLPack before NumPy, which takes bfloat16 elements as integers of
    the same size.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self.is_bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        from dovetail_kernel.tensor import BFLOAT, UINT, change_dtype_code

        capsule = self._source.__dlpack__(**options)
        self.is_bfloat16 = change_dtype_code(capsule, BFLOAT, UINT)
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._source.__dlpack_device__()


def _without_imaginary(array: Any, native_dtype: Any) -> Any:
    """Return the real part of a complex array that is to become real: NumPy warns of the loss,
    PyTorch does not.
    """
    return array.real if array.dtype.kind == "c" and native_dtype.kind not in "cb" else array
