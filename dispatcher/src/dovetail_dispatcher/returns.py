"""What a Python kernel may return, by the schema's returns."""

from __future__ import annotations

from typing import Any

from dovetail_kernel import TensorBase

from .operator import Operator
from .schema import CastError, caster


def checked_tensor(op: Operator, value: Any) -> Any:
    """Return the result of a kernel whose schema has one Tensor return.

    Raises
    ------
    RuntimeError
        If it is no tensor.
    """
    if isinstance(value, TensorBase) or value is None:
        return value
    raise _error(op, value, "Tensor")


def checked_return(op: Operator, value: Any) -> Any:
    """Return the result of a kernel as its schema's returns have it: None, one value, or a tuple.

    Raises
    ------
    RuntimeError
        A value where there should be none, a value of the wrong type, or the wrong number of values.
    TypeError
        One value where the schema has several.
    """
    returns = op.schema.returns
    if not returns:
        if value is not None:
            raise RuntimeError(
                f"Expected PythonKernelHolder for {op.qualified_name} to return None but it returned something else "
                f"instead: a {type(value).__name__}. Its schema ends in '-> ()': return nothing, or declare a return."
            )
        return None
    if len(returns) == 1:
        return _cast(op, value, returns[0].real_type)
    if not isinstance(value, tuple | list):
        raise TypeError(
            f"Object of type '{type(value).__name__}' is not an instance of 'sequence': a kernel of "
            f"{op.qualified_name} must return {len(returns)} values. Schema: {op.schema}"
        )
    if len(value) != len(returns):
        raise RuntimeError(
            f"a kernel of {op.qualified_name} returned {len(value)} values, but its schema has {len(returns)} returns: "
            f"{op.schema}. Return a tuple of {len(returns)}."
        )
    return tuple(_cast(op, item, r.real_type) for item, r in zip(value, returns, strict=True))


def _cast(op: Operator, value: Any, declared: Any) -> Any:
    if declared.schema_str == "Tensor" and (value is None or isinstance(value, TensorBase)):
        return value
    try:
        return caster(declared)(value)
    except CastError:
        raise _error(op, value, declared.schema_str) from None


def _error(op: Operator, value: Any, wanted: str) -> RuntimeError:
    return RuntimeError(
        f"Unable to cast {value!r} to {wanted}: a kernel of {op.qualified_name} returned a {type(value).__name__}, but "
        f"its schema is {op.schema}. Return a {wanted}."
    )
