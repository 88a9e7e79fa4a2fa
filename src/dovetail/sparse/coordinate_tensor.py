"""`CoordinateTensor`: a tensor of which only some elements are stored, each with its coordinates.

It is a wrapper: a geometry without data, and two strided tensors, the indices and the values. What
can be done with it is a table of functions, by which its ``__torch_function__`` goes; each is
composed of operators on the two, so that gradients flow to the values, on any backend and inside
transforms. Everything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import Function, is_grad_enabled
from dovetail_dispatcher import overridden_name
from dovetail_kernel import DatalessArray, disabled_torch_function_impl, int64, wrap

__all__ = ["CoordinateTensor", "flat_places", "handles", "make", "refusal"]

HANDLERS: Final[dict[Any, Callable[..., Any]]] = {}
"""What the functions that a sparse tensor may be given to do with it; modules of this package fill
it.
"""


def handles(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that notes what `functions` do with sparse tensors."""

    def note(implementation: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            HANDLERS[function] = implementation
        return implementation

    return note


def refusal(name: str) -> NotImplementedError:
    """Return the error of what cannot be done with sparse tensors."""
    return NotImplementedError(
        f"{name}: not there for sparse tensors (layout=dovetail.sparse_coo). Use to_dense() for "
        "the strided tensor, or work on indices() and values() of the coalesced one."
    )


class CoordinateTensor(Tensor):
    """A sparse tensor in coordinate form; `make` makes one."""

    _coordinates: Tensor
    _elements: Tensor
    _unique: bool
    _leaf: bool

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return what the table has for `func`, or refuse."""
        implementation = HANDLERS.get(func)
        if implementation is None:
            raise refusal(overridden_name(func))
        return implementation(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Refuse: what reaches the backends was composed of strided tensors."""
        raise refusal(overridden_name(func))

    def _indices(self) -> Tensor:
        """Return the indices, ``(sparse dimensions, nnz)``, also while some occur twice."""
        return self._coordinates

    def _values(self) -> Tensor:
        """Return the values, ``(nnz, ...)``, without their graph, also while they are not added
        up.
        """
        return self._elements.detach()

    def _nnz(self) -> int:
        """Return how many elements are stored."""
        return int(self._coordinates.shape[1])


class SparseCooTensorWithDimsAndTensors(Function):
    """Puts a sparse tensor into the graph of its values, for functions of users that get it."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, indices: Tensor, size: tuple[int, ...], unique: bool
    ) -> CoordinateTensor:
        ctx.indices, ctx.size = indices, size
        return _wrapper(indices, values, size, unique)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return values_at(grads[0], ctx.indices, ctx.size), None, None, None


def make(
    indices: Tensor, values: Tensor, size: Sequence[int], *, unique: bool = False
) -> CoordinateTensor:
    """Return the sparse tensor of `indices`, ``(sparse dimensions, nnz)``, and `values`, ``(nnz,
    ...)``, which are kept as they are.

    Parameters
    ----------
    unique
        Whether the indices are sorted, and none occurs twice.
    """
    if not is_grad_enabled():
        values = values.detach()
    if values.requires_grad and values._backend.is_device:
        made: CoordinateTensor = SparseCooTensorWithDimsAndTensors.apply(
            values, indices, tuple(size), unique
        )
        return made
    return _wrapper(indices, values, tuple(size), unique)


def _wrapper(
    indices: Tensor, values: Tensor, size: tuple[int, ...], unique: bool
) -> CoordinateTensor:
    array = DatalessArray(
        size,
        values.array.dtype,
        (0,) * len(size),
        device_index=values.device.index,
        why=str(refusal(f"reading a sparse tensor of shape {list(size)}")),
    )
    made: Any = wrap(array, values._backend, CoordinateTensor)
    made._coordinates, made._elements = indices, values
    made._unique, made._leaf = unique, False
    return made  # type: ignore[no-any-return]


def flat_places(indices: Tensor, size: Sequence[int]) -> Tensor:
    """Return the places of `indices` in a contiguous tensor of shape `size`, ``(nnz,)``."""
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
    grad = grad.coalesce()
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
    *("is_sparse_csr", "is_quantized", "is_mkldnn", "_backward_hooks", "_base"),
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
        HANDLERS[function] = _of_values(function) if name in _PLACE else _as_it_is(function)


def _as_it_is(function: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: disabled_torch_function_impl(function, (), args, kwargs)


def _of_values(function: Any) -> Callable[..., Any]:
    return lambda tensor, *args, **kwargs: function(tensor._elements, *args, **kwargs)


_note_attributes()
