"""NumPy's functions that arrange elements: stacks, splits, transposes, choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import TensorBase

from ..._generated import functions as aten
from ...calling.operands import promoted
from ...typing import Tensor
from .operands import array_like, as_tuple, common, np


def _join(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a function of a sequence of arrays, which may be one array."""

    def join(arrays: Any, /) -> Any:
        return function(common(*arrays))

    return join


def _concatenate(arrays: Any, /, axis: int | None = 0) -> Any:
    arrays = common(*arrays)
    if axis is None:
        return aten.cat([each.reshape(-1) for each in arrays])
    return aten.cat(arrays, axis)


def _transpose(a: Tensor, axes: Any = None) -> Any:
    return a.permute(*(reversed(range(a.ndim)) if axes is None else axes))


def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return aten.transpose(a, axis1, axis2)


def _broadcast_to(array: Any, shape: Any) -> Any:
    return aten.broadcast_to(array, shape)


def _rollaxis(a: Tensor, axis: int, start: int = 0) -> Any:
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return aten.movedim(a, axis, start - 1 if axis < start else start)


def _expand_dims(a: Tensor, axis: Any) -> Any:
    axes = as_tuple(axis)
    dimensions = a.ndim + len(axes)
    for each in sorted([each % dimensions for each in axes]):
        a = aten.unsqueeze(a, each)
    return a


def _squeeze(a: Tensor, axis: Any = None) -> Any:
    if axis is None:
        return aten.squeeze(a)
    axes = as_tuple(axis)
    for each in axes:
        if a.shape[each] != 1:
            raise ValueError(
                "cannot select an axis to squeeze out which has size not equal to one: axis "
                f"{each} of shape {tuple(a.shape)}."
            )
    return aten.squeeze(a, axes)


def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, (tuple, list)):
        indices_or_sections = tuple(indices_or_sections)
    return list(aten.tensor_split(ary, indices_or_sections, axis))


def _split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError(
            f"array split does not result in an equal division: {ary.shape[axis]} elements in "
            f"{indices_or_sections} parts. np.array_split makes parts of unequal sizes."
        )
    return _array_split(ary, indices_or_sections, axis)


def _atleast(dimensions: int) -> Callable[..., Any]:
    function = (aten.atleast_1d, aten.atleast_2d, aten.atleast_3d)[dimensions - 1]

    def atleast(*arys: Any) -> Any:
        made = tuple([function(array_like(each)) for each in arys])
        return made[0] if len(made) == 1 else made

    return atleast


def _flip(m: Tensor, axis: Any = None) -> Any:
    return aten.flip(m, tuple(range(m.ndim)) if axis is None else as_tuple(axis))


