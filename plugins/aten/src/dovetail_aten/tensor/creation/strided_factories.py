"""More functions that make tensors: with strides of their own, in powers, of a buffer."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from dovetail_kernel import Layout, TensorBase, get_default_dtype, scalar_category, scalar_dtype

from ...backend.backend_select import check_layout
from ...backend.devices import as_device, ready_backend
from ...backend.pinned_memory import check_pinning
from ...typing import Tensor
from ..data.dtype_arguments import as_dtype
from ..data.host_arrays import from_host, share_host
from ..storage_classes.file_memory import bytes_of_file
from .factory import Factory, finished, number_of
from .sizes import shape_of, whole

if TYPE_CHECKING:
    from dovetail_kernel import DeviceLike

_empty_permuted = Factory("empty_permuted")
_logspace = Factory("logspace")


@_empty_permuted.called_by
def empty_permuted(
    size: object,
    physical_layout: object,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return an uninitialized tensor with a given order of dimensions in memory.

    Parameters
    ----------
    size
        The shape.
    physical_layout
        The dimensions in memory order, outermost first, each once and non-negative.
    dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    RuntimeError
        If `physical_layout` does not contain every dimension once.
    """
    shape = shape_of("empty_permuted", (size,), None)
    order = shape_of("empty_permuted", (physical_layout,), None)
    return _empty_permuted((shape, order), dtype, layout, device, pin_memory, requires_grad, None)


@_logspace.called_by
def logspace(
    start: object,
    end: object,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return ``base ** x`` for `steps` evenly spaced numbers x from `start` to `end`.

    Parameters
    ----------
    start, end
        Numbers, or tensors of one number.
    steps
        Number of values.
    base
        Default: 10.
    out, dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    RuntimeError
        For a negative number of steps, or tensors with dimensions.
    """
    steps = whole("logspace", "steps", steps)
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, but got {steps}")
    for name, bound in (("start", start), ("end", end)):
        if isinstance(bound, TensorBase) and bound.ndim:
            raise RuntimeError(
                "logspace only supports 0-dimensional start and end tensors, but got "
                f"{name} with {bound.ndim} dimension(s). Take an element."
            )
    first, last = number_of(start, "logspace", "start"), number_of(end, "logspace", "end")
    if dtype is None and out is None:
        dtype = scalar_dtype(max(2, scalar_category(first), scalar_category(last)))
    leading = (first, last, steps, float(base))
    return _logspace(leading, dtype, layout, device, pin_memory, requires_grad, out)


def frombuffer(
    buffer: Any, *, dtype: object, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Return a vector that shares the memory of an object with Python's buffer protocol.

    Parameters
    ----------
    buffer
        ``bytes``, ``bytearray``, ``memoryview``, ``array.array``, … A read-only buffer is not
        modified: the first write to the tensor moves it to a copy.
    dtype
        Dtype of the elements.
    count
        Number of elements. Default: -1: all after `offset`.
    offset
        Number of bytes to skip.
    requires_grad
        Whether the tensor requires grad.

    Raises
    ------
    ValueError
        If `buffer` is empty or too small.
    """
    wanted: Any = as_dtype(dtype, "frombuffer")
    try:
        memory = memoryview(buffer).cast("B")
    except TypeError as error:
        raise ValueError(
            "object does not implement Python buffer protocol. Give bytes, a bytearray or an array."
        ) from error
    length, size, count = memory.nbytes, wanted.itemsize, index(count)
    if not length or not count:
        raise ValueError(
            f"both buffer length ({length}) and count ({count}) must not be 0. Use empty(0)."
        )
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length} bytes) after offset ({offset} bytes) must be a multiple of "
            f"element size ({size}). Give count."
        )
    count = (length - offset) // size if count < 0 else count
    if offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes). Ask for fewer elements."
        )
    arrays = ready_backend("cpu").arrays
    part = memory[offset : offset + count * size]
    made: Any = share_host(arrays.asarray(part).view(arrays.native_dtypes[wanted]))
    return finished(made, requires_grad, None)


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: object = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a vector on the cpu whose memory is the beginning of a file.

    Parameters
    ----------
    filename
        The path of the file.
    shared
        Whether writes go to the file, which is created or extended if necessary. Default: False:
        writes stay in this process.
    size
        Number of elements.
    dtype
        Dtype of the elements. Default: the default dtype.
    layout, device, pin_memory
        Must be strided and cpu; pinned memory is a copy of the file.
    requires_grad
        Whether the tensor requires grad.

    Raises
    ------
    RuntimeError
        As `UntypedStorage.from_file`.
    NotImplementedError
        For any other device.
    """
    place = as_device("cpu" if device is None else device)
    if place.type != "cpu":
        raise NotImplementedError(
            f"aten::from_file: files are memory of the cpu, not of {place}. Call from_file without "
            "device, then to()."
        )
    if layout is not None:
        check_layout("from_file", layout)
    check_pinning(pin_memory)
    wanted: Any = get_default_dtype() if dtype is None else as_dtype(dtype, "from_file")
    arrays = ready_backend("cpu").arrays
    memory = bytes_of_file(filename, bool(shared), (size or 0) * wanted.itemsize)
    made: Any = from_host(memory.view(arrays.native_dtypes[wanted]))
    if pin_memory:
        made = made.pin_memory()
    return finished(made, requires_grad, None)
