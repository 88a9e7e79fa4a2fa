"""What routes through array kernels call to write: into arguments, into ``out=``, between backends;
and what is checked before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from dovetail_kernel import (
    TensorBase,
    backend_of_array,
    backend_of_signature,
    dispatch_state,
    dtype,
    dtype_of_signature,
    is_writable,
    make_writable,
    replace_array,
    warn_user,
)
from dovetail_kernel.signature import NORMAL
from dovetail_kernel.tensor import WritableCounter, has_own_storage, holders

from ..array_errors import SEVERAL_ELEMENTS, broadcast_shape, shape_of_output_error
from ..promotion.key_dtypes import check_writable_as
from .immutable_array_writes import replace

_SHARED_ELEMENTS = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to "
    "a single memory location. Please clone() the tensor before performing the operation."
)


def write_into(destination: TensorBase, array: Any, computed: dtype | None = None) -> None:
    """Write `array` into the memory of `destination`.

    Parameters
    ----------
    computed
        The dtype of the computation; None if the result is known to be castable.

    Raises
    ------
    RuntimeError
        If the result cannot be cast, has another shape, or the destination's elements share memory.
    """
    if computed is not None:
        check_writable_as(computed, destination.dtype)
    shape = getattr(array, "shape", ())
    if shape and shape != destination.array.shape:
        own, shape = tuple(destination.array.shape), tuple(shape)
        if broadcast_shape([own, shape]) != own:
            raise shape_of_output_error(own, broadcast_shape([own, shape]) or shape)
    _write(destination, array)


def _write(destination: TensorBase, array: Any) -> None:
    """Write `array`, which fits, into the memory of `destination`."""
    arrays = backend_of_signature(destination._signature).arrays
    if not arrays.mutable_arrays:
        replace(destination, arrays.overwritten(destination.array, array))
        return
    try:
        arrays.copy_into(destination.array, array)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        if make_writable(destination):
            _write(destination, array)
            return
        storage = destination._storage
        if storage is not None and arrays.write_once(destination.array, array, storage.array):
            return
        raise RuntimeError(SEVERAL_ELEMENTS) from error


def write_out(out: TensorBase, array: Any, refuses: Sequence[str] = (), *reads: Any) -> None:
    """Write `array` into the tensor passed as ``out=``, which is resized if its shape differs.

    Parameters
    ----------
    refuses
        Words of `Operator.refuses`: which tensors are refused.
    reads
        The operands that `out` is compared with.

    Raises
    ------
    RuntimeError
        If `out` is refused, the result cannot be cast to its dtype, or `out` is an inference tensor
        outside inference mode.
    """
    array, _ = _fitted(out, array, refuses, reads)
    _write(out, array)


def write_outs(count: int, refuses: Sequence[str], *values: Any) -> None:
    """Write arrays into the tensors passed as ``out=``: into all of them, or into none if there is
    an error.

    Parameters
    ----------
    count
        Number of the tensors.
    refuses
        As of `write_out`.
    values
        The tensors, as many arrays, and the operands that the tensors are compared with.

    Raises
    ------
    RuntimeError
        As `write_out`.
    """
    outs, results, reads = values[:count], values[count : 2 * count], values[2 * count :]
    changed: list[tuple[TensorBase, _Memory | None]] = []
    arrays = []
    try:
        for out, result in zip(outs, results, strict=True):
            array, former = _fitted(out, result, refuses, reads)
            changed.append((out, former))
            arrays.append(array)
            if _may_refuse(out):
                _write(out, out.array.copy())  # raises, or changes nothing
    except BaseException:
        for out, former in reversed(changed):
            if former is not None:
                replace_array(out, former[0])
                out._storage = former[1]
        raise
    for out, array in zip(outs, arrays, strict=True):
        _write(out, array)


def _may_refuse(out: TensorBase) -> bool:
    """Return whether a write may fail: some elements share memory, or the memory is read-only."""
    return not is_writable(out.array) or _shares_within(out)


def _shares_within(out: TensorBase) -> bool:
    """Return whether elements of an expanded tensor share memory."""
    sizes = zip(out.shape, out.stride(), strict=True)
    return any([stride == 0 and size > 1 for size, stride in sizes])


def _fitted(
    out: TensorBase, array: Any, refuses: Sequence[str], reads: Sequence[Any]
) -> tuple[Any, _Memory | None]:
    """Give `out` the shape of a result; return the result on its backend, and the memory that `out`
    had if it has another now.
    """
    if not out._signature & NORMAL:
        check_inference_write(out)
    arrays = out._backend.arrays
    if not isinstance(array, arrays.array_types):
        computed = backend_of_array(array)
        if computed is not None and computed is not out._backend:
            raise RuntimeError(
                f"Expected out tensor to be on device {computed.name}, where the result is, but it "
                f"is on {out.device}. Move the arguments to one device: x.to({str(out.device)!r})."
            )
        array = arrays.asarray(array)
    elif (index := arrays.device_index(array)) != (own := arrays.device_index(out.array)):
        name = out._backend.name
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{name}:{index} and {name}:{own}, where out= is! Give an out= on {name}:{index}."
        )
    computed_in = dtype_of_signature(arrays.dtype_bits[array.dtype])
    if "other_out" in refuses and computed_in is not out.dtype:
        raise RuntimeError(
            f"Expected out tensor to have dtype {computed_in.scalar_name.lower()}, but got "
            f"{out.dtype.scalar_name.lower()} instead. Give out= a tensor of dtype {computed_in}."
        )
    if "any_out" not in refuses:
        error = TypeError if "typed_out" in refuses else RuntimeError
        check_writable_as(computed_in, out.dtype, error)
    # Most tensors share no memory, which costs least to see.
    has_storage = out._storage is not None
    if any([has_storage or read is out or read.__class__ in (list, tuple) for read in reads]):
        _check_out(out, tuple(array.shape), refuses, reads)
    if tuple(array.shape) != tuple(out.array.shape):
        if out.numel():
            warn_user(
                "An output with one or more elements was resized since it had shape "
                f"{list(out.shape)}, which does not "
                f"match the required output shape {list(array.shape)}. Give out= an empty tensor, "
                "or one of that shape."
            )
        former = resize_out(out, tuple(array.shape))
        _turn_like(out, array)
        return array, former
    return array, None


def _turn_like(out: TensorBase, array: Any) -> None:
    """Let the memory of a resized tensor of ``out=``, which is in C order, be in that of a result:
    matrices of LAPACK lie column by column.
    """
    arrays, storage = out._backend.arrays, out._storage
    steps = getattr(array, "strides", None)
    if steps is None or arrays.is_contiguous(array) or not arrays.mutable_arrays or 0 in steps:
        return
    order = sorted(range(array.ndim), key=lambda dim: -abs(steps[dim]))
    places = sorted(range(array.ndim), key=order.__getitem__)
    replace_array(out, out.array.reshape([array.shape[dim] for dim in order]).transpose(places))
    out._storage = storage


_Memory: TypeAlias = tuple[Any, Any]
"""The array and the storage of a tensor."""


def resize_out(out: TensorBase, shape: tuple[int, ...]) -> _Memory:
    """Resize a tensor of ``out=``: in its own memory, from its first element on, if the memory
    suffices, else in new memory. Return its former state.

    Raises
    ------
    RuntimeError
        If the memory is too small and shared with other tensors, which would not see the result.
    """
    arrays = out._backend.arrays
    is_nothing = out._storage is None and 0 in out.array.shape
    resized = None if is_nothing else arrays.resized(out.array, shape)
    if resized is not None:
        former = out.array, out._storage
        replace_array(out, resized)
        out._storage = former[1]
        return former
    if not has_own_storage(out):
        raise RuntimeError(
            f"Trying to resize storage that is not resizable: out= of shape {list(out.shape)} is a "
            f"view, or has views, and its memory has no room for a result of shape {list(shape)}. "
            "Give out= an empty tensor, or one of that shape."
        )
    if not arrays.mutable_arrays:
        return _in_new_memory(out, shape)
    memory = [arrays.storage_of(out.array)]
    has_storage = out._storage is not None
    if holders(memory, 0) > 1 + has_storage or not arrays.owns_memory(memory[0]):
        raise RuntimeError(
            f"Trying to resize storage that is not resizable: out= of shape {list(out.shape)} "
            "shares its memory, which has no room for a result of shape "
            f"{list(shape)}, with an array (of from_numpy, numpy() or DLPack) that would not see "
            "the result. Give out= a tensor of that shape, or a clone."
        )
    return _in_new_memory(out, shape)


def _in_new_memory(out: TensorBase, shape: tuple[int, ...]) -> _Memory:
    former = out.array, out._storage
    replace_array(out, _empty_beside(out, shape))
    return former


def _empty_beside(out: TensorBase, shape: tuple[int, ...]) -> Any:
    """Return a new array of another shape on the device of `out`."""
    arrays, array = out._backend.arrays, out.array
    index = arrays.device_index(array)
    if not index:
        return arrays.empty(shape, array.dtype)
    with arrays.on_device(index):
        return arrays.empty(shape, array.dtype)


def copy_between_backends(destination: TensorBase, source: TensorBase) -> None:
    """Write what `source` holds into `destination`, which is on another backend, by way of host
    memory. Raises NotImplementedError if `source` has no data.
    """
    own, other = destination._backend.arrays, source._backend.arrays
    if destination.is_meta:
        write_into(destination, own.asarray(source.array))
        return
    array, native = source.array, other.native_dtypes[destination.dtype]
    write_into(
        destination,
        own.asarray(other.to_host(array if array.dtype == native else other.cast(array, native))),
    )


def check_overlap(written: TensorBase, read: TensorBase) -> None:
    """Refuse to write to memory that another argument partly covers.

    Raises
    ------
    RuntimeError
        If the two share some elements, but not all of them in the same order.
    """
    a, b = written.array, read.array
    if a is b or (
        a.shape == b.shape
        and written.data_ptr() == read.data_ptr()
        and written.stride() == read.stride()
    ):
        return
    if written._backend.arrays.may_overlap(a, b):
        raise RuntimeError(_SHARED_ELEMENTS)


def _check_out(
    out: TensorBase, shape: tuple[int, ...], refuses: Sequence[str], reads: Sequence[Any]
) -> None:
    """Refuse a tensor of ``out=`` that shares memory with what the operator reads.

    Parameters
    ----------
    shape
        The shape of the result.
    refuses
        Words of `Operator.refuses`.
    reads
        The operands: tensors, lists of them, and others.

    Raises
    ------
    RuntimeError
        If elements of `out` share memory in a way that the operator refuses.
    """
    apart = "shared_out" in refuses
    if apart and _shares_within(out):
        raise RuntimeError(SEVERAL_ELEMENTS)
    if not apart and "partial_out" not in refuses:
        return
    storage, own = out._storage, out.array
    apart = apart or shape != tuple(own.shape)  # the result lies in other places of the memory
    for read in reads:
        for each in read if isinstance(read, list | tuple) else (read,):
            if each is out:
                if apart and 0 not in own.shape:
                    raise RuntimeError(_SHARED_ELEMENTS)
            elif storage is not None and getattr(each, "_storage", None) is storage:
                if not apart:
                    check_overlap(out, each)
                elif out._backend.arrays.may_overlap(own, each.array):
                    raise RuntimeError(_SHARED_ELEMENTS)


def check_inference_write(tensor: TensorBase) -> None:
    """Raise an error for an in-place write to an inference tensor outside inference mode, unless it
    was detached there.

    Raises
    ------
    RuntimeError
        If `tensor` is not what ``detach()`` or ``.data`` gave.
    """
    if dispatch_state().inference or tensor._counter.__class__ is WritableCounter:
        return
    raise RuntimeError(
        "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a "
        "clone to get a normal "
        "tensor before doing inplace update."
    )
