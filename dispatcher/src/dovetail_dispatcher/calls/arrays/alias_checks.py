"""What the results of a kernel may share with its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dovetail_kernel import TensorBase

from ...schema import Argument
from ...schema.function_schema import TENSOR
from ...table.kernels import Kernel
from ...table.operator import Operator
from ...table.tags import Tag


def check_aliases(
    op: Operator, kernel: Kernel, result: object, tensors: tuple[object, ...]
) -> None:
    """Raise an error for results of a `custom_op` that share memory with an argument or with each
    other.

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
    """Return the error of a kernel that returned something else than the arguments that it wrote,
    though the schema says that it returns them.
    """
    who = f"{op.base_name} (with implementation in {kernel.name} at {kernel.source})"
    what = f"what its schema says that it writes: {op.schema}"
    said = f"the kernel at {kernel.key.name} must return {what}"
    if Tag.inplace in op.tags:
        said = "An operator tagged with torch.Tag.inplace must return its first argument"
    elif Tag.out in op.tags:
        said = (
            "An operator tagged with torch.Tag.out must return its mutable keyword-only arguments"
        )
    return RuntimeError(
        f"{who}: {said}. Return the very tensors that the function was given, not copies."
    )


def written_results(op: Operator) -> list[tuple[int, Argument]]:
    """Return the arguments that results are to be, by the number of the result: what the schema
    says is written and returned, or what its tag says.
    """
    schema = op.schema
    written = [a for a in schema.arguments if a.is_write]
    if Tag.inplace in op.tags or Tag.out in op.tags:
        return list(enumerate(written))
    return [
        (number, argument)
        for number, each in enumerate(schema.returns)
        for argument in written
        if each.kind == TENSOR == argument.kind and _is_alias(each, argument)
    ]


def _is_alias(returned: Argument, argument: Argument) -> bool:
    own, other = returned.alias_info, argument.alias_info
    return bool(own and other and own.is_write and own.before_set & other.before_set)


def _identities(tensor: TensorBase) -> set[int]:
    return {id(tensor)} if tensor._storage is None else {id(tensor), id(tensor._storage)}


def tensors_among(values: Iterable[object]) -> Iterator[TensorBase]:
    """Iterate over the tensors among `values`, also those in lists."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from [item for item in value if isinstance(item, TensorBase)]
