"""Look-ups of rows by index, with PyTorch's signatures."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_dispatcher import overridable

__all__ = [
    "embedding",
]


@overridable
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of ``weight``.

    Parameters
    ----------
    input : Tensor
        Indices: an integer tensor of any shape ``(*)``.
    weight : Tensor
        ``(num_embeddings, embedding_dim)``.
    padding_idx : int, optional
        This row gets no gradient; may be negative.
    max_norm, norm_type : optional
        Renormalising rows in place is not supported.
    scale_grad_by_freq : bool, default False
        Divide a row's gradient by how often its index occurs in ``input``.
    sparse : bool, default False
        Whether the gradient of ``weight`` should be sparse.

    Returns
    -------
    Tensor
        ``(*, embedding_dim)``

    Raises
    ------
    AssertionError
        If ``padding_idx`` is out of range.
    NotImplementedError
        If ``max_norm`` is given.
    """
    if max_norm is not None:
        raise NotImplementedError(
            "embedding with max_norm is not supported. Renormalise weight.data yourself before "
            "the call."
        )
    rows = weight.size(0)
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -rows <= padding_idx < rows:
            raise AssertionError(
                f"Padding_idx must be within num_embeddings, but got {padding_idx} for {rows} rows."
            )
        if padding_idx < 0:
            padding_idx += rows
    return aten.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)
