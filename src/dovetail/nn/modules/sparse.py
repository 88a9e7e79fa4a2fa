"""Embeddings: rows of a table, looked up by index."""

from __future__ import annotations

from typing import Any, Self

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import Device, restoring
from dovetail_kernel import dtype as DType

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


def padding_row(name: str, padding_idx: int | None, rows: int) -> int | None:
    """Return the index of the padding row, counted from the first; `name` is for the error."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(
            f"{name} must be within num_embeddings, but got {padding_idx} for {rows} rows."
        )
    return padding_idx % rows


def shape_of_table(embeddings: Tensor) -> tuple[int, ...]:
    """Return the shape of a table that has been trained already."""
    if embeddings.dim() != 2:
        raise AssertionError(
            f"Embeddings parameter is expected to be 2-dimensional, but got {embeddings.dim()}."
        )
    return embeddings.shape


class _Table(Module):
    """The rows of an embedding."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Parameter

    def _set_weight(
        self,
        weight: Tensor | None,
        device: Device | str | None,
        dtype: DType | None,
        requires_grad: bool = True,
    ) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            empty = aten.empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(empty, requires_grad)
            self.reset_parameters()
        else:
            if tuple(weight.shape) != shape:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim"
                )
            self.weight = Parameter(weight, requires_grad)

    @restoring()
    def reset_parameters(self) -> None:
        """Draw new rows from the standard normal distribution; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """A table of ``num_embeddings`` learned rows of ``embedding_dim`` values.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The shape of ``weight``.
    padding_idx : int, optional
        Index of a row that is initially zero and gets no gradient; may be negative.
    max_norm, norm_type : optional
        Selected rows whose norm exceeds ``max_norm`` are scaled down to it, in the table itself.
    scale_grad_by_freq, sparse : bool, default False
        As in `functional.embedding`.
    device, dtype : optional
        Of the parameter.

    Raises
    ------
    AssertionError
        If ``padding_idx`` is out of range.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_row("Padding_idx", padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._set_weight(_weight, device, dtype, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Create an embedding whose table is the 2-dimensional tensor ``embeddings``; ``freeze``
        excludes it from training.
        """
        rows, columns = shape_of_table(embeddings)
        return cls(
            rows,
            columns,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += ", scale_grad_by_freq=True"
        if self.sparse:
            text += ", sparse=True"
        return text


class EmbeddingBag(_Table):
    """A table of ``num_embeddings`` learned rows of ``embedding_dim`` values; returns the sum, the
    mean or the maximum of the rows in each bag of indices.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The shape of ``weight``.
    max_norm, norm_type : optional
        Selected rows whose norm exceeds ``max_norm`` are scaled down to it, in the table itself.
    scale_grad_by_freq, sparse : bool, default False
        As in `functional.embedding_bag`.
    mode : {'mean', 'sum', 'max'}
        How the rows of a bag are combined.
    include_last_offset : bool, default False
        Whether offsets end with the number of indices.
    padding_idx : int, optional
        Index of a row that is initially zero, is excluded from all bags and gets no gradient; may
        be negative.
    device, dtype : optional
        Of the parameter.

    Raises
    ------
    AssertionError
        If ``padding_idx`` is out of range.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = padding_row("padding_idx", padding_idx, num_embeddings)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._set_weight(_weight, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Create an embedding bag whose table is the 2-dimensional tensor ``embeddings``;
        ``freeze`` excludes it from training.
        """
        rows, columns = shape_of_table(embeddings)
        made = cls(
            rows,
            columns,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad_(not freeze)
        return made

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Return ``(bags, embedding_dim)``.

        Parameters
        ----------
        input : Tensor
            Indices ``(bags, length)``, or ``(N)`` with offsets.
        offsets : Tensor, optional
            Start of each bag in ``input``.
        per_sample_weights : Tensor, optional
            Factors of the rows, of the shape of ``input``; only for sums.
        """
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text
