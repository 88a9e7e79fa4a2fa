"""Properties and conversions of sparse tensors."""

from __future__ import annotations

from copy import deepcopy
from math import prod
from typing import Any, NoReturn

import dovetail_aten as aten
from dovetail_aten import Tensor, get_printoptions
from dovetail_aten.printing import contents_text, with_suffixes
from dovetail_autograd import enable_grad, is_grad_enabled
from dovetail_autograd import grad as grad_of
from dovetail_kernel import (
    Layout,
    bump_version,
    can_cast,
    complex64,
    get_default_dtype,
    int64,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)
from dovetail_kernel import bool as bool_

from .coordinate_tensor import (
    CoordinateTensor,
    coordinates_of,
    flat_places,
    handles,
    make,
    pointers_and_indices,
    refusal,
)

_tensor: Any = Tensor


@handles(_tensor.is_sparse_csr.__get__, compressed=True)
def _is_sparse_csr(self: CoordinateTensor) -> bool:
    return self._form is sparse_csr


@handles(_tensor.sparse_dim, compressed=True)
def _sparse_dim(self: CoordinateTensor) -> int:
    return int(self._coordinates.shape[0])


@handles(_tensor.dense_dim, compressed=True)
def _dense_dim(self: CoordinateTensor) -> int:
    return self._elements.ndim - 1


@handles(_tensor.is_coalesced)
def _is_coalesced(self: CoordinateTensor) -> bool:
    return self._unique


@handles(_tensor.indices)
def _indices(self: CoordinateTensor) -> Tensor:
    if not self._unique:
        raise RuntimeError(
            "Cannot get indices on an uncoalesced tensor, please call .coalesce() first"
        )
    return self._coordinates


@handles(_tensor.values)
def _values(self: CoordinateTensor) -> Tensor:
    if not self._unique:
        raise RuntimeError(
            "Cannot get values on an uncoalesced tensor, please call .coalesce() first"
        )
    return self._elements


@handles(_tensor.coalesce)
def coalesce(self: CoordinateTensor) -> CoordinateTensor:
    """Return the tensor with sorted indices, the values at the same index added up."""
    if self._unique:
        return self
    sizes = tuple(self.shape)[: _sparse_dim(self)]
    places = flat_places(self._coordinates, sizes)
    kept, which = aten.unique(places, return_inverse=True)
    shape = (kept.numel(), *self._elements.shape[1:])
    values = self._elements.new_zeros(shape).index_add(0, which, self._elements)
    return make(unflattened(kept, sizes), values, self.shape, unique=True)


