"""Creation and properties of sparse matrices in compressed layouts."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.front_end import shown_plainly
from dovetail_dispatcher import ops
from dovetail_kernel import Layout, int32, int64, sparse_csc, sparse_csr

from . import matrix_products, pointwise  # noqa: F401 - they say what can be done
from .conversions import converted, requires_grad_
from .coordinate_tensor import (
    CoordinateTensor,
    coordinates_of,
    handles,
    make,
    pointers_and_indices,
    refusal,
    values_at,
)

_tensor: Any = Tensor
_SHOWN = shown_plainly(
    dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None
)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Layout,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Return a sparse matrix in a compressed layout.

    Parameters
    ----------
    compressed_indices
        Start of the elements of each row, ``(rows + 1,)``; in `sparse_csc`, of each column.
    plain_indices
        The column of each element, ``(nnz,)``; in `sparse_csc`, the row. No element occurs twice.
    values
        Of shape ``(nnz, ...)``; dimensions after the first are dense. Gradients flow to them.
    size
        The shape. Default: the smallest shape that contains all indices.
    dtype, device
        Default: those of `values`.
    layout
        `sparse_csr` or `sparse_csc`.
    pin_memory
        Must not be True.
    requires_grad : bool, default False
        Whether the tensor is a leaf that requires grad; the gradient has the same layout.
    check_invariants
        True also checks that indices are sorted within a row. Indices out of range always raise an
        error.

    Returns
    -------
    Tensor
        It supports products, arithmetic with numbers and tensors of the same layout, and
        conversions; other functions raise an error that names ``to_dense()``.

    Raises
    ------
    NotImplementedError
        For block layouts, and for batches of matrices.
    RuntimeError
        For indices that do not match `size` or the number of values.
    """
    if layout not in (sparse_csr, sparse_csc):
        raise refusal(f"layout={layout}")
    if pin_memory:
        raise RuntimeError("memory of sparse tensors is not pinned here. Leave pin_memory out.")
    values = aten.as_tensor(values, dtype=dtype, device=device)
    pointers, plain = (
        aten.as_tensor(each, device=values.device).detach()
        for each in (compressed_indices, plain_indices)
    )
    if pointers.ndim != 1 or plain.ndim != 1:
        raise refusal("a batch of compressed matrices")
    kind = int32 if pointers.dtype is int32 else int64
    pointers, plain = pointers.to(kind), plain.to(kind)
    by_row = layout is sparse_csr
    if size is None:
        other = int(plain.max()) + 1 if plain.numel() else 0
        lines = pointers.shape[0] - 1
        size = (lines, other) if by_row else (other, lines)
        size = (*size, *values.shape[1:])
    size = tuple(size)
    lines, others = size[:2] if by_row else size[1::-1]
    _check(pointers, plain, values, size, (lines, others), by_row)
    turned = {"out_int32": kind is int32, "transpose": not by_row}
    indices = ops.aten._convert_indices_from_csr_to_coo(pointers, plain, **turned)
    places = indices[0 if by_row else 1].to(int64) * others + plain
    is_sorted = bool((places[1:] > places[:-1]).all())
    if not is_sorted and (check_invariants or places.unique().numel() < places.numel()):
        raise RuntimeError(
            f"{_plain(by_row)} must be sorted and distinct within each {_line(by_row)}: "
            "make a tensor with sparse_coo_tensor, which sorts and adds up, and convert it."
        )
    made = make(indices, values, size, unique=is_sorted, layout=layout)
    return requires_grad_(made.detach()) if requires_grad else made


def _check(
    pointers: Tensor, plain: Tensor, values: Tensor, size: Any, counts: Any, by_row: bool
) -> None:
    lines, others = counts
    name, nnz = _pointers(by_row), plain.shape[0]
    wrong = ""
    if len(size) != 1 + values.ndim or size[2:] != tuple(values.shape[1:]):
        wrong = f"values of shape {list(values.shape)} do not fit size {list(size)}"
    elif values.shape[0] != nnz:
        wrong = f"{nnz} {_plain(by_row)} for {values.shape[0]} values"
    elif pointers.shape[0] != lines + 1:
        wrong = f"{name} must have {lines + 1} elements, one more than {_line(by_row)}s"
    elif int(pointers[0]) != 0 or int(pointers[-1]) != nnz:
        wrong = f"{name} must begin with 0 and end with nnz, {nnz}"
    elif lines and int((pointers[1:] - pointers[:-1]).min()) < 0:
        wrong = f"{name} must not decrease"
    elif nnz and (int(plain.min()) < 0 or int(plain.max()) >= others):
        wrong = f"{_plain(by_row)} must lie in [0, {others})"
    if wrong:
        raise RuntimeError(f"sparse compressed tensor: {wrong}.")


def _pointers(by_row: bool) -> str:
    return "crow_indices" if by_row else "ccol_indices"


def _plain(by_row: bool) -> str:
    return "col_indices" if by_row else "row_indices"


def _line(by_row: bool) -> str:
    return "row" if by_row else "column"


@_SHOWN
def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any
) -> Tensor:
    """Return a sparse matrix in compressed rows; `sparse_compressed_tensor` has the options."""
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, layout=sparse_csr, **options
    )


@_SHOWN
def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any
) -> Tensor:
    """Return a sparse matrix in compressed columns; `sparse_compressed_tensor` has the options."""
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, layout=sparse_csc, **options
    )


# -- what they say of themselves -------------------------------------------------------------------


