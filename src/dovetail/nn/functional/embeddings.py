"""Look-ups of rows by index, with PyTorch's signatures."""

from __future__ import annotations

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.front_end import functions
from dovetail_autograd import no_grad
from dovetail_dispatcher import overridable


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
        Index of a row that gets no gradient; may be negative.
    max_norm, norm_type : optional
        Selected rows whose norm exceeds ``max_norm`` are first scaled down to it, in ``weight``
        itself; ``norm_type`` is the order of the norm, by default 2.
    scale_grad_by_freq : bool, default False
        Divide the gradient of a row by the number of occurrences of its index in ``input``.
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
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError(
                f"Padding_idx must be within num_embeddings, but got {padding_idx} for {rows} rows."
            )
        if padding_idx < 0:
            padding_idx += rows
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return aten.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@no_grad()
def _renormalize(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale rows of ``weight`` that are picked and longer than ``max_norm`` down to it; to
    derivatives of either mode, ``weight`` was so from the start.
    """
    from dovetail_autograd.forward_ad import with_primal  # few tables need it

    with_primal(functions.embedding_renorm_, weight.detach(), input, max_norm, norm_type)


@overridable
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return the sum, the mean or the maximum of the rows of ``weight`` in each bag of indices.

    Parameters
    ----------
    input : Tensor
        Indices: ``(B, n)``, B bags of n rows each; or ``(N)``, split into bags by ``offsets``.
    weight : Tensor
        ``(num_embeddings, embedding_dim)``, of floating-point numbers.
    offsets : Tensor, optional
        ``(B)``: start of each bag in a vector ``input``; the first is 0. An empty bag gives zeros.
    max_norm : float, optional
        Selected rows with a greater norm are first scaled down to it, in ``weight`` itself.
    norm_type : float, default 2
        The order of the norm for ``max_norm``.
    scale_grad_by_freq : bool, default False
        Divide the gradient of a row by the number of occurrences of its index in ``input``. Not for
        ``"max"``.
    mode : str, default "mean"
        ``"sum"``, ``"mean"`` or ``"max"``.
    sparse : bool, default False
        Accepted and ignored: the gradient of ``weight`` is dense. Not for ``"max"``.
    per_sample_weights : Tensor, optional
        Factors of the rows, of the shape of ``input``. Only for ``"sum"``.
    include_last_offset : bool, default False
        Whether ``offsets`` has an additional element, the end of the last bag.
    padding_idx : int, optional
        Index of a row that is excluded from all bags and gets no gradient; may be negative.

    Returns
    -------
    Tensor
        ``(B, embedding_dim)``

    Raises
    ------
    ValueError
        For an unknown mode, for incompatible shapes, and for options that the mode does not
        support.
    RuntimeError
        For offsets and indices out of range, including ``padding_idx``.
    NotImplementedError
        For ``per_sample_weights`` with another mode than ``"sum"``.
    """
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, "
            f"then it must have the same shape as the input ({list(input.shape)})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        width = input.size(1)
        offsets = aten.arange(input.size(0), dtype=input.dtype, device=input.device) * width
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None. Say where bags begin.")
        if offsets.dim() != 1:
            raise ValueError(
                f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}"
            )
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}. Flatten "
            "it."
        )
    number = _mode(mode, scale_grad_by_freq, sparse, per_sample_weights)
    rows = weight.size(0)
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but "
            f"got {padding_idx}"
        )
    padding = -1 if padding_idx is None else padding_idx % rows
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return functions._embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        number,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding,
    )[0]


def _mode(
    mode: str, scale_grad_by_freq: bool, sparse: bool, per_sample_weights: Tensor | None
) -> int:
    """Return the number of a mode, after checking that it has the options that are asked for."""
    modes = {"sum": 0, "mean": 1, "max": 2}
    if mode not in modes:
        raise ValueError(f"mode has to be one of sum, mean or max, but is {mode!r}.")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Use mode='sum'."
        )
    return modes[mode]
