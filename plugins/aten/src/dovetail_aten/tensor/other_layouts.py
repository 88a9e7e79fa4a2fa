"""What is asked of tensors that are not strided: the methods of `Tensor` for it. The answers are
those of a strided tensor; sparse tensors are made, and give their own, above.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail_kernel import sparse_csc, sparse_csr

from ..calling.signatures import shown_as
from ..sockets import SPARSE
from .legacy_methods import LegacyMethods


class TensorLayouts(LegacyMethods):
    """The part of Tensor that is about other layouts, and the dtype of complex halves."""

    __slots__ = ()

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
        """Return the tensor itself, which is dense; converted, if a dtype is given."""
        dense: Any = self
        return dense if dtype is None else dense.to(dtype)

    def dense_dim(self) -> int:
        """Return the number of dimensions that are stored whole: all."""
        return self.ndim

    def sparse_dim(self) -> int:
        """Return the number of dimensions of which some indices are stored: none."""
        return 0

    def coalesce(self) -> Any:
        """Refuse: it adds up what a sparse tensor has at the same index. Always raises
        RuntimeError, as do the other questions about indices and values.
        """
        raise _not_sparse("coalesce", "coordinate")

    def is_coalesced(self) -> NoReturn:
        """Refuse: it is asked of a sparse tensor."""
        raise _not_sparse("is_coalesced", "coordinate")

    def indices(self) -> Any:
        """Refuse: a strided tensor stores no indices. `nonzero` finds those of its elements."""
        raise _not_sparse("indices", "coordinate")

    def values(self) -> Any:
        """Refuse: a strided tensor stores no values apart from the others."""
        raise _not_sparse("values", "")

    def crow_indices(self) -> NoReturn:
        """Refuse: a strided tensor stores no indices."""
        raise _not_sparse("crow_indices", "row compressed")

    def col_indices(self) -> NoReturn:
        """Refuse: a strided tensor stores no indices."""
        raise _not_sparse("col_indices", "row compressed")

    def ccol_indices(self) -> NoReturn:
        """Refuse: a strided tensor stores no indices."""
        raise _not_sparse("ccol_indices", "column compressed")

    def row_indices(self) -> NoReturn:
        """Refuse: a strided tensor stores no indices."""
        raise _not_sparse("row_indices", "column compressed")

    @shown_as(lambda self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None: None)
    def to_sparse(self, *args: Any, **kwargs: Any) -> Any:
        """Return the elements that are not zero, with their indices, as a sparse tensor.

        Parameters
        ----------
        sparse_dim : int
            How many leading dimensions are sparse; the others are stored whole. Default: all.
        layout
            ``sparse_coo``, the default, ``sparse_csr`` or ``sparse_csc``.

        Raises
        ------
        NotImplementedError
            For any other layout, and where there is no front end that has sparse tensors.
        """
        return _front_end()(self, *args, **kwargs)

    def to_sparse_coo(self) -> Any:
        """Return the elements that are not zero, with their indices, as a sparse tensor."""
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim: int | None = None) -> Any:
        """Return the elements of a matrix that are not zero, in compressed rows.

        Parameters
        ----------
        dense_dim
            How many trailing dimensions are stored whole. Default: 0.
        """
        return self.to_sparse(layout=sparse_csr, dense_dim=dense_dim)

    def to_sparse_csc(self, dense_dim: int | None = None) -> Any:
        """Return the elements of a matrix that are not zero, in compressed columns.

        Parameters
        ----------
        dense_dim
            How many trailing dimensions are stored whole. Default: 0.
        """
        return self.to_sparse(layout=sparse_csc, dense_dim=dense_dim)

    def to_sparse_bsr(self, blocksize: Any, dense_dim: int | None = None) -> NoReturn:
        """Refuse: there are no layouts of blocks."""
        raise _no_sparse("to_sparse_bsr")

    def to_sparse_bsc(self, blocksize: object, dense_dim: int | None = None) -> NoReturn:
        """Refuse: there are no layouts of blocks."""
        raise _no_sparse("to_sparse_bsc")

    def sparse_mask(self, mask: object) -> Any:
        """Return the elements that a sparse tensor of the same shape stores, as it stores them."""
        raise TypeError(
            f"sparse_mask(): argument 'mask' must be sparse, not {type(mask).__name__}. Use "
            "x * mask, or mask.to_sparse()."
        )

    def chalf(self, memory_format: Any = None) -> NoReturn:
        """Refuse: there is no dtype of complex halves. Always raises NotImplementedError."""
        raise NotImplementedError(
            "chalf(): there is no dtype complex32. Use complex64, the narrowest of complex "
            "numbers: x.cfloat()."
        )


def _not_sparse(method: str, form: str) -> RuntimeError:
    wanted = f"sparse {form} tensor" if form else "sparse tensor"
    return RuntimeError(
        f"{method} expected {wanted} layout but got Strided. x.nonzero(as_tuple=True) gives the "
        "indices of what is not zero, and x[...] of them the values; x.to_sparse() both."
    )


def _no_sparse(method: str) -> NotImplementedError:
    return NotImplementedError(
        f"{method}(): there are no layouts of blocks. Use x.to_sparse_csr(), x.to_sparse(), or "
        "keep the tensor as it is, strided."
    )


def _front_end() -> Any:
    if SPARSE.plug is None:
        raise NotImplementedError(
            "to_sparse(): sparse tensors belong to the front end. Import dovetail."
        )
    return SPARSE.plug().dense_to_sparse
