"""NumPy's functions by operators: ``np.concatenate([x, y])`` records a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import TensorBase, wrap

from ..._generated import functions as aten
from ...calling.operands import backend_of_operand
from ..functions.einsum import einsum
from ..functions.variadic_functions import tensordot

__all__ = ["call_function"]


def call_function(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what NumPy's function `func` gives, computed by operators if there are some for it,
    else by NumPy.

    Raises
    ------
    RuntimeError
        If a tensor requires grad, and there is no operator for `func`.
    TypeError
        For parameters of `func` that its operator lacks.
    """
    found = _FUNCTIONS.get(f"{func.__module__}.{func.__name__}")
    if found is None:
        return func._implementation(*args, **kwargs)
    named = {name: _tensors(each) for name, each in kwargs.items()}
    return found(*[_tensors(each) for each in args], **named)


def _tensors(value: Any) -> Any:
    """Return `value` with tensors for the arrays in it."""
    if isinstance(value, (tuple, list)):
        return type(value)([_tensors(each) for each in value])
    backend = None if isinstance(value, TensorBase) else backend_of_operand(value)
    return value if backend is None else wrap(value, backend)


def _dot(a: Any, b: Any) -> Any:
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return aten.matmul(a, b) if b.ndim <= 2 else aten.tensordot(a, b, [-1], [-2])


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.permute(*(reversed(range(a.ndim)) if axes is None else axes))


def _reshape(a: Any, /, shape: Any) -> Any:
    return a.reshape(shape)


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of all elements, in order, where NumPy's default axis is None."""

    def along(a: Any, axis: Any = None) -> Any:
        return function(a.reshape(-1), 0) if axis is None else function(a, axis)

    return along


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        dims = tuple(range(a.ndim)) if axis is None else axis
        return function(a, dims, keepdims)

    return extreme


def _sort(a: Any, axis: int = -1) -> Any:
    return aten.sort(a, axis)[0]


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return aten.linalg_norm(x, ord, axis, keepdims)


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "numpy.amax": _extreme(aten.amax),
    "numpy.amin": _extreme(aten.amin),
    "numpy.broadcast_to": aten.broadcast_to,
    "numpy.concatenate": lambda arrays, /, axis=0: aten.cat(arrays, axis),
    "numpy.cumprod": _along(aten.cumprod),
    "numpy.cumsum": _along(aten.cumsum),
    "numpy.dot": _dot,
    "numpy.dstack": aten.dstack,
    "numpy.einsum": einsum,
    "numpy.expand_dims": aten.unsqueeze,
    "numpy.hstack": aten.hstack,
    "numpy.linalg.cholesky": lambda a, /: aten.linalg_cholesky(a),
    "numpy.linalg.det": aten.linalg_det,
    "numpy.linalg.inv": aten.linalg_inv,
    "numpy.linalg.norm": _norm,
    "numpy.linalg.slogdet": aten.linalg_slogdet,
    "numpy.linalg.solve": aten.linalg_solve,
    "numpy.max": _extreme(aten.amax),
    "numpy.min": _extreme(aten.amin),
    "numpy.moveaxis": aten.movedim,
    "numpy.outer": lambda a, b: aten.outer(a.reshape(-1), b.reshape(-1)),
    "numpy.ravel": lambda a: a.reshape(-1),
    "numpy.reshape": _reshape,
    "numpy.roll": lambda a, shift, axis=None: aten.roll(a, shift, () if axis is None else axis),
    "numpy.sort": _sort,
    "numpy.stack": lambda arrays, axis=0: aten.stack(arrays, axis),
    "numpy.swapaxes": aten.transpose,
    "numpy.tensordot": lambda a, b, axes=2: tensordot(a, b, axes),
    "numpy.transpose": _transpose,
    "numpy.tril": lambda m, k=0: aten.tril(m, k),
    "numpy.triu": lambda m, k=0: aten.triu(m, k),
    "numpy.vstack": aten.vstack,
    "numpy.where": lambda condition, x, y, /: aten.where(condition, x, y),
}
"""Operators by NumPy's functions, with its parameters: others raise TypeError."""
