"""The attributes by which NumPy finds the protocols: ``__array_function__``, ``__array_ufunc__``.

PyTorch's tensors have neither, so functions of tensors whose data NumPy may read give what they
give without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import TensorBase

from ...calling.operands import needs_operator


class ArrayFunction:
    """Attribute ``__array_function__``: the class has it, and tensors that NumPy cannot read."""

    def __get__(self, instance: Any, owner: object = None) -> Any:
        if instance is None:
            return array_function
        if not needs_operator(instance):
            raise AttributeError(
                f"'{type(instance).__name__}' object has no attribute '__array_function__': it "
                "does not require grad. NumPy takes it as an array."
            )
        return array_function.__get__(instance)


def array_function(
    tensor: object,
    func: Any,
    types: Sequence[type],
    args: Sequence[object],
    kwargs: dict[str, object],
) -> Any:
    """Return what NumPy's function `func` gives: computed by operators if NumPy cannot read a
    tensor among the arguments, else by NumPy. Raises RuntimeError if a tensor requires grad, and
    there is no operator for `func`, and TypeError for parameters of `func` that its operator lacks.
    """
    if not all([issubclass(each, TensorBase) or each.__module__ == "numpy" for each in types]):
        return NotImplemented  # another library's arrays are asked
    if _any_needs_operator((args, tuple(kwargs.values()))):
        from .functions import call_function  # the table, which few programs need

        return call_function(func, args, kwargs)
    return func._implementation(*args, **kwargs)


def array_ufunc(tensor: Any, ufunc: object, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Return what `method` of a ufunc gives: computed by operators if NumPy cannot read a tensor
    among the inputs, else by NumPy.

    ``np.multiply(a, x)`` is ``a * x``, and ``np.multiply(a, x, out=a)`` is ``a *= x``, since NumPy
    asks here for both. PyTorch's tensors answer the operators alone; where `a` and `x` differ in
    dtype, it gives the functions another one.

    Raises
    ------
    RuntimeError
        If a tensor requires grad, and there is no operator for `ufunc`.
    """
    if not all([_is_ours(each) for each in inputs]):
        return NotImplemented  # another library's arrays are asked
    from .ufuncs import call_numpy, call_reflected, call_ufunc  # tables that few programs need

    if method == "__call__" and len(inputs) == 2:
        made = call_reflected(ufunc, *inputs, kwargs)
        if made is not NotImplemented:
            return made
    if _any_needs_operator(inputs):
        made = call_ufunc(ufunc, method, inputs, kwargs)
        if made is not NotImplemented:
            return made
    return call_numpy(tensor, ufunc, method, inputs, kwargs)


def _is_ours(value: Any) -> bool:
    kind = type(value)
    return (
        isinstance(value, TensorBase)
        or not hasattr(kind, "__array_ufunc__")
        or kind.__module__ == "numpy"
    )


def _any_needs_operator(values: Any) -> bool:
    return any(
        [
            _any_needs_operator(each)
            if isinstance(each, (tuple, list))
            else isinstance(each, TensorBase) and needs_operator(each)
            for each in values
        ]
    )