def unflattened(places: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Return the indices ``(len(sizes), nnz)`` of places in a contiguous tensor."""
    rows: list[Tensor] = []
    for length in reversed(sizes):
        rows.append(places % max(length, 1))
        places = aten.div(places, max(length, 1), rounding_mode="floor")
    return aten.stack(rows[::-1]) if rows else places.reshape(1, -1)[:0]


@handles(_tensor.to_dense, compressed=True)
def to_dense(self: CoordinateTensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """Return the strided tensor; the gradient of a value is that of its element."""
    if dtype is not None:
        raise RuntimeError(
            "dtype argument is not supported by sparse_to_dense. Convert before or after: "
            ".to(dtype)."
        )
    sparse = _sparse_dim(self)
    size = tuple(self.shape)
    places = flat_places(self._coordinates, size[:sparse])
    flat: Any = self._elements.new_zeros((prod(size[:sparse]), *size[sparse:]))
    return flat.index_add(0, places, self._elements).reshape(size)


@handles(_tensor.to_sparse, _tensor.to_sparse_coo, compressed=True)
def _to_sparse(self: CoordinateTensor, *args: Any, layout: Any = None, **kwargs: Any) -> Any:
    if kwargs:
        raise refusal(f"to_sparse({', '.join(kwargs)})")
    if args and args[0] != _sparse_dim(self):
        return self.to_dense().to_sparse(*args)
    return in_layout(self, sparse_coo if layout is None else layout)


@handles(_tensor.to_sparse_csr, compressed=True)
def _to_sparse_csr(self: CoordinateTensor, dense_dim: int | None = None) -> Any:
    return in_layout(self, sparse_csr)


@handles(_tensor.to_sparse_csc, compressed=True)
def _to_sparse_csc(self: CoordinateTensor, dense_dim: int | None = None) -> Any:
    return in_layout(self, sparse_csc)


def in_layout(self: CoordinateTensor, layout: Layout) -> CoordinateTensor:
    """Return a sparse tensor in another layout: `sparse_coo`, `sparse_csr` or `sparse_csc`.

    Raises
    ------
    NotImplementedError
        For layouts of blocks, and a compressed layout of anything but two sparse dimensions.
    """
    if self._form is layout:
        return self
    given = coordinates_of(self)
    if layout is sparse_coo:
        return given
    if layout not in (sparse_csr, sparse_csc) or _sparse_dim(self) != 2:
        raise refusal(f"layout={layout} of a tensor with {_sparse_dim(self)} sparse dimensions")
    size = tuple(self.shape)
    if layout is sparse_csr:
        given = coalesce(given)
        return make(given._coordinates, given._elements, size, unique=True, layout=layout)
    turned = (size[1], size[0], *size[2:])
    given = coalesce(make(given._coordinates.flip(0), given._elements, turned))
    return make(given._coordinates.flip(0), given._elements, size, unique=True, layout=layout)


def summed(self: CoordinateTensor) -> CoordinateTensor:
    """Return the tensor with values at the same index added up: those of compressed layouts are."""
    return coalesce(self) if self._form is sparse_coo else self


def converted(self: CoordinateTensor, values: Tensor) -> CoordinateTensor:
    """Return the tensor with other values at its indices, which follow them to their device."""
    indices = self._coordinates
    if values.device != indices.device:
        indices = indices.to(values.device)
    return make(indices, values, self.shape, unique=self._unique, layout=self._form)


def written(target: object, made: CoordinateTensor) -> Any:
    """Let a sparse tensor hold the indices and values of another one, in its own dtype."""
    if not isinstance(target, CoordinateTensor) or target._form is not made._form:
        raise RuntimeError(
            "Expected self.is_sparse() && result.is_sparse() to be true, but got false. Give out= "
            "a sparse tensor of the same layout."
        )
    if is_grad_enabled() and target.requires_grad and target.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. Take a "
            "new tensor."
        )
    if is_grad_enabled() and (target.requires_grad or made.requires_grad):
        raise refusal("a write that is recorded")
    if not can_cast(made.dtype, target.dtype):
        raise RuntimeError(
            f"result type {made.dtype.scalar_name} can't be cast to the desired output type "
            f"{target.dtype.scalar_name}. Convert the tensor first."
        )
    if tuple(made.shape) != tuple(target.shape):
        raise refusal(f"a result of shape {list(made.shape)} in a tensor of another shape")
    target._coordinates, target._unique = made._coordinates, made._unique
    target._elements = made._elements.detach().to(target.dtype)
    bump_version(target)
    return target


def _note_conversions() -> None:
    names = "to type_as float double half bfloat16 char byte short int long bool cfloat cdouble"
    for name in [*names.split(), "cpu", "cuda", "clone", "detach"]:
        function = getattr(_tensor, name)
        handles(function, compressed=True)(_by_values(function))


def _by_values(function: Any) -> Any:
    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self, CoordinateTensor):  # dense.to(sparse), whose dtype and device count
            return function(self, args[0]._elements, *args[1:], **kwargs)
        args = tuple([a._elements if isinstance(a, CoordinateTensor) else a for a in args])
        values = function(self._elements, *args, **kwargs)
        return self if values is self._elements else converted(self, values)

    return convert


_note_conversions()


@handles(_tensor.type)
def _type(self: CoordinateTensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    if dtype is None:
        package, _, name = self._elements.type().rpartition(".")
        return f"{package}.sparse.{name}"
    return converted(self, self._elements.type(dtype, *args, **kwargs))


@handles(_tensor.copy_)
def _copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(self, CoordinateTensor) or not isinstance(src, CoordinateTensor):
        raise refusal("copy_() between a sparse tensor and a strided one")
    if self.requires_grad or src.requires_grad:
        raise refusal("copy_() with a graph")
    if self.shape != src.shape:
        raise RuntimeError(
            f"copy_(): the sizes differ: {list(self.shape)} and {list(src.shape)}. Sparse tensors "
            "do not broadcast."
        )
    place, dtype = self._coordinates.device, self._elements.dtype
    self._coordinates = src._coordinates.to(place).clone()
    self._elements = src._elements.to(place, dtype).clone()
    self._unique = src._unique
    return self


@handles(_tensor.__deepcopy__, compressed=True)
def _deepcopy(self: CoordinateTensor, memo: dict[int, Any]) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    if self._grad_fn is not None and not self._leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. Use detach() or clone()."
        )
    made = converted(self, deepcopy(self._elements.detach(), memo))
    made._coordinates = deepcopy(self._coordinates, memo)
    if self._leaf:
        made.requires_grad_()
    memo[id(self)] = made
    return made


@handles(_tensor.__repr__, _tensor.__str__, compressed=True)
def _text(self: CoordinateTensor, *, tensor_contents: str | None = None) -> str:
    indices, values = self._coordinates.detach(), self._elements.detach()
    facts = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
    if self.device.type != "cpu":
        facts.insert(0, f"device='{self.device}'")
    if self.dtype not in (get_default_dtype(), int64, bool_, complex64):
        facts.append(f"dtype={self.dtype}")
    facts.append(f"layout={self._form}")
    if self.requires_grad:
        node = self.grad_fn
        facts.append("requires_grad=True" if node is None else f"grad_fn=<{node.name()}>")
    parts = {"indices": indices} if self._form is sparse_coo else pointers_and_indices(self)
    texts = [
        f"{name}=tensor({_contents(each, 15 + len(name))})"
        for name, each in {**parts, "values": values}.items()
    ]
    if self._form is sparse_coo:
        texts.append(facts.pop(0))
    text = "tensor(" + ",\n       ".join(texts)
    return with_suffixes(text, facts, 7, get_printoptions()["linewidth"])


def _contents(tensor: Tensor, indent: int) -> str:
    """Return the numbers of a part of a sparse tensor."""
    return contents_text(tensor, indent) if tensor.numel() else f"[], size={tuple(tensor.shape)}"


@handles(_tensor.is_contiguous)
def _is_contiguous(self: CoordinateTensor, memory_format: Any = None) -> bool:
    return False


@handles(_tensor.numpy, _tensor.__array__, compressed=True)
def _numpy(self: CoordinateTensor, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


@handles(_tensor.__format__, compressed=True)
def _format(self: CoordinateTensor, format_spec: str) -> str:
    return object.__format__(repr(self), format_spec)


# -- gradients ---------------------------------------------------------------------------------


@handles(_tensor.requires_grad.__get__, compressed=True)
def _requires_grad(self: CoordinateTensor) -> bool:
    return self._elements.requires_grad


@handles(_tensor.is_leaf.__get__, compressed=True)
def _is_leaf(self: CoordinateTensor) -> bool:
    return self._leaf or (self._elements.is_leaf and not self._elements.requires_grad)


@handles(_tensor.grad_fn.__get__, compressed=True)
def _grad_fn(self: CoordinateTensor) -> Any:
    return None if self._leaf else self._grad_fn


@handles(_tensor.requires_grad_, compressed=True)
@enable_grad()
def requires_grad_(self: CoordinateTensor, requires_grad: bool = True) -> CoordinateTensor:
    """Make values of their own that are a leaf; the gradient is sparse, at the same indices."""
    if requires_grad == self._elements.requires_grad:
        return self
    if not requires_grad and not self._leaf:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. Use detach()."
        )
    values: Any = self._elements.detach().requires_grad_(requires_grad)
    made = converted(self, values)
    self._elements, self._leaf = values, requires_grad
    self._signature, self._grad_fn, self.output_nr = made._signature, made._grad_fn, made.output_nr
    return self


@handles(_tensor.requires_grad.__set__, compressed=True)
def _set_requires_grad(self: CoordinateTensor, value: bool) -> None:
    requires_grad_(self, value)


@handles(_tensor.grad.__get__, _tensor._grad.__get__, compressed=True)
def _grad(self: CoordinateTensor) -> Any:
    return _with_values(self, self._elements.grad) if self._leaf else None


@handles(_tensor.grad.__set__, _tensor._grad.__set__, compressed=True)
def _set_grad(self: CoordinateTensor, value: Any) -> None:
    if value is None:
        self._elements.grad = None
        return
    if not isinstance(value, CoordinateTensor) or value._coordinates is not self._coordinates:
        raise refusal("setting the gradient of a sparse tensor to one with other indices")
    self._elements.grad = value._elements


def _with_values(self: CoordinateTensor, values: Any) -> Any:
    if values is None:
        return None
    return converted(self, values)


@handles(grad_of, compressed=True)
def _gradients(outputs: Any, inputs: Any, grad_outputs: Any = None, **options: Any) -> Any:
    given = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    if any([isinstance(each, CoordinateTensor) for each in _several(outputs)]):
        raise refusal("autograd.grad() of a sparse output")
    if any([isinstance(each, CoordinateTensor) for each in _several(grad_outputs)]):
        raise refusal("autograd.grad() with a sparse gradient to begin with")
    values = [each._elements if isinstance(each, CoordinateTensor) else each for each in given]
    found = grad_of(outputs, values, grad_outputs, **options)
    return tuple(
        [
            _with_values(each, value) if isinstance(each, CoordinateTensor) else value
            for each, value in zip(given, found, strict=True)
        ]
    )


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
