"""The sparse gradient of a table of embeddings."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher import NoArrayKernelError
from dovetail_kernel import TensorBase, int64

from ...sockets import SPARSE
from ...typing import Namespace, TensorLike


def embedding_sparse_backward(
    k: Namespace,
    grad: TensorLike,
    indices: TensorLike,
    rows: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Any:
    """Return the gradient of a table with `rows` rows, of which it stores those that were picked;
    a strided one inside transforms.
    """
    if scale_grad_by_freq:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients. Leave one "
            "of them out."
        )
    if not isinstance(grad, TensorBase):
        raise NoArrayKernelError("a sparse gradient is no array")
    if SPARSE.plug is None or not grad._backend.is_device:
        return k.embedding_dense_backward(grad, indices, rows, padding_idx, False)
    places, size = k.reshape(indices, (-1,)), (rows, grad.shape[-1])
    values = k.reshape(grad, (places.shape[0], size[1]))
    if padding_idx != -1:
        kept = k.view(k.nonzero(k.ne(places, padding_idx)), (-1,))
        places, values = k.index_select(places, 0, kept), k.index_select(values, 0, kept)
    return SPARSE.plug().make(k.unsqueeze(k.to(places, dtype=int64), 0), values, size)
