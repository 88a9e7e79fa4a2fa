"""`CoordinateTensor`: a tensor that stores only some elements, with their coordinates.

It is a wrapper: a geometry without data, and two strided tensors, the indices and the values. Its
``__torch_function__`` uses a table of supported functions. Each is composed of operators on the two
tensors, so that gradients flow to the values, on any backend and inside transforms. Other functions
raise an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import Function, is_grad_enabled
from dovetail_dispatcher import ops, overridden_name
from dovetail_kernel import (
    DatalessArray,
    Layout,
    disabled_torch_function_impl,
    int32,
    int64,
    sparse_coo,
    sparse_csr,
    wrap,
)

HANDLERS: Final[dict[Any, Callable[..., Any]]] = {}
"""What the functions that a sparse tensor may be given to do with it; the modules of what has
sparse tensors fill it.
"""

COMPRESSED: Final[dict[Any, Callable[..., Any]]] = {}
"""The same for tensors in compressed layouts."""


def handles(
    *functions: Any, compressed: bool = False, coordinates: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers the implementation of `functions` for sparse tensors.

    Parameters
    ----------
    compressed, coordinates
        Whether it supports the compressed layouts and `sparse_coo`.
    """

    def note(implementation: Callable[..., Any]) -> Callable[..., Any]:
        tables = [HANDLERS] * coordinates + [COMPRESSED] * compressed
        for table in tables:
            table.update(dict.fromkeys(functions, implementation))
        return implementation

    return note


def refusal(name: str) -> NotImplementedError:
    """Return the error for functions that do not support sparse tensors."""
    return NotImplementedError(
        f"{name}: not there for sparse tensors of this layout. Use to_dense() for the strided "
        "tensor, to_sparse() for coordinates, or work on the indices and the values()."
    )


def _written(made: Any, out: Tensor, name: str) -> Tensor:
    """Return `out`, a strided tensor, after writing a strided result into it."""
    if isinstance(made, CoordinateTensor):
        raise refusal(f"out= of {name}")
    if made.requires_grad or out.requires_grad:
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad. Write the result with copy_()."
        )
    if made.dtype is not out.dtype:
        raise RuntimeError(
            f"{name}(): the result is of {made.dtype}, and out of {out.dtype}. Pass one that fits."
        )
    if made.shape != out.shape:
        out.resize_(made.shape)
    return out.copy_(made)


class CoordinateTensor(Tensor):
    """A sparse tensor in coordinate form, created by `make`."""

    _coordinates: Tensor
    _elements: Tensor
    _unique: bool
    _leaf: bool
    _form: Layout
    _table = HANDLERS

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return what the table has for `func`, or for the function of an operator, which autograd
        calls; else refuse.
        """
        implementation = cls._table.get(func)
        if implementation is None:
            name = getattr(func, "_opname", "")
            known = [getattr(place, name, None) for place in (aten, Tensor)]
            implementation = cls._table.get(known[0]) or cls._table.get(known[1])
            if implementation is None:
                raise refusal(overridden_name(func))
            if name == "add" and isinstance(args[0], CoordinateTensor):
                args = (args[1], args[0], *args[2:])  # of gradients what came last, or is strided
        given = dict(kwargs or {})
        if given.get("out") is None or isinstance(given["out"], CoordinateTensor):
            return implementation(*args, **given)
        out = given.pop("out")
        return _written(implementation(*args, **given), out, overridden_name(func))

    __torch_dispatch__ = __torch_function__

    @property
    def layout(self) -> Layout:
        """Memory layout."""
        return self._form

    @property
    def is_sparse(self) -> bool:
        """Whether the tensor is in coordinate form."""
        return self._form is sparse_coo

    def _indices(self) -> Tensor:
        """Return the indices, ``(sparse dimensions, nnz)``, also while some occur twice."""
        return self._coordinates

    def _values(self) -> Tensor:
        """Return the values, ``(nnz, ...)``, without their graph, also while they are not added
        up.
        """
        return self._elements.detach()

    def _with_values(self, values: Tensor) -> CoordinateTensor:
        """Return the tensor that has other values, of the same shape, at the same indices."""
        size = tuple(self.shape)
        return make(self._coordinates, values, size, unique=self._unique, layout=self._form)

    def _coalesced_(self, coalesced: bool) -> CoordinateTensor:
        """Note whether the indices are sorted and none occurs twice. Raises RuntimeError if they
        are not, where `coalesced` says so.
        """
        places = flat_places(self._coordinates, tuple(self.shape))
        if coalesced and not bool((places[1:] > places[:-1]).all()):
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )
        self._unique = coalesced
        return self

    def _nnz(self) -> int:
        """Return how many elements are stored."""
        return int(self._coordinates.shape[1])


class CompressedTensor(CoordinateTensor):
    """A sparse matrix in a compressed layout. Its elements are in the order of the layout without
    duplicates; ``_unique`` tells whether they are also sorted within each row or column.
    """

    _table = COMPRESSED


class SparseCooTensorWithDimsAndTensors(Function):
    """Puts a sparse tensor into the graph of its values, for functions of users that get it."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        indices: Tensor,
        size: tuple[int, ...],
        unique: bool,
        layout: Layout,
    ) -> CoordinateTensor:
        ctx.indices, ctx.size = indices, size
        return _wrapper(indices, values, size, unique, layout)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return values_at(grads[0], ctx.indices, ctx.size), None, None, None, None