def _pad(array: Tensor, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    if mode == "constant":
        value = options.pop("constant_values", 0)
        if options or not isinstance(value, int | float):
            raise TypeError(
                "np.pad of a tensor that requires grad takes one number for constant_values, and "
                f"nothing else: not {options or value}."
            )
        return aten.constant_pad_nd(array, [each for pair in widths[::-1] for each in pair], value)
    if mode not in ("edge", "reflect", "symmetric", "wrap") or options.get("reflect_type") == "odd":
        raise TypeError(
            f"np.pad of a tensor that requires grad has no mode {mode!r}. Choose constant, edge, "
            "reflect, symmetric or wrap."
        )
    for axis, width in enumerate(widths):
        places = np.pad(np.arange(array.shape[axis]), width, mode, **options)
        array = aten.index_select(array, axis, array_like(places))
    return array


def _repeat(a: Tensor, repeats: Any, axis: int | None = None) -> Any:
    if isinstance(repeats, (tuple, list)):
        repeats = array_like(repeats)
    if axis is None:
        a, axis = a.reshape(-1), 0
    return aten.repeat_interleave(a, repeats, axis)


def _take(a: Tensor, indices: object, axis: int | None = None) -> Any:
    if axis is None:
        a, axis = a.reshape(-1), 0
    return a[(slice(None),) * (axis % a.ndim) + (indices,)]


def _delete(arr: Tensor, obj: Any, axis: int | None = None) -> Any:
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    if isinstance(obj, TensorBase):
        obj = np.asarray(obj)
    return aten.index_select(arr, axis, array_like(np.delete(np.arange(arr.shape[axis]), obj)))


def _select(condlist: Sequence[object], choicelist: Sequence[object], default: object = 0) -> Any:
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        default = _where(condition, choice, default)
    return default


def _where(condition: Any, x: Any, y: object, /) -> Any:
    return aten.where(condition, *promoted(x, y))


def _meshgrid(*xi: Any, indexing: str = "xy") -> Any:
    vectors = [array_like(each).reshape(-1) for each in xi]
    made = []
    for axis, vector in enumerate(vectors):
        shape = [-1 if each == axis else 1 for each in range(len(vectors))]
        grid = vector.reshape(shape).expand(*[len(each) for each in vectors])
        swapped = indexing == "xy" and len(vectors) > 1
        made.append((grid.transpose(0, 1) if swapped else grid).clone())
    return tuple(made)


def _like(function: Callable[..., object]) -> Callable[..., Any]:
    """Return a factory of tensors like `a`; their data do not depend on it."""

    def like(a: Any, *value: Any) -> Any:
        return function(a, *value)

    return like


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "append": lambda arr, values, axis=None: _concatenate([arr, values], axis),
    "array_split": _array_split,
    "atleast_1d": _atleast(1),
    "atleast_2d": _atleast(2),
    "atleast_3d": _atleast(3),
    "broadcast_arrays": lambda *args: tuple(
        aten.broadcast_tensors([array_like(each) for each in args])
    ),
    "broadcast_to": _broadcast_to,
    "column_stack": _join(aten.column_stack),
    "concatenate": _concatenate,
    "copy": lambda a: a.clone(),
    "delete": _delete,
    "diag": lambda v, k=0: aten.diag(v, k),
    "diagflat": lambda v, k=0: aten.diagflat(v, k),
    "diagonal": lambda a, offset=0, axis1=0, axis2=1: aten.diagonal(a, offset, axis1, axis2),
    "dsplit": lambda ary, indices_or_sections: _split(ary, indices_or_sections, 2),
    "dstack": _join(aten.dstack),
    "expand_dims": _expand_dims,
    "flip": _flip,
    "fliplr": aten.fliplr,
    "flipud": aten.flipud,
    "fft.fftshift": lambda x, axes=None: aten.fft_fftshift(x, axes),
    "fft.ifftshift": lambda x, axes=None: aten.fft_ifftshift(x, axes),
    "full_like": _like(aten.full_like),
    "hsplit": lambda ary, indices_or_sections: _split(ary, indices_or_sections, int(ary.ndim > 1)),
    "hstack": _join(aten.hstack),
    "linalg.diagonal": lambda x, /, *, offset=0: aten.diagonal(x, offset, -2, -1),
    "linalg.matrix_transpose": lambda x, /: x.mT,
    "matrix_transpose": lambda x, /: x.mT,
    "meshgrid": _meshgrid,
    "moveaxis": aten.movedim,
    "ones_like": _like(aten.ones_like),
    "pad": _pad,
    "ravel": lambda a: a.reshape(-1),
    "repeat": _repeat,
    "reshape": lambda a, /, shape: a.reshape(shape),
    "roll": lambda a, shift, axis=None: aten.roll(a, shift, () if axis is None else axis),
    "rollaxis": _rollaxis,
    "rot90": lambda m, k=1, axes=(0, 1): aten.rot90(m, k, axes),
    "select": _select,
    "split": _split,
    "squeeze": _squeeze,
    "stack": lambda arrays, axis=0: aten.stack(common(*arrays), axis),
    "swapaxes": _swapaxes,
    "take": _take,
    "take_along_axis": lambda arr, indices, axis=-1: aten.take_along_dim(arr, indices, axis),
    "tile": lambda A, reps: aten.tile(A, as_tuple(reps)),
    "transpose": _transpose,
    "tril": lambda m, k=0: aten.tril(m, k),
    "triu": lambda m, k=0: aten.triu(m, k),
    "unstack": lambda x, /, *, axis=0: tuple(aten.unbind(x, axis)),
    "vsplit": lambda ary, indices_or_sections: _split(ary, indices_or_sections, 0),
    "vstack": _join(aten.vstack),
    "where": _where,
    "zeros_like": _like(aten.zeros_like),
}
"""Functions by their names in NumPy, with its parameters."""
