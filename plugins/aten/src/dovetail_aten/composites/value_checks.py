"""What composites ask of the values of tensors, at once or when they are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_aten._generated import functions as F
from dovetail_kernel import replace_array


def checked(tensor: Any, right: Callable[[], Any], error: Callable[[Any], Exception]) -> Any:
    """Return `tensor` if its elements are as they should be: what is to be computed with, since
    lazy values are looked at when the tensor that is returned is computed. On the meta device and
    inside of a transform there are no values.

    Parameters
    ----------
    right
        Returns a tensor of booleans that broadcasts with `tensor`.
    error
        Returns the error for the first invalid element: a function that can be pickled.
    """
    backend = tensor._backend
    if tensor.is_meta or not backend.is_device:
        return tensor
    if getattr(backend.arrays, "lazy", False):
        looked_at = F.clone(tensor)
        replace_array(looked_at, backend.arrays.checked(tensor.array, right().array, error))
        return looked_at
    expected = right()
    if not bool(F.all(expected)):
        wrong = F.logical_not(F.expand_as(expected, tensor))
        raise error(F.masked_select(tensor, wrong)[0])
    return tensor
