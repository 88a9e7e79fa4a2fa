"""Making tensors of the arrays that a kernel returned."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dovetail_kernel import TensorBase, VersionCounter, share_storage
from dovetail_kernel import dtype as DType
from dovetail_kernel.signature import GRAD, ZERO_DIM
from dovetail_kernel.tensor import WritableCounter, bare_tensor_maker, inside_counter

from ...record import Record
from ...table.operator import Operator
from ..plan import Operand, Step, Value

if TYPE_CHECKING:
    from dovetail_kernel import ArrayBackend

    from ..printer import Printer


class Signature(Record):
    """The signature of a tensor around an array.

    Attributes
    ----------
    base
        Backend and flags.
    dtype
        The dtype of the array, or the one that it mostly has; None: any.
    is_known
        Whether it is never another.
    may_be_zero_dim
        Whether it may have no dimensions.
    dtype_bits, native_dtypes
        The tables of the backend.
    """

    base: int
    dtype: DType | None
    is_known: bool
    may_be_zero_dim: bool
    arrays: ArrayBackend

    def text(self, to: Printer, array: str) -> str:
        """Return the expression for the array that is called `array` in the text."""
        common = "" if self.dtype is None else self._of_dtype(to, array, self.dtype)
        if self.is_known:
            return common
        base, bits = to.bind("BASE", self.base), to.bind("dtype_bits", self.arrays.dtype_bits)
        zero_dim = f"(0 if {array}.ndim else {to.bind('ZERO_DIM', ZERO_DIM)})"
        general = f"{base} | {bits}[{array}.dtype] | {zero_dim}"
        if self.dtype is None:
            return general
        native = to.bind("DTYPE", self.arrays.native_dtypes[self.dtype])
        return f"({common}) if {array}.dtype is {native} else {general}"

    def _of_dtype(self, to: Printer, array: str, known: DType) -> str:
        signature = to.bind("SIGNATURE", self.base | known.bit)
        if not self.may_be_zero_dim:
            return signature
        zero_dim = to.bind("ZERO_DIM_SIGNATURE", self.base | known.bit | ZERO_DIM)
        return f"{signature} if {array}.ndim else {zero_dim}"


_tensor_maker = lru_cache(maxsize=1)(bare_tensor_maker)
"""The function that makes a bare tensor: the same object for all, so that a text has one name for
it.
"""


class WrapArray(Step):
    """Create a tensor from an array.

    Attributes
    ----------
    lift
        Makes an array of a scalar that the kernel returned instead; None: it returns arrays.
    shared
        The argument whose memory the array shares; None: the memory is new.
    is_writable
        A view that may be written outside inference mode, though it is an inference tensor.
    is_recorded
        A node is made for the tensor in any case: it requires grad.
    output_nr
        Which of the results of that node it is.
    unknown_dtype
        The error of an array of a dtype that the backend has not; None: there are no such arrays.
    """

    array: Value
    result: Value
    signature: Signature
    lift: Callable[..., Any] | None = None
    shared: Value | None = None
    is_writable: bool = False
    is_recorded: bool = False
    output_nr: int = 0
    unknown_dtype: Callable[..., Exception] | None = None

    def recorded(self, output_nr: int) -> WrapArray:
        """Return the same step for a tensor that always has a node."""
        signature = self.signature.replaced(base=self.signature.base | GRAD)
        return self.replaced(signature=signature, is_recorded=True, output_nr=output_nr)

    def print(self, to: Printer) -> None:
        array, result = to.name(self.array), to.name(self.result)
        if self.lift is not None:
            array_type = to.bind("Array", self.signature.arrays.array_types[0])
            to.add(f"if {array}.__class__ is not {array_type}:")
            to.add(f"    {array} = {to.bind('lift', self.lift)}({array})")
        to.extend(
            (f"{result} = {to.bind('make_tensor', _tensor_maker())}()", f"{result}.array = {array}")
        )
        signed = f"{result}._signature = {self.signature.text(to, array)}"
        if self.unknown_dtype is None or self.signature.is_known:
            to.add(signed)
        else:
            with to.block("try:"):
                to.add(signed)
            with to.block(f"except {to.builtin('KeyError')}:"):
                unknown = to.bind("unknown_dtype", self.unknown_dtype)
                to.add(f"raise {unknown}({array}) from None")
        if not self.is_recorded:
            to.add(f"{result}._grad_fn = None")
        to.add(f"{result}.output_nr = {self.output_nr}")
        if self.shared is None:
            to.extend((f"{result}._storage = None", f"{result}._counter = None"))
        else:
            self._share(to, result, to.name(self.shared))
        to.add(f"{result}._meta = None")

    def _share(self, to: Printer, result: str, shared: str) -> None:
        storage, counter = to.scratch("storage"), to.scratch("counter")
        share = to.bind("share_storage", share_storage)
        new_counter = to.bind("VersionCounter", VersionCounter)
        to.extend(
            (
                f"{storage} = {shared}._storage",
                f"{counter} = {shared}._counter",
                f"{result}._storage = {share}({shared}) if {storage} is None else {storage}",
                f"if {counter} is None:",
                f"    {counter} = {shared}._counter = {new_counter}()",
                f"{result}._counter = {counter}",
            )
        )
        if self.is_writable:
            to.add(f"{result}._counter = {to.bind('WritableCounter', WritableCounter)}()")


class WrapReturns(Step):
    """Convert a result according to the returns of the schema.

    Attributes
    ----------
    given
        The arrays that the kernel was given.
    """

    returned: Value
    result: Value
    wrap: Callable[..., Any]
    given: tuple[Operand, ...]
    shared: Value | None

    def print(self, to: Printer) -> None:
        given = "".join([f"{each.text(to)}, " for each in self.given])
        shared = None if self.shared is None else to.name(self.shared)
        wrapped = f"{to.bind('wrap', self.wrap)}({to.name(self.returned)}, ({given}), {shared})"
        to.add(f"{to.name(self.result)} = {wrapped}")


class WrapArrays(Step):
    """Create a list of tensors from a list of arrays.

    Attributes
    ----------
    each
        What is done with each array; its values are the two lists.
    wrap
        The function that does so.
    """

    each: WrapArray
    wrap: Callable[..., Any]

    def print(self, to: Printer) -> None:
        each = self.each
        shared = None if each.shared is None else to.name(each.shared)
        wrapped = f"{to.bind('wrap', self.wrap)}(each, {shared})"
        to.add(f"{to.name(each.result)} = [{wrapped} for each in {to.name(each.array)}]")


class NoteViews(Step):
    """Record the view operator of a result.

    Attributes
    ----------
    op, note
        The operator, and the function that is called with its handle, the result, the tensor that
        it shares memory with, and the other arguments.
    """

    op: Operator
    note: Callable[..., None]
    result: Value
    shared: Value
    args: tuple[Value, ...]
    kwargs: tuple[Value, ...]

    def print(self, to: Printer) -> None:
        args = "".join([f"{to.name(each)}, " for each in self.args])
        kwargs = ", ".join([f"{each.name!r}: {to.name(each)}" for each in self.kwargs])
        note, op = to.bind("note_views", self.note), to.bind("operator", self.op.handle)
        result, shared = to.name(self.result), to.name(self.shared)
        to.add(f"{note}({op}, {result}, {shared}, ({args}), {{{kwargs}}})")


class WrapUnlessMasked(Step):
    """Create a tensor from an array; None for a masked result."""

    array: Value
    result: Value
    wrap: Callable[..., Any]

    def print(self, to: Printer) -> None:
        array, wrap = to.name(self.array), to.bind("wrap", self.wrap)
        to.add(f"{to.name(self.result)} = None if {array} is None else {wrap}({array}, None)")


class MarkInside(Step):
    """Mark the memory of new tensors as created inside a function transform.

    Attributes
    ----------
    is_list
        The one result is a list of tensors.
    """

    results: tuple[Value, ...]
    is_list: bool = False

    def print(self, to: Printer) -> None:
        if self.is_list:
            mark = to.bind("mark_inside", mark_inside)
            to.add(f"{mark}(*{to.name(self.results[0])})")
            return
        counter = to.bind("inside_counter", inside_counter)
        for result in self.results:  # what `mark_inside` does
            name = to.name(result)
            to.add(f"if {name} is not None and {name}._counter is None:")
            to.add(f"    {name}._counter = {counter}()")


def mark_inside(*tensors: TensorBase | None) -> None:
    """Mark the memory of new tensors as allocated inside a function transform. Tensors that share
    the version counter of another tensor are already marked.
    """
    for tensor in tensors:
        if tensor is not None and tensor._counter is None:
            tensor._counter = inside_counter()
