"""Creation of sparse tensors in coordinate form."""

from __future__ import annotations

from math import prod
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Layout, Size, TensorBase, dtype, int64, sparse_coo

from . import compressed  # noqa: F401 - with the others, it says what can be done
from .arithmetic import zeros_like
from .conversions import in_layout, requires_grad_, unflattened
from .coordinate_tensor import CoordinateTensor, handles, make, refusal

_tensor: Any = Tensor


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """Return a sparse tensor in coordinate form: stored elements with their indices, and zeros
    elsewhere.

    Parameters
    ----------
    indices
        Of shape ``(sparse dimensions, nnz)``: an integer tensor, or data for one. Or only the size,
        for a tensor without stored elements.
    values
        Of shape ``(nnz, ...)``; dimensions after the first are dense. Values at the same index are
        summed. Gradients flow to the values.
    size
        The shape. Default: the smallest shape that contains all indices.
    dtype, device
        Default: those of `values`.
    pin_memory
        Must not be True.
    requires_grad : bool, default False
        Whether the tensor is a leaf that requires grad; the gradient is sparse too.
    check_invariants
        Accepted and ignored: the indices are always checked.
    is_coalesced
        True declares that the indices are sorted and unique. Default: unknown.

    Returns
    -------
    Tensor
        With ``layout`` `sparse_coo`. It supports products with strided matrices, sums, arithmetic
        of sparse tensors, selection and conversions; other functions raise an error that names
        ``to_dense()``.

    Raises
    ------
    RuntimeError
        For indices out of range, if the numbers of indices and values differ, for a size of the
        wrong length, or if `is_coalesced` is wrong.
    """
    if values is None and size is None:
        return _empty(indices, dtype=dtype, device=device, requires_grad=requires_grad)
    if pin_memory:
        raise RuntimeError("sparse_coo_tensor(): memory is not pinned here. Leave pin_memory out.")
    values = aten.as_tensor(values, dtype=dtype, device=device)
    indices = aten.as_tensor(indices, device=values.device).detach().to(int64)
    if values.ndim == 0:
        values = values.reshape(1).expand(indices.shape[-1])
    if indices.ndim != 2:
        raise RuntimeError(
            f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}. Give a matrix with "
            "a column for each value."
        )
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, "
            f"nnz from values: {values.shape[0]}"
        )
    sparse, dense = indices.shape[0], tuple(values.shape[1:])
    largest = [-1] * sparse
    if indices.numel():
        smallest = indices.amin(1).tolist()
        largest = indices.amax(1).tolist()
        if min(smallest) < 0:
            raise RuntimeError(
                f"found negative index {min(smallest)} for dim {smallest.index(min(smallest))}"
            )
    if size is None:
        size = (*[each + 1 for each in largest], *dense)
    size = tuple(size)
    if len(size) != sparse + len(dense):
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: "
            f"len(size) = {len(size)}, sparse_dim = {sparse}, dense_dim = {len(dense)}"
        )
    if size[sparse:] != dense:
        raise RuntimeError(
            f"values has incorrect size, expected {[values.shape[0], *size[sparse:]]}, got "
            f"{list(values.shape)}"
        )
    for dim, (length, last) in enumerate(zip(size, largest, strict=False)):
        if last >= length:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {length} but found "
                f"index {last}"
            )
    made = make(indices, values, size, unique=indices.shape[1] < 2)
    if is_coalesced:
        made._coalesced_(True)
    return requires_grad_(made.detach()) if requires_grad else made


