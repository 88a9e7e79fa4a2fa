"""What an array kernel may return: arrays of its backend, as many as the schema says, in memory of
their own unless it says otherwise; and the errors that name the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dovetail_kernel import ArrayBackend, Backend

from ...schema import Argument
from ...schema.function_schema import OPTIONAL_TENSOR, TENSOR, TENSOR_LIST
from ...sockets import BASE_OPERATORS
from ...table.kernel_results import KernelResults, shown
from ...table.kernels import Kernel
from ...table.operator import Operator
from .alias_checks import written_results
from .array_wrapping import array_wrapper

if TYPE_CHECKING:
    from dovetail_kernel.typing import ShapedArray


class ArrayResults:
    """Checks what one array kernel returns; most of it only where a route's quick look misses.

    Parameters
    ----------
    op, kernel, backend
        The operator, the kernel, and the backend whose arrays it is to return.
    """

    def __init__(self, op: Operator, kernel: Kernel, backend: Backend) -> None:
        self.op, self.kernel, self.backend = op, kernel, backend
        self.results = KernelResults(op, kernel)
        self.several = self.results.several

    def check_writes(self) -> None:
        """Raise an error for a schema whose writes an array kernel cannot express. Raises
        RuntimeError if the schema writes to several arguments, or returns more than what it writes.
        """
        schema = self.op.schema
        outs = [a for a in schema.arguments if a.is_out]
        written = [a for a in schema.arguments if a.is_write and not a.is_out]
        returned = len(schema.returns)
        if not written and (not outs or returned in (0, len(outs))):
            return
        if len(written) == 1 and not outs and written[0].is_tensor_like:
            returns_it = returned == 1 and written_results(self.op)
            if not returned or returns_it:
                return
        raise RuntimeError(
            f"{self.results.who} is an array kernel, which returns the new elements of the one "
            f"argument that is written, or of the out= arguments; {schema} writes or returns more. "
            "Register a kernel that takes tensors: Library.impl."
        )

    # -- one array ---------------------------------------------------------------------------------

    def array(self, value: Any) -> Any:
        """Return a result as an array of the backend: itself, or a scalar of the array library as a
        0-d array. Raises RuntimeError if it is anything else, or an array of which some elements
        are masked, and TypeError if it has a dtype that the backend has not.
        """
        arrays = self.backend.arrays
        if not isinstance(value, arrays.array_types) or hasattr(value, "mask"):
            if hasattr(value, "mask") or not _is_scalar_of_library(value):
                raise self.not_an_array(value)
            value = self._lifted(value)
        self.check_dtype(value)
        return value if type(value) in arrays.array_types else arrays.to_scalar_array(value)

    def _lifted(self, value: Any) -> Any:
        try:
            return self.backend.arrays.to_scalar_array(value)
        except (TypeError, ValueError) as reason:
            raise self.not_an_array(value) from reason

    def not_an_array(self, value: object) -> RuntimeError:
        """Return the error of a result that is not an array of the backend."""
        backend = self.backend
        names = " or ".join(
            [f"{t.__module__}.{t.__qualname__}" for t in backend.arrays.array_types]
        )
        return RuntimeError(
            f"Unable to cast {shown(value)} to Tensor: {self.results.who} returned a "
            f"{type(value).__module__}.{type(value).__qualname__}, where {self.op.schema} has a "
            f"Tensor. An array kernel on {backend.name} returns {names}: make one of it, with the "
            "dtype of the result."
        )

    def check_dtype(self, array: Any) -> None:
        """Raise an error for an array of a dtype that the backend does not have."""
        if array.dtype not in self.backend.arrays.dtype_bits:
            raise self.unknown_dtype(array)

    def unknown_dtype(self, array: Any) -> TypeError:
        """Return the error of an array of a dtype that the backend has not."""
        known = ", ".join([each.name for each in self.backend.arrays.native_dtypes])
        return TypeError(
            f"{self.results.who} returned an array of dtype {array.dtype}, which tensors on "
            f"{self.backend.name} cannot have: {self.op.schema}. Return one of these: {known}."
        )

    def expect_dtype(self, array: ShapedArray, native: object) -> None:
        """Raise an error for an array of another dtype than the one that the operator computes
        in.
        """
        if array.dtype == native:
            return
        raise TypeError(
            f"{self.results.who} returned an array of shape {tuple(array.shape)} and dtype "
            f"{array.dtype}, where the result of {self.op.qualified_name} has dtype {native} by "
            "its rule of promotion. Cast the result to the dtype of the arrays that the kernel is "
            "given."
        )

    def of_count(self, count: int, value: object) -> Sequence[Any]:
        """Return the results, of which there are to be `count`: one for each ``out=``."""
        if isinstance(value, tuple | list) and len(value) == count:
            return value
        raise RuntimeError(
            f"{self.results.who} returned {shown(value)}, where {self.op.schema} needs {count} "
            f"arrays. Return a tuple of {count}."
        )

    # -- memory ------------------------------------------------------------------------------------

    def own(self, value: object, arguments: Sequence[object]) -> Any:
        """Return a result as `array` does; its memory must be that of none of `arguments`.

        Parameters
        ----------
        arguments
            Arrays, None, and lists of these: what the kernel was given, and its earlier results.

        Raises
        ------
        RuntimeError
            If it shares memory with one of them.
        """
        array = self.array(value)
        if self.op.name in BASE_OPERATORS.plug.sharing:
            return array
        arrays = self.backend.arrays
        for other in _flat(arguments):
            if array is other or (_says_overlap(arrays) and arrays.may_overlap(array, other)):
                raise RuntimeError(
                    f"{self.results.who} returned an array that shares memory with one of its "
                    f"arguments or other results: {shown(array)}. Its schema says that results are "
                    f"new: {self.op.schema}. Return a copy, or declare a view: Tensor(a) x, and a "
                    "return Tensor(a)."
                )
        return array

    def view(self, value: object, shared: object) -> Any:
        """Return a result as `array` does; it must lie in the memory of the array `shared`. Raises
        RuntimeError if it lies elsewhere.
        """
        array = self.array(value)
        arrays = self.backend.arrays
        if arrays.mutable_arrays and arrays.storage_of(array) is not arrays.storage_of(shared):
            raise RuntimeError(
                f"{self.results.who} returned an array in memory of its own: {shown(array)}. Its "
                f"schema says that it is a view: {self.op.schema}. Return a view of the argument, "
                "or declare a new result: Tensor x, and a return Tensor."
            )
        return array

    # -- other returns -----------------------------------------------------------------------------

    def wrapping(self, base: int) -> Callable[..., Any]:
        """Return the function that makes of any result what the schema's returns say, for routes
        whose returns are not all tensors.

        It is called with the result, what it may not share memory with, and the tensor that it
        shares memory with, if it is a view.
        """
        returns = self.op.schema.returns
        several = len(returns) != 1
        if not returns:
            return lambda result, given, shared: self.results.nothing(result)

        def wrapped(result: Any, given: Sequence[Any], shared: object) -> Any:
            items = self.several(result) if several else (result,)
            made = [
                self._wrapped(base, each, item, [*given, *items[:number]], shared)
                for number, (each, item) in enumerate(zip(returns, items, strict=True))
            ]
            return tuple(made) if several else made[0]

        return wrapped

    def _wrapped(
        self, base: int, declared: Argument, value: object, given: Sequence[object], shared: object
    ) -> Any:
        if not declared.is_tensor_like:
            return self.results.cast(value, declared.real_type)
        kind = declared.kind
        if value is None and kind == OPTIONAL_TENSOR:
            return None
        if kind in (TENSOR, OPTIONAL_TENSOR):
            return self._tensor(base, value, given, shared)
        if not isinstance(value, list | tuple):
            raise self.results.cast_error(value, kind)
        return [
            None
            if item is None and kind != TENSOR_LIST
            else self._tensor(base, item, [*given, *value[:number]], shared)
            for number, item in enumerate(value)
        ]

    def _tensor(self, base: int, value: Any, given: Sequence[Any], shared: Any) -> Any:
        array = self.own(value, given) if shared is None else self.view(value, shared.array)
        return array_wrapper(self.backend, base)(array, shared)


def _is_scalar_of_library(value: object) -> bool:
    """Return whether `value` is a number that says its dtype, such as NumPy's; Python's do not."""
    return getattr(value, "shape", None) == () and hasattr(value, "dtype")


def _says_overlap(arrays: ArrayBackend) -> bool:
    return arrays.mutable_arrays and type(arrays).may_overlap is not ArrayBackend.may_overlap


def _flat(values: Sequence[object]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _flat(value)
        elif value is not None and hasattr(value, "dtype"):
            found.append(value)
    return found
