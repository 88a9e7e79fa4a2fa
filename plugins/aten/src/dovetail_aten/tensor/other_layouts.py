"""What is asked of tensors that are not strided: the methods of `Tensor` for it. The answers are
those of a strided tensor, and what would make a sparse one says that there are none.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._generated.tensor_methods import TensorMethods

__all__ = ["TensorLayouts"]


class TensorLayouts(TensorMethods):
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

    def coalesce(self) -> NoReturn:
        """Refuse: it adds up what a sparse tensor has at the same index.

        Raises
        ------
        RuntimeError
            Always, as do the other questions about indices and values.
        """
        raise _not_sparse("coalesce", "coordinate")

    def is_coalesced(self) -> NoReturn:
        """Refuse: it is asked of a sparse tensor."""
        raise _not_sparse("is_coalesced", "coordinate")

    def indices(self) -> NoReturn:
        """Refuse: a strided tensor stores no indices. `nonzero` finds those of its elements."""
        raise _not_sparse("indices", "coordinate")

    def values(self) -> NoReturn:
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

    def to_sparse(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: there are no sparse layouts.

        Raises
        ------
        NotImplementedError
            Always, as does every other conversion to such a layout.
        """
        raise _no_sparse("to_sparse")

    def to_sparse_coo(self) -> NoReturn:
        """Refuse: there are no sparse layouts."""
        raise _no_sparse("to_sparse_coo")

    def to_sparse_csr(self, dense_dim: int | None = None) -> NoReturn:
        """Refuse: there are no sparse layouts."""
        raise _no_sparse("to_sparse_csr")

    def to_sparse_csc(self, dense_dim: int | None = None) -> NoReturn:
        """Refuse: there are no sparse layouts."""
        raise _no_sparse("to_sparse_csc")

    def to_sparse_bsr(self, blocksize: Any, dense_dim: int | None = None) -> NoReturn:
        """Refuse: there are no sparse layouts."""
        raise _no_sparse("to_sparse_bsr")

    def to_sparse_bsc(self, blocksize: Any, dense_dim: int | None = None) -> NoReturn:
        """Refuse: there are no sparse layouts."""
        raise _no_sparse("to_sparse_bsc")

    def sparse_mask(self, mask: Any) -> NoReturn:
        """Refuse: there are no sparse layouts, of which `mask` would be one."""
        raise _no_sparse("sparse_mask")

    def chalf(self, memory_format: Any = None) -> NoReturn:
        """Refuse: there is no dtype of complex halves.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "chalf(): there is no dtype complex32. Use complex64, the narrowest of complex "
            "numbers: x.cfloat()."
        )


def _not_sparse(method: str, form: str) -> RuntimeError:
    wanted = f"sparse {form} tensor" if form else "sparse tensor"
    return RuntimeError(
        f"{method} expected {wanted} layout but got Strided. All tensors are strided here: "
        "x.nonzero(as_tuple=True) gives the indices of what is not zero, and x[...] of them the "
        "values."
    )


def _no_sparse(method: str) -> NotImplementedError:
    return NotImplementedError(
        f"{method}(): there are no sparse layouts. Keep the tensor as it is, strided; or keep "
        "indices and values, x.nonzero(as_tuple=True) and x[...] of them, in two tensors."
    )
