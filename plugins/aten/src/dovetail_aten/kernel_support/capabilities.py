"""The protocol by which a backend supplies to the array kernels what no array namespace offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dovetail_kernel import dtype
from dovetail_kernel.typing import NativeDtype

from ..typing import Array
from .geometry.memory_layout import StrideRule


class Capabilities(Protocol):
    """The methods that a new backend defines, besides its array namespace.

    Arrays, native dtypes and generators are the backend's own; shapes are tuples. No function may
    write to its arguments; a function that returns a "new" array must not return an argument.

    Attributes
    ----------
    dtypes
        Native dtype of an array to `dovetail_kernel.dtype`.
    native_dtypes
        The inverse mapping.
    checks_bounds
        Whether ``array[index]`` raises IndexError for an index out of range; if not, the kernels
        check.
    lazy
        Whether arrays are computed lazily, so that reading a value would compute them. Kernels then
        read no values: they do not check indices and divisors, and use algorithms that are correct
        for all values. Only functions that return a Python value (`equal`, `item`) read values.
    plain_arrays
        Whether no array overrides functions of the namespace (``__array_function__``), so that
        kernels may bypass that check.
    mutable_arrays
        Whether arrays can be written, and views share their memory.
    quick
        Faster replacements for functions of the namespace, by name, for the arguments used by
        kernels.
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
    def mutable_arrays(self) -> bool: ...

    @property
    def quick(self) -> Mapping[str, Callable[..., Any]]: ...

    def quiet(self) -> AbstractContextManager[None]:
        """Return a block without warnings of overflow, division by zero and NaN."""

    def guard(self, function: Callable[..., object], to_out: bool) -> Callable[..., Any]:
        """Wrap a kernel: select the device of its arrays first (multi-device backends), and raise
        if ``out`` is read-only.
        """

    def compiled(self, operator: str, reference: Callable[..., object]) -> Callable[..., Any]:
        """Return the compiled kernel of an operator, or its reference if there is none."""

    def in_order(self, function: Callable[..., object]) -> Callable[..., Any]:
        """Return an elementwise function whose results lie in memory in PyTorch's order."""

    # -- making arrays -----------------------------------------------------------------------------

    def number(self, value: complex, native_dtype: NativeDtype) -> Any:
        """Return `value` as an operand of that dtype, in the form that the namespace combines
        fastest with an array.

        Integers out of range wrap. The kernels cache the result, so it must not be modified.
        """

    def are_below(self, index: Any, size: int) -> bool:
        """Return whether all elements of a non-empty array of signed integers are at least 0 and
        less than `size`.
        """

    def checked(self, array: Any, right: Any, error: Callable[[Any], Exception]) -> Any:
        """Return a lazy array that raises an error when it is computed, if an element of the
        boolean array `right` is False. `error` returns the exception for the first such element.
        """

    def empty(self, shape: Sequence[int], native_dtype: NativeDtype) -> Any:
        """Return a new uninitialised array."""

    def filled(self, shape: Sequence[int], number: Any, native_dtype: NativeDtype) -> Any:
        """Return a new array filled with the result of `number`."""

    def clone(self, array: Any) -> Any:
        """Return a copy of `array`; a dense array keeps the order of its strides."""

    def cast(self, array: Array, native_dtype: NativeDtype) -> Any:
        """Return a copy of an array in another dtype, without warnings of the library."""

    def is_contiguous(self, array: Array) -> bool:
        """Return whether `array` is contiguous in C order."""

    def contiguous(self, array: Array) -> Any:
        """Return `array` if it is contiguous in C order, else a contiguous copy."""

    def embed(self, value: Any, shape: Sequence[int], key: tuple[slice, ...], fill: Any) -> Any:
        """Return a new array of `shape` and the dtype of `value`, filled with `fill`, with `value`
        at ``[key]``.
        """

    # -- views -------------------------------------------------------------------------------------

    def view(self, array: Any, shape: Sequence[int]) -> Any | None:
        """Return a view of `array` with another shape; None if its strides do not allow it."""

    def expand(self, array: Array, shape: Sequence[int]) -> Any:
        """Return a view of `array` broadcast to `shape`. The view should be read-only if elements
        share memory.
        """

    def diagonal(self, array: Array, offset: int, dim1: int, dim2: int) -> Any:
        """Return a writable view of a diagonal, which becomes the last dimension."""

    def memory_bounds(self, array: Array) -> tuple[int, int]:
        """Return the start address of the memory of `array`, and the address after its end."""

    def data_ptr(self, array: Array) -> int:
        """Return the address of the first element."""

    def storage_offset(self, array: Array) -> int:
        """Return the distance of the first element from the start of the memory, in elements."""

    def strides(self, array: Array) -> tuple[int, ...]:
        """Return the strides of `array` in elements."""

    def with_strides(self, view: Array, rule: StrideRule, array: Array) -> Any:
        """Return `view`, of `array`, or one in which dimensions of size 1 have PyTorch's strides,
        which `rule` gives.
        """

    def as_strided(
        self, array: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int
    ) -> Any:
        """Return a view of the memory of `array`.

        Strides and offset count elements; the offset is from the start of the memory (see
        `memory_bounds`). The kernels have checked the bounds.
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
        """Return a copy of `array` with `values` at ``[key]``; with `accumulate`, they are added,
        including at repeated indices.
        """

    def index_combine(
        self, array: Array, key: tuple[object, ...], values: Any, function: str
    ) -> Any:
        """Return a copy of `array` with `values` combined with the elements at ``[key]`` by
        ``multiply``, ``maximum`` or ``minimum``; repeated indices are combined one by one.
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
        """Return a SciPy function for arrays of this backend, by its dotted name
        (``"special.gammaln"``), or None. Its module is imported now.
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