def make(
    indices: Tensor,
    values: Tensor,
    size: Sequence[int],
    *,
    unique: bool = False,
    layout: Layout = sparse_coo,
) -> CoordinateTensor:
    """Return the sparse tensor of `indices`, ``(sparse dimensions, nnz)``, and `values`, ``(nnz,
    ...)``, which are stored unchanged.

    Parameters
    ----------
    unique
        Whether the indices are sorted and unique.
    layout
        `sparse_coo`, or a compressed layout in whose order the indices are.
    """
    if not is_grad_enabled():
        values = values.detach()
    if values.requires_grad and values._backend.is_device:
        made: CoordinateTensor = SparseCooTensorWithDimsAndTensors.apply(
            values, indices, tuple(size), unique, layout
        )
        return made
    return _wrapper(indices, values, tuple(size), unique, layout)


def coordinates_of(tensor: CoordinateTensor) -> CoordinateTensor:
    """Return a sparse tensor of any layout in coordinate form."""
    if tensor._form is sparse_coo:
        return tensor
    unique = tensor._unique and tensor._form is sparse_csr
    return make(tensor._coordinates, tensor._elements, tuple(tensor.shape), unique=unique)


def _wrapper(
    indices: Tensor, values: Tensor, size: tuple[int, ...], unique: bool, layout: Layout
) -> CoordinateTensor:
    array = DatalessArray(
        size,
        values.array.dtype,
        (0,) * len(size),
        device_index=values.device.index,
        why=str(refusal(f"reading a sparse tensor of shape {list(size)}")),
    )
    kind = CoordinateTensor if layout is sparse_coo else CompressedTensor
    made: Any = wrap(array, values._backend, kind)
    made._coordinates, made._elements, made._form = indices, values, layout
    made._unique, made._leaf = unique or indices.shape[1] < 2, False
    return made  # type: ignore[no-any-return]


def pointers_and_indices(tensor: CoordinateTensor) -> dict[str, Tensor]:
    """Return the indices of a tensor in a compressed layout by the names of their methods."""
    if tensor._form is sparse_coo:
        return {}
    rows, columns = tensor._coordinates.unbind(0)
    by_row = tensor._form is sparse_csr
    line, plain = (rows, columns) if by_row else (columns, rows)
    lines, is_short = tensor.shape[0 if by_row else 1], line.dtype is int32
    pointers = ops.aten._convert_indices_from_coo_to_csr(line, lines, out_int32=is_short)
    if by_row:
        return {"crow_indices": pointers, "col_indices": plain}
    return {"ccol_indices": pointers, "row_indices": plain}


def flat_places(indices: Tensor, size: Sequence[int]) -> Tensor:
    """Return the flat positions ``(nnz,)`` of `indices` in a contiguous tensor of shape `size`."""
    place = aten.zeros(indices.shape[1], dtype=int64, device=indices.device)
    for row, length in zip(indices.unbind(0), size, strict=False):
        place = place * length + row
    return place


def values_at(grad: Any, indices: Tensor, size: Sequence[int]) -> Any:
    """Return the elements at `indices` of a gradient of shape `size`, strided or sparse."""
    sparse = indices.shape[0]
    places = flat_places(indices, size)
    if not isinstance(grad, CoordinateTensor):
        return grad.reshape(prod(size[:sparse]), *size[sparse:]).index_select(0, places)
    if grad._coordinates is indices:
        return grad._elements
    if grad._coordinates.shape[0] != sparse:
        return values_at(grad.to_dense(), indices, size)
    grad = coordinates_of(grad).coalesce()
    known = flat_places(grad._coordinates, size)
    if known.numel() == 0:
        return (
            aten.zeros_like(places, dtype=grad.dtype)
            .reshape(-1, *[1] * (len(size) - sparse))
            .expand(-1, *size[sparse:])
        )
    at = aten.searchsorted(known, places).clamp(max=known.numel() - 1)
    found = (known.index_select(0, at) == places).reshape(-1, *[1] * (len(size) - sparse))
    return grad._elements.index_select(0, at) * found


_GEOMETRY: Final = (
    *("shape", "ndim", "dtype", "itemsize", "_version", "output_nr", "retains_grad", "is_nested"),
    *("is_quantized", "is_mkldnn", "_backward_hooks", "_base", "_post_accumulate_grad_hooks"),
    *("is_conj", "is_neg", "is_distributed", "is_ipu", "is_maia", "is_mps", "is_mtia", "is_vulkan"),
    *("is_xla", "is_xpu", "is_pinned", "name", "volatile", "grad_dtype", "storage_offset"),
    *("dim", "ndimension", "size", "numel", "nelement", "element_size", "is_complex", "__len__"),
    *("is_floating_point", "is_signed", "is_inference", "is_same_size", "stride", "_is_view"),
)
"""Attributes that the wrapper answers itself."""

_PLACE: Final = ("device", "is_cpu", "is_cuda", "is_meta", "get_device")
"""Attributes that it answers as its values do."""


def _note_attributes() -> None:
    plain: Any = Tensor
    for name in (*_GEOMETRY, *_PLACE):
        attribute = getattr(plain, name, None)
        if attribute is None or not (callable(attribute) or isinstance(attribute, property)):
            continue
        function = attribute.__get__ if isinstance(attribute, property) else attribute
        made = _of_values(function) if name in _PLACE else _as_it_is(function)
        handles(function, compressed=True)(made)


def _as_it_is(function: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: disabled_torch_function_impl(function, (), args, kwargs)


def _of_values(function: Any) -> Callable[..., Any]:
    return lambda tensor, *args, **kwargs: function(tensor._elements, *args, **kwargs)


_note_attributes()
