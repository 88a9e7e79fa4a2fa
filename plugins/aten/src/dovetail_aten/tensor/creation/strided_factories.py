"""More functions that make tensors: with strides of their own, in powers, of a buffer."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from dovetail_kernel import Layout, TensorBase, get_default_dtype, scalar_category, scalar_dtype

from ...backend.backend_select import check_layout
from ...backend.devices import as_device, ready_backend
from ...backend.pinned_memory import check_pinning
from ..data.dtype_arguments import as_dtype
from ..data.host_arrays import from_host, share_host
from ..storage_classes.file_memory import bytes_of_file
from .factory import Factory, finished, number_of
from .sizes import shape_of, whole

if TYPE_CHECKING:
    from dovetail_kernel import DeviceLike

    from ..tensor_class import Tensor

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
    """Return a tensor whose dimensions lie in memory in another order, with elements not set.

    Parameters
    ----------
    size
        The shape.
    physical_layout
        The dimensions in the order in which they lie in memory, outermost first, each once and
        counted from the front.
    dtype, layout, device, pin_memory, requires_grad
        As for `zeros`.

    Raises
    ------
    RuntimeError
        If `physical_layout` does not name every dimension once.
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
    """Return ``base ** x`` for `steps` numbers x at equal distances from `start` to `end`.

    Parameters
    ----------
    start, end
        Numbers, or tensors of one number.
    steps
        How many: the shape is ``(steps,)``.
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
        ``bytes``, ``bytearray``, ``memoryview``, ``array.array``, … One that cannot be written
        stays as it is: the first write to the tensor moves it to a copy.
    dtype
        How its bytes are read.
    count
        Number of elements. Default: -1, all behind `offset`.
    offset
        How many bytes to leave out first.
    requires_grad
        Whether gradients are computed for it.

    Raises
    ------
    ValueError
        If `buffer` has no memory to show, or not so much of it.
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
        Whether what is written goes to the file, which is made, or made longer, if need be.
        Default: False, it stays in this process.
    size
        Number of elements.
    dtype
        How its bytes are read. Default: the default dtype.
    layout, device, pin_memory
        Of the tensor: strided, on the cpu; pinned memory is a copy of the file.
    requires_grad
        Whether gradients are computed for it.

    Raises
    ------
    RuntimeError
        As `UntypedStorage.from_file`.
    NotImplementedError
        For another device.
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
