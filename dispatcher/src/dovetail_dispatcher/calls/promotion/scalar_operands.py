"""Python numbers where a schema has a Tensor: the tensors that stand for them, made once per
value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import (
    Backend,
    TensorBase,
    backend,
    dtype,
    plugin_manager,
    scalar_dtype,
    tensor_class,
)
from dovetail_kernel.signature import (
    NORMAL,
    PYTHON_BOOL,
    PYTHON_COMPLEX,
    PYTHON_FLOAT,
    PYTHON_INT,
    SCALAR_BITS,
    ZERO_DIM,
)
from dovetail_kernel.tensor import new_tensor

_CACHED_NUMBERS = 256

OF_NUMBER: Final = -1
"""The `output_nr` of a tensor that stands for a Python number: nothing made it, and hooks on saved
tensors do not see it.
"""


def category_of_number(bits: int) -> int:
    """Return the promotion category of the Python scalar bits of a call key; -1 if there are
    none.
    """
    if bits & PYTHON_COMPLEX:
        return 3
    if bits & PYTHON_FLOAT:
        return 2
    if bits & PYTHON_INT:
        return 1
    return 0 if bits & PYTHON_BOOL else -1


def number_tensor(number: complex, backend: Backend, wanted: dtype) -> TensorBase:
    """Return a new 0-d tensor of dtype `wanted` that holds `number`."""
    array = backend.arrays.scalar(number, backend.arrays.native_dtypes[wanted])
    tensor = new_tensor(array, backend.bit | wanted.bit | ZERO_DIM | NORMAL, tensor_class())
    tensor.output_nr = OF_NUMBER
    return tensor


def tensor_of_number(number: complex, tensors: Sequence[TensorBase]) -> TensorBase:
    """Return a 0-d tensor of the value `number`, for a call with `tensors`.

    Its dtype is that of the first tensor of the same or a higher category, else the default dtype
    of its category. A bool stays one: some operators refuse it.
    """
    category = category_of_number(SCALAR_BITS[type(number)])
    same = [t.dtype for t in tensors if t.dtype.category >= category > 0]
    wanted = same[0] if same else scalar_dtype(category)
    return number_tensor(number, tensors[0]._device_backend if tensors else _host(), wanted)


def _host() -> Backend:
    """Return the backend of numbers that stand beside no tensor, its plugin loaded."""
    host = backend("cpu")
    if not host.is_attached:
        plugin_manager.load_backend("cpu")
    return host


def number_cache(
    backend: Backend, wanted: dtype
) -> tuple[dict[Any, TensorBase], Callable[[Any], TensorBase]]:
    """Return a mapping of numbers to their 0-d tensors, and the function that fills it.

    A route owns one mapping, and knows the Python type of its numbers from the call key; so equal
    keys mean equal tensors, except for zeros (-0.0 == 0.0), which are kept by their text, and NaN,
    which is never kept.
    """
    known: dict[Any, TensorBase] = {}

    def remember(number: Any) -> TensorBase:
        key = number if number or isinstance(number, int) else str(number)
        found = known.get(key)
        if found is not None:
            return found
        tensor = number_tensor(number, backend, wanted)
        if number == number:
            if len(known) >= _CACHED_NUMBERS:
                known.clear()
            known[key] = tensor
        return tensor

    return known, remember