def _note_parts() -> None:
    for name in ("crow_indices", "col_indices", "ccol_indices", "row_indices"):
        handles(getattr(_tensor, name), compressed=True)(_part_named(name))


def _part_named(name: str) -> Any:
    def part(self: CoordinateTensor) -> Tensor:
        try:
            return pointers_and_indices(self)[name]
        except KeyError:
            form = "row" if name in ("crow_indices", "col_indices") else "column"
            raise RuntimeError(
                f"{name} expected sparse {form} compressed tensor layout but got {self._form}"
            ) from None

    return part


_note_parts()


@handles(_tensor.values, compressed=True, coordinates=False)
def _values(self: CoordinateTensor) -> Tensor:
    return self._elements


@handles(
    *(_tensor.indices, _tensor.coalesce, _tensor.is_coalesced), compressed=True, coordinates=False
)
def _not_coordinates(self: CoordinateTensor) -> Any:
    raise RuntimeError(
        f"expected sparse coordinate tensor layout but got {self._form}. Use to_sparse()."
    )


@handles(_tensor.is_contiguous, compressed=True, coordinates=False)
def _is_contiguous(self: CoordinateTensor, memory_format: Any = None) -> Any:
    raise RuntimeError("Sparse CSR tensors do not have is_contiguous")


@handles(_tensor.__getitem__, aten.select, compressed=True, coordinates=False)
def _getitem(self: CoordinateTensor, *keys: Any) -> Any:
    """Return a row, a column or an element; parts with strides are refused."""
    key = keys[0] if len(keys) == 1 else (*[slice(None)] * keys[0], keys[1])
    given = key if isinstance(key, tuple) else (key,)
    if any([isinstance(each, slice) and each != slice(None) for each in given]):
        raise RuntimeError(
            "Sparse CSR tensors do not have strides: no slices. Use to_sparse() before."
        )
    return coordinates_of(self)[key]


# -- values at the indices of others ---------------------------------------------------------------


@handles(_tensor.sparse_mask, compressed=True)
def sparse_mask(self: Any, mask: Any) -> CoordinateTensor:
    """Return the elements of a tensor, strided or sparse, that `mask` stores.

    Raises
    ------
    RuntimeError
        If the shapes differ.
    """
    if not isinstance(mask, CoordinateTensor):
        raise TypeError("sparse_mask(): argument 'mask' must be sparse. Use x * mask.")
    size = tuple(self.shape)
    if size != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(size)} but "
            f"mask has size {list(mask.shape)}"
        )
    if mask._form is not sparse_csc and mask._form is not sparse_csr:
        mask = mask.coalesce()
    values = values_at(self, mask._coordinates, size)
    return make(mask._coordinates, values, size, unique=mask._unique, layout=mask._form)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """Return a sparse matrix with given diagonals.

    Parameters
    ----------
    diagonals
        The diagonals, one per row; element ``j`` is in column ``j`` of the matrix.
    offsets
        The diagonal of each row: 0 is the main one, positive ones are above it.
    shape
        Of the matrix.
    layout
        `sparse_coo`, the default, `sparse_csr` or `sparse_csc`.

    Raises
    ------
    RuntimeError
        If an offset occurs twice, or if the numbers of offsets and diagonals differ.
    """
    diagonals, offsets = aten.atleast_2d(diagonals), aten.atleast_1d(offsets).to(int64)
    if diagonals.shape[0] != offsets.shape[0] or diagonals.ndim != 2 or offsets.ndim != 1:
        raise RuntimeError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
            f"({offsets.numel()})"
        )
    if offsets.unique().numel() != offsets.numel():
        raise RuntimeError("Offset tensor contains duplicate values")
    height, width = shape
    columns = aten.arange(min(diagonals.shape[1], width), device=diagonals.device)
    rows = columns - offsets.to(diagonals.device).unsqueeze(1)
    inside = (rows >= 0) & (rows < height)
    where = aten.stack([rows[inside], columns.expand_as(rows)[inside]])
    made = make(where, diagonals[:, : columns.numel()][inside], (height, width))
    return made if layout is None else made.to_sparse(layout=layout)


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` at the elements that `input` stores.

    Parameters
    ----------
    input
        A sparse matrix in compressed rows.
    mat1, mat2
        Strided matrices whose product has the shape of `input`.
    beta, alpha
        Factors. Default: 1.

    Raises
    ------
    NotImplementedError
        For any other layout.
    RuntimeError
        For incompatible shapes or dtypes.
    """
    if not isinstance(input, CoordinateTensor) or input._form is not sparse_csr:
        raise NotImplementedError(
            f"sampled_addmm: Expected self to have sparse csr layout, but got {input.layout}. Use "
            "to_sparse_csr()."
        )
    shapes = [tuple(each.shape) for each in (input, mat1, mat2)]
    fits = mat1.ndim == mat2.ndim == 2 and shapes[1][1] == shapes[2][0]
    if not fits or shapes[0] != (shapes[1][0], shapes[2][1]):
        raise RuntimeError(
            f"sampled_addmm: shapes {shapes[1]} and {shapes[2]} do not multiply to {shapes[0]}"
        )
    if not input.dtype == mat1.dtype == mat2.dtype:
        raise RuntimeError("sampled_addmm: the operands must have one dtype. Use .to(dtype).")
    rows, columns = input._coordinates.unbind(0)
    products = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    return converted(input, input._elements * beta + products * alpha)
