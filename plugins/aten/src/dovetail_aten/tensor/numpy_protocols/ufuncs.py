"""NumPy's and SciPy's ufuncs by operators: ``np.sin(x)``, ``np.add.reduce(x)``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import TensorBase, bfloat16, dtype_of_signature, wrap

from ..._generated import functions as aten
from ...backend.devices import ready_backend
from ...typing import Tensor
from .operands import np

_SPELLINGS: Final = {
    "conjugate": "conj_physical",
    "degrees": "rad2deg",
    "equal": "eq",
    "fabs": "abs",
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "sign": "sgn",
    "vecdot": "linalg_vecdot",
}
"""Operators whose name is not that of NumPy's ufunc."""

_SPECIAL: Final = {
    "j0": "bessel_j0",
    "j1": "bessel_j1",
    "k0": "modified_bessel_k0",
    "k0e": "scaled_modified_bessel_k0",
    "k1": "modified_bessel_k1",
    "k1e": "scaled_modified_bessel_k1",
    "y0": "bessel_y0",
    "y1": "bessel_y1",
}
"""Operators of `special` whose name is not that of SciPy's ufunc."""

_SEVERAL: Final[dict[str, Callable[..., Any]]] = {
    "divmod": lambda x, y: (aten.floor_divide(x, y), aten.remainder(x, y)),
    "modf": lambda x: (aten.frac(x), aten.trunc(x)),
}
"""Functions of two results, each an operator's."""

_REDUCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": aten.sum,
    "logical_and": aten.all,
    "logical_or": aten.any,
    "maximum": aten.amax,
    "minimum": aten.amin,
}
_SCANS: Final[dict[str, Callable[..., Any]]] = {"add": aten.cumsum, "multiply": aten.cumprod}

_REFLECTED: Final = {
    "add": "__radd__",
    "bitwise_and": "__rand__",
    "bitwise_or": "__ror__",
    "bitwise_xor": "__rxor__",
    "divide": "__rtruediv__",
    "equal": "__eq__",
    "floor_divide": "__rfloordiv__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "left_shift": "__rlshift__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "matmul": "__rmatmul__",
    "multiply": "__rmul__",
    "not_equal": "__ne__",
    "power": "__rpow__",
    "remainder": "__rmod__",
    "right_shift": "__rrshift__",
    "subtract": "__rsub__",
}
"""Methods of the right operand by the ufunc that NumPy calls for an operator."""


def call_reflected(ufunc: Any, first: Any, second: Any, kwargs: dict[str, Any]) -> Any:
    """Return the tensor's answer to an operator with NumPy's number or array on its left, for which
    NumPy calls `ufunc`; NotImplemented for other calls.

    An operator in place writes the numbers to the array on its left too.
    """
    name = _REFLECTED.get(ufunc.__name__)
    is_in_place = kwargs.keys() == {"out"} and kwargs["out"][0] is first
    if name is None or not isinstance(first, np.ndarray | np.generic):
        return NotImplemented
    if (kwargs and not is_in_place) or getattr(np, ufunc.__name__, None) is not ufunc:
        return NotImplemented  # a function; of NumPy, or another one of that name
    if first.ndim == 0 and not name.startswith("__r"):
        first = first[()]  # a comparison hands a number over as an array
    # The graph may save the array on the left, which is about to change.
    made = getattr(type(second), name)(second, first.copy() if is_in_place else first)
    if is_in_place and made is not NotImplemented:
        np.copyto(first, made.detach().numpy())
    return made


def call_numpy(
    tensor: Any, ufunc: Any, method: str, inputs: Sequence[object], kwargs: dict[str, object]
) -> Any:
    """Return what NumPy gives for the memory of tensors; as of PyTorch's, arrays that it makes
    become tensors, but for ``ufunc.outer``.
    """
    given = {key: value if key == "out" else _read(value) for key, value in kwargs.items()}
    made = getattr(ufunc, method)(*[_read(each) for each in inputs], **given)
    if "out" in kwargs or made is None or method == "outer":
        return made
    if isinstance(made, tuple):
        return tuple([tensor.__array_wrap__(np.asarray(each)) for each in made])
    return tensor.__array_wrap__(np.asarray(made))


