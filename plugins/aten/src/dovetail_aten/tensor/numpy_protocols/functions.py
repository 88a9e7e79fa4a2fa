"""NumPy's functions by operators: ``np.concatenate([x, y])`` records a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_kernel import TensorBase, wrap

from ...calling.operands import backend_of_operand
from . import products, reductions, shapes

_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **products.FUNCTIONS,
    **reductions.FUNCTIONS,
    **shapes.FUNCTIONS,
}
"""Operators by NumPy's functions, with its parameters: others raise TypeError."""

_UNUSED: Final = {"casting": "same_kind", "dtype": None, "out": None}
"""Parameters that operators lack, and the values that ask for nothing."""

_WITHOUT_GRADIENTS: Final = frozenset(
    {
        "allclose",
        "argpartition",
        "argwhere",
        "array_equal",
        "array_equiv",
        "array_repr",
        "array_str",
        "digitize",
        "flatnonzero",
        "isin",
        "isreal",
        "iscomplex",
        "lexsort",
        "linalg.matrix_rank",
        "nonzero",
        "result_type",
        "searchsorted",
    }
)
"""Functions whose results do not change with small changes of the elements."""


def call_function(func: Any, args: Sequence[object], kwargs: dict[str, object]) -> Any:
    """Return what NumPy's function `func` gives, computed by operators if there are some for it,
    else by NumPy. Raises RuntimeError if a tensor requires grad, and there is no operator for
    `func`, and TypeError for parameters of `func` that its operator lacks.
    """
    name = f"{func.__module__}.{func.__name__}".removeprefix("numpy.")
    if name in _WITHOUT_GRADIENTS:
        named = {key: _detached(each) for key, each in kwargs.items()}
        return func._implementation(*[_detached(each) for each in args], **named)
    found = _FUNCTIONS.get(name)
    if found is None:
        return func._implementation(*args, **kwargs)
    named = {key: _tensors(each) for key, each in kwargs.items() if not _is_unused(key, each)}
    return found(*[_tensors(each) for each in args], **named)


def _is_unused(name: str, value: Any) -> bool:
    return name in _UNUSED and (value is None or value is _UNUSED[name])


def _detached(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_detached(each) for each in value])
    tensor: Any = value
    return tensor.detach().numpy() if isinstance(value, TensorBase) else value


def _tensors(value: Any) -> Any:
    """Return `value` with tensors for the arrays in it."""
    if isinstance(value, (tuple, list)):
        return type(value)([_tensors(each) for each in value])
    backend = None if isinstance(value, TensorBase) else backend_of_operand(value)
    return value if backend is None else wrap(value, backend)
