"""`hash_tensor`: a number for the bits of all elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.backends import wrap_dims
from dovetail_dispatcher import overridable
from dovetail_kernel import float64, int64, uint8, uint64


@overridable
def hash_tensor(
    input: Tensor, dim: int | Sequence[int] = (), *, keepdim: bool = False, mode: int = 0
) -> Tensor:
    """Return the exclusive or of the bits of all elements, each converted to 64 bits.

    Parameters
    ----------
    input
        The tensor; floating-point elements are converted to float64, others to int64.
    dim
        The dimensions that go. Default: all.
    keepdim
        Whether they stay, with size 1.
    mode
        The only one is 0.

    Returns
    -------
    Tensor
        Of dtype uint64.

    Raises
    ------
    RuntimeError
        For another mode, or for an empty tensor without `dim`.
    IndexError
        If there is no such dimension, or it has size 0.
    NotImplementedError
        For complex numbers, and unsigned integers of more than 8 bits.

    Examples
    --------
    >>> import dovetail
    >>> dovetail.hash_tensor(dovetail.arange(6).reshape(2, 3), 0)
    tensor([3, 5, 7], dtype=dovetail.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}. It is 0.")
    own = input.dtype
    if own.is_complex or (own.is_signed is False and own.itemsize > uint8.itemsize):
        raise NotImplementedError(
            f"\"xor_sum_cpu\" not implemented for '{own.scalar_name}'. Convert the tensor."
        )
    dims = [dim] if isinstance(dim, int) else list(dim)
    if empty := [each for each in dims if input.dim() and input.size(each) == 0]:
        raise IndexError(
            f"hash_tensor: Expected reduction dim {empty[0]} to have non-zero size. Choose another "
            "dimension."
        )
    if not dims and input.numel() == 0:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify "
            "the reduction dim with the 'dim' argument."
        )
    gone = sorted(wrap_dims(dims, input.dim()))
    kept = [1 if d in gone else size for d, size in enumerate(input.shape)]
    stays = [d for d in range(input.dim()) if d not in gone]
    bits = input.detach().to(float64 if own.is_floating_point else int64).view(int64)
    bits = bits.permute([*stays, *gone])
    bits = bits.reshape([*[kept[d] for d in stays], prod([input.size(d) for d in gone])])
    while bits.size(-1) > 1:
        half = bits.size(-1) // 2
        folded = aten.bitwise_xor(bits[..., :half], bits[..., half : 2 * half])
        bits = aten.cat([folded, bits[..., 2 * half :]], -1)
    shape = kept if keepdim else [kept[d] for d in stays]
    result: Tensor = bits.reshape(shape).contiguous().view(uint64)
    return result