def _read(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, TensorBase) else value


def call_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what `method` of `ufunc` gives, computed by operators in the dtypes that NumPy
    computes in; NotImplemented if there is no operator for it.
    """
    function = _operator_of(ufunc)
    if function is None:
        return NotImplemented
    given = {key: value for key, value in kwargs.items() if value is not None}
    if method == "__call__" and not given:
        return _pointwise(ufunc, function, inputs)
    if method == "outer" and not given:
        return _outer(ufunc, function, inputs)
    if method == "accumulate" and ufunc.__name__ in _SCANS:
        return _scan(_SCANS[ufunc.__name__], *inputs, **kwargs)
    if method == "reduce" and ufunc.__name__ in _REDUCTIONS:
        return _reduce(_REDUCTIONS[ufunc.__name__], *inputs, **kwargs)
    return NotImplemented


def _operator_of(ufunc: Any) -> Callable[..., Any] | None:
    """Return the operator that computes `ufunc`: NumPy's own, or one of `scipy.special`; None for
    other ufuncs, whatever their name.
    """
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        if name in _SEVERAL:
            return _SEVERAL[name]
        name = _SPELLINGS.get(name, name)
    elif getattr(sys.modules.get("scipy.special"), name, None) is ufunc:
        name = f"special_{_SPECIAL.get(name, name)}"
    else:
        return None
    return getattr(aten, name, None)


def _pointwise(ufunc: Any, function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """Return `function` of `inputs`, each in the dtype that NumPy's loop takes it in, and results
    in the dtypes that the loop gives.
    """
    dtypes: list[Any] = []
    values = list(inputs)
    for position, value in enumerate(values):
        if isinstance(value, TensorBase):
            if value.dtype is bfloat16:
                return NotImplemented
            dtypes.append(np.dtype(value.dtype.name))
        elif type(value) in (int, float, complex):
            dtypes.append(type(value))
        elif isinstance(value, bool | np.ndarray | np.generic | list | tuple):
            values[position] = np.asarray(value)
            dtypes.append(values[position].dtype)
        else:
            return NotImplemented
    bits = ready_backend("cpu").arrays.dtype_bits
    loop = ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout))
    if not all([each in bits for each in loop]):
        return NotImplemented
    made = function(*[_operand(value, each) for value, each in zip(values, loop, strict=False)])
    wanted = [dtype_of_signature(bits[each]) for each in loop[ufunc.nin :]]
    if ufunc.nout == 1:
        return made.to(wanted[0])
    return tuple([each.to(dtype) for each, dtype in zip(made, wanted, strict=True)])


def _operand(value: Any, native: Any) -> Any:
    """Return `value` as a tensor of a dtype of NumPy's."""
    backend = ready_backend("cpu")
    if isinstance(value, TensorBase):
        tensor: Any = value
        return tensor.to(dtype_of_signature(backend.arrays.dtype_bits[native]))
    return wrap(np.asarray(value, native), backend)


def _outer(ufunc: Any, function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    first, second = inputs
    if not isinstance(first, TensorBase):
        first = np.asarray(first)
    shape = (*first.shape, *[1] * (second.ndim if hasattr(second, "ndim") else np.ndim(second)))
    return _pointwise(ufunc, function, (first.reshape(shape), second))


def _reduce(
    function: Callable[..., object],
    array: Tensor,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
) -> Any:
    if dtype is not None or out is not None:
        return NotImplemented
    dims = tuple(range(array.ndim)) if axis is None else axis
    return function(array, dims, keepdims)


def _scan(
    function: Callable[..., object], array: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    return NotImplemented if dtype is not None or out is not None else function(array, axis)
