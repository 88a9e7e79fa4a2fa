"""The protocol by which a backend supplies to the array kernels what no array namespace offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dovetail_kernel import dtype
from dovetail_kernel.typing import NativeDtype

from ..typing import Array


class Capabilities(Protocol):
    """The short list of things that a new backend has to write, besides naming its array namespace.

    Arrays, native dtypes and generators are the backend's own; shapes are tuples. No function may
    write to its arguments, and none may return an argument where "new" is said.

    Attributes
    ----------
    dtypes
        Native dtype of an array to `dovetail_kernel.dtype`.
    native_dtypes
        The way back.
    checks_bounds
        Whether ``array[index]`` raises IndexError for an index out of range; if not, the kernels
        check.
    lazy
        Whether arrays are computed only later, so that looking at a value would compute them at
        once. The kernels then look at none: indices and divisors are not checked, and of two ways
        they take the one that is right for all values. Only what returns a Python value (`equal`,
        `allclose`, `item`) does look.
    plain_arrays
        Whether no array overrides functions of the namespace (``__array_function__``), so that
        kernels may call what stands behind functions that ask for that first.
    quick
        Functions that kernels call in place of those of the namespace with the same name, with
        the arguments that kernels give.
    """

    @property
    def dtypes(self) -> Mapping[Any, dtype]: ...

    @property
    def native_dtypes(self) -> Mapping[dtype, Any]: ...

    @property
    def checks_bounds(self) -> bool: ...

    @property
    def lazy(self) -> bool: ...

    @property
    def plain_arrays(self) -> bool: ...

    @property
    def quick(self) -> Mapping[str, Callable[..., Any]]: ...

    def guard(self, function: Callable[..., object], to_out: bool) -> Callable[..., Any]:
        """Return what is run in place of a kernel: one that first makes the device of its
        arrays the current one, where there are several, or that refuses an ``out`` (if it takes
        one) that cannot be written.
        """

    def compiled(self, operator: str, reference: Callable[..., object]) -> Callable[..., Any]:
        """Return the compiled kernel of an operator, or its reference if there is none."""

    # -- making arrays -----------------------------------------------------------------------------

    def number(self, value: complex, native_dtype: NativeDtype) -> Any:
        """Return `value` as an operand of that dtype: what the namespace combines fastest with an
        array.

        Integers out of range wrap. The kernels cache what is returned, so it must not be written
        to.
        """

    def are_below(self, index: Any, size: int) -> bool:
        """Return whether all elements of an array of signed integers, which has some, are at least
        0 and less than `size`.
        """

    def checked(self, array: Any, right: Any, error: Callable[[Any], Exception]) -> Any:
        """Return a lazy array which raises, when it is computed, what `error` gives for its first
        element that is not `right`, an array of booleans that broadcasts with it.
        """

    def empty(self, shape: Sequence[int], native_dtype: NativeDtype) -> Any:
        """Return a new uninitialised array."""

    def filled(self, shape: Sequence[int], number: Any, native_dtype: NativeDtype) -> Any:
        """Return a new array full of what `number` returned."""

    def clone(self, array: Any) -> Any:
        """Return a copy of `array`; of a dense one in the same order of strides."""

    def cast(self, array: Array, native_dtype: NativeDtype) -> Any:
        """Return a copy of an array in another dtype, without warnings of the library."""

    def is_contiguous(self, array: Array) -> bool:
        """Return whether the elements of `array` lie one after another in C order."""

    def contiguous(self, array: Array) -> Any:
        """Return `array` if its elements lie one after another in C order, else a new array where
        they do.
        """

    def embed(self, value: Any, shape: Sequence[int], key: tuple[slice, ...], fill: Any) -> Any:
        """Return a new array of `shape` and the dtype of `value`, full of `fill`, with `value` at
        ``[key]``.
        """

    # -- views -------------------------------------------------------------------------------------

    def view(self, array: Any, shape: Sequence[int]) -> Any | None:
        """Return a view of `array` with another shape of as many elements; None if its strides do
        not allow it.
        """

    def expand(self, array: Array, shape: Sequence[int]) -> Any:
        """Return a view of `array` broadcast to `shape`. Elements that share memory should refuse
        to be written.
        """

    def diagonal(self, array: Array, offset: int, dim1: int, dim2: int) -> Any:
        """Return a writable view of a diagonal, which becomes the last dimension."""

    def memory_bounds(self, array: Array) -> tuple[int, int]:
        """Return the address where the memory that `array` lies in begins, and the one behind its
        end.
        """

    def data_ptr(self, array: Array) -> int:
        """Return the address of the first element."""

    def strides(self, array: Array) -> tuple[int, ...]:
        """Return the strides of `array` in elements."""

    def as_strided(
        self, array: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int
    ) -> Any:
        """Return a view of the memory that `array` lies in.

        Strides and offset count elements; the offset is from the start of the memory, as
        `memory_bounds` gives it. The kernels have checked that the view stays within it.
        """

    def reinterpret(self, array: Array, native_dtype: NativeDtype) -> Any:
        """Return a view with another dtype, whose last dimension shrinks or grows with the
        itemsize.

        Raises
        ------
        ValueError
            If the last dimension is not contiguous or not divisible.
        """

    # -- indexing ----------------------------------------------------------------------------------

    def index_put(
        self, array: Array, key: tuple[object, ...], values: Any, accumulate: bool
    ) -> Any:
        """Return a copy of `array` with `values` at ``[key]``; with `accumulate`, added, also at
        repeated places.
        """

    def index_combine(
        self, array: Array, key: tuple[object, ...], values: Any, function: str
    ) -> Any:
        """Return a copy of `array` with `values` combined with what is at ``[key]``, one after the
        other at repeated places, by ``multiply``, ``maximum`` or ``minimum``.
        """

    def index_add(self, array: Array, dim: int, index: Any, source: Any) -> Any:
        """Return a copy of `array` with the slices of `source` added at `index` along `dim`;
        indices are in range.
        """

    def scatter(self, array: Array, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
        """Return a copy of `array` with the elements of `source` at `index` along `dim`, or added
        there.

        `source` has the shape of `index` or is a number; indices are in range.
        """

    # -- functions that namespaces lack ------------------------------------------------------------

    def erf(self, array: Array) -> Any:
        """Return the error function of a floating-point array, in its dtype."""

    def erfc(self, array: Array) -> Any:
        """Return the complementary error function, accurate where it is small."""

    def finfo(self, native_dtype: NativeDtype) -> tuple[float, float]:
        """Return the least and greatest finite number of a floating-point dtype."""

    def scipy(self, function: str) -> Any | None:
        """Return a function of SciPy for arrays of this backend, by its dotted name
        (``"special.gammaln"``); None if the backend has none. What it comes from is imported now.
        """

    # -- random numbers; a generator of None means the backend's default ---------------------------

    def uniform(self, shape: Sequence[int], native_dtype: NativeDtype, generator: object) -> Any:
        """Return numbers in [0, 1), in float32 for a half-precision dtype."""

    def normal(self, shape: Sequence[int], native_dtype: NativeDtype, generator: object) -> Any:
        """Return standard normal numbers, in float32 for a half-precision dtype."""

    def integers(self, low: int, high: int, shape: Sequence[int], generator: object) -> Any:
        """Return int64 numbers in [low, high)."""

    def permutation(self, n: int, generator: object) -> Any:
        """Return the int64 numbers below `n` in random order."""