@handles(_tensor.resize_as_)
def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Give a tensor that stores nothing the shape of another one."""
    if self.shape != the_template.shape:
        if self._nnz():
            raise refusal("resize_as_() of a sparse tensor with elements")
        made = zeros_like(the_template, dtype=self.dtype, device=self.device)
        self.array, self._coordinates = made.array, made._coordinates
        self._elements = made._elements
    return self


@handles(_tensor.new)
def _new(self: CoordinateTensor, *args: Any, device: Any = None) -> Tensor:
    """Return a sparse tensor of the same dtype by indices, values and a size, or only by a size."""
    place = self.device if device is None else device
    options: dict[str, Any] = {"dtype": self.dtype, "device": place}
    if args and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args, **options)
    is_one = len(args) == 1 and not isinstance(args[0], int)
    return sparse_coo_tensor((args[0] if is_one else args) or (0,), **options)


def _empty(size: Any, *, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    if isinstance(size, TensorBase) or not all([isinstance(each, int) for each in size]):
        raise TypeError(
            "sparse_coo_tensor(): argument 'values' (position 2) is missing. Give indices and "
            "values, or a size alone."
        )
    values = aten.empty(0, dtype=dtype, device=device)
    indices = aten.empty((len(size), 0), dtype=int64, device=values.device)
    made = make(indices, values, tuple(size))
    return requires_grad_(made) if requires_grad else made


def dense_to_sparse(
    self: Tensor, *args: Any, layout: Any = None, dense_dim: int | None = None, **kwargs: Any
) -> Any:
    """Return the nonzero elements of a strided tensor, with their indices."""
    if kwargs.get("blocksize"):
        raise NotImplementedError("to_sparse(): there are no layouts of blocks. Leave it out.")
    count = args[0] if args else kwargs.get("sparse_dim", kwargs.get("sparseDims"))
    if dense_dim is not None:
        count = self.ndim - dense_dim
    count = self.ndim if count is None else int(count)
    if not 0 <= count <= self.ndim or (count == 0 and self.ndim):
        raise RuntimeError(
            f"sparse_dim must be in [1, {self.ndim}], the number of dimensions, but got {count}."
        )
    sizes = tuple(self.shape)
    flat = self.reshape(prod(sizes[:count]), *sizes[count:])
    stored = flat.detach() != 0
    if flat.numel():
        stored = stored.reshape(flat.shape[0], -1).any(1)
    places = stored.nonzero()[:, 0] if flat.numel() else stored.new_zeros(0, dtype=int64)
    indices = unflattened(places, sizes[:count])
    made = make(indices, flat.index_select(0, places), sizes, unique=True)
    return made if layout is None else in_layout(made, layout)


@handles(_tensor.__reduce_ex__, compressed=True)
def _reduce(self: CoordinateTensor, protocol: Any) -> Any:
    values = self._elements.detach()
    parts = (self._coordinates, values, tuple(self.shape), self._unique)
    return rebuild_sparse_tensor, parts if self._form is sparse_coo else (*parts, self._form)


def rebuild_sparse_tensor(
    indices: Tensor, values: Tensor, size: Any, unique: bool, layout: Layout = sparse_coo
) -> CoordinateTensor:
    """Return a sparse tensor from its pickled parts."""
    return make(indices, values, size, unique=unique, layout=layout)


class TypedSparseTensor(type):
    """The class of ``sparse.FloatTensor`` and the other sparse tensor types: constructors of sparse
    tensors that support `isinstance`.
    """

    dtype: dtype
    where: str

    def __call__(cls, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        """Return the sparse tensor of indices, values and perhaps a size; of a size, an empty one;
        the parameters are those of `sparse_coo_tensor`.
        """
        place = device or cls.where
        if not args and not kwargs:
            args = (Size((0,)),)
        if args and isinstance(args[0], TensorBase):
            values = args[1] if len(args) > 1 else kwargs.get("values")
            if isinstance(values, TensorBase) and values.device.type != cls.where:
                raise RuntimeError(
                    f"legacy constructor expects device type: {cls.where} but device type: "
                    f"{values.device.type} was passed"
                )
            return sparse_coo_tensor(*args, **kwargs)
        if len(args) == 1 and not isinstance(args[0], int):
            args = tuple(args[0])
        return sparse_coo_tensor(args, dtype=cls.dtype, device=place)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, CoordinateTensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls.where
        )


def typed(name: str, kind: dtype, where: str = "cpu") -> TypedSparseTensor:
    """Return the constructor of sparse tensors of one dtype on one type of device."""
    documented = f"Constructor of sparse tensors of dtype {kind.name} on {where}."
    return TypedSparseTensor(name, (), {"dtype": kind, "where": where, "__doc__": documented})


rebuild = rebuild_sparse_tensor  # as pickles of 0.1.0 have it
