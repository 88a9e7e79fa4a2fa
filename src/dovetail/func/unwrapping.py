"""`debug_unwrap`: shows what a transform works on."""

from __future__ import annotations

from dovetail_aten import Tensor
from dovetail_kernel import wrapped_backend


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the tensor that a transform works on in place of `tensor`, for a debugger: a whole
    batch, or a primal.

    Parameters
    ----------
    tensor
        A tensor inside of a transform; any other is returned.
    recurse
        Whether to take off the wrappers of all transforms, and not of the innermost one alone.

    Returns
    -------
    Tensor
        The dimension of a batch comes first. `grad` wraps no tensors here. Computing with the
        result inside of the transform has undefined results.

    Raises
    ------
    TypeError
        If `tensor` is not a tensor.

    Examples
    --------
    >>> import dovetail
    >>> def shape_of_batch(x):
    ...     print(x.shape, dovetail.func.debug_unwrap(x).shape)
    ...     return x
    >>> _ = dovetail.func.vmap(shape_of_batch)(dovetail.ones(2, 3))
    dovetail.Size([3]) dovetail.Size([2, 3])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"debug_unwrap() expects a tensor, but got {type(tensor).__name__}.")
    while tensor._backend is wrapped_backend():
        tensor = tensor.array.physical
        if not recurse:
            break
    return tensor
