"""What a Python kernel may return, by the schema's returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dovetail_kernel import TensorBase

from ..schema import CastError, caster
from ..table.kernels import Kernel
from ..table.operator import Operator
from ..table.tags import Tag


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
        A value where there should be none, a value of the wrong type, or the wrong number of
        values.
    TypeError
        One value where the schema has several.
    """
    returns = op.schema.returns
    if not returns:
        if value is not None:
            raise RuntimeError(
                f"Expected PythonKernelHolder for {op.qualified_name} to return None but it "
                "returned something else "
                f"instead: a {type(value).__name__}. Its schema ends in '-> ()': return nothing, "
                "or declare a return."
            )
        return None
    if len(returns) == 1:
        return _cast(op, value, returns[0].real_type)
    if not isinstance(value, tuple | list):
        raise TypeError(
            f"Object of type '{type(value).__name__}' is not an instance of 'sequence': a kernel "
            "of "
            f"{op.qualified_name} must return {len(returns)} values. Schema: {op.schema}"
        )
    if len(value) != len(returns):
        raise RuntimeError(
            f"a kernel of {op.qualified_name} returned {len(value)} values, but its schema has "
            f"{len(returns)} returns: "
            f"{op.schema}. Return a tuple of {len(returns)}."
        )
    return tuple(_cast(op, item, r.real_type) for item, r in zip(value, returns, strict=True))


def check_aliases(op: Operator, kernel: Kernel, result: Any, tensors: tuple[Any, ...]) -> None:
    """Refuse results of a `custom_op` that share memory with an argument or with each other.

    Two tensors share memory if they are one object or have the same storage.

    Raises
    ------
    RuntimeError
        Naming the operator and where its kernel is.
    """
    seen: set[int] = set()
    for tensor in tensors_among(tensors):
        seen |= _identities(tensor)
    for tensor in tensors_among(result if isinstance(result, tuple) else (result,)):
        own = _identities(tensor)
        if own & seen:
            raise RuntimeError(
                f"{op.base_name} (with implementation in {kernel.name} at {kernel.source}): The "
                "output of this custom "
                "operator (1) must not also be an input to this custom operator and (2) may not "
                "alias any inputs to "
                "this custom operator or other returns. The most common way to trigger this error "
                "is if we have y = "
                "custom_op(x) and y and x are the same Tensor. Please instead return a clone of "
                "the offending output "
                "tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
            )
        seen |= own


def wrong_identity(op: Operator, kernel: Kernel) -> RuntimeError:
    """Return the error of an operator tagged `Tag.inplace` or `Tag.out` whose kernel returned
    something else.
    """
    tag, what = (
        ("inplace", "first argument")
        if Tag.inplace in op.tags
        else ("out", "mutable keyword-only arguments")
    )
    return RuntimeError(
        f"{op.base_name} (with implementation in {kernel.name} at {kernel.source}): An operator "
        "tagged with "
        f"torch.Tag.{tag} must return its {what}. Return the very tensors that the function was "
        "given, not copies."
    )


def _identities(tensor: TensorBase) -> set[int]:
    return {id(tensor)} if tensor._storage is None else {id(tensor), id(tensor._storage)}


def tensors_among(values: Iterable[Any]) -> Iterator[TensorBase]:
    """Iterate over the tensors among `values`, also those in lists."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, TensorBase))


def _cast(op: Operator, value: Any, declared: Any) -> Any:
    if declared.schema_str == "Tensor" and (value is None or isinstance(value, TensorBase)):
        return value
    try:
        return caster(declared)(value)
    except CastError:
        raise _error(op, value, declared.schema_str) from None


def _error(op: Operator, value: Any, wanted: str) -> RuntimeError:
    return RuntimeError(
        f"Unable to cast {value!r} to {wanted}: a kernel of {op.qualified_name} returned a "
        f"{type(value).__name__}, but "
        f"its schema is {op.schema}. Return a {wanted}."
    )
