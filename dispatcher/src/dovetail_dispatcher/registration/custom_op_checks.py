"""Checks custom operators, their derivatives, and what classes do with operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..schema import FunctionSchema
from ..table.kernel_signatures import check_backward, check_setup_context
from ..table.tags import Tag

MutatesArgs = str | Iterable[str]


def check_differentiable(schema: FunctionSchema, printed: str, *, views: bool) -> None:
    """Raise an error for a derivative for an operator that cannot have its own derivative. Raises
    RuntimeError if the operator writes to its arguments, returns nothing, or (without `views`)
    returns views, and NotImplementedError if it has keyword-only tensors.
    """
    aliased = any([r.alias_info is not None for r in schema.returns])
    if schema.is_mutable or not schema.returns or (aliased and not views):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {printed} with schema "
            f"{schema}. Please "
            "create a functional operator and register an autograd formula for that."
        )
    if any([a.kwarg_only and a.is_tensor_like for a in schema.arguments]):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, "
            f"please make your tensors not kwarg-only. Got: {schema}"
        )


def check_formula(
    schema: FunctionSchema,
    printed: str,
    backward: Callable[..., object],
    setup_context: Callable[..., None] | None,
) -> None:
    """Raise an error for a derivative whose functions have incompatible signatures.

    Raises
    ------
    TypeError
        Naming the function and its parameters.
    """
    check_callable(backward)
    check_backward(backward, schema, printed)
    if setup_context is not None:
        check_callable(setup_context)
        check_setup_context(setup_context, schema, printed)


def check_torch_dispatch_class(cls: type, printed: str) -> None:
    """Raise an error for a rule for a class without ``__torch_dispatch__``.

    Raises
    ------
    ValueError
        Naming the class.
    """
    if not hasattr(cls, "__torch_dispatch__"):
        raise ValueError(
            f"register_torch_dispatch({printed}, ...): {cls!r} has no __torch_dispatch__. Give a "
            "subclass of TorchDispatchMode, or a Tensor subclass that defines it."
        )


def check_callable(fn: object) -> None:
    """Raise TypeError for anything except a function."""
    if not callable(fn):
        raise TypeError(
            f"Input function is required to be a callable but found type {type(fn).__name__}."
        )


def check_mutated(parsed: FunctionSchema, schema: str, mutates_args: MutatesArgs) -> None:
    """Refuse, with a ValueError, a schema that contradicts `mutates_args`."""
    written = {a.name for a in parsed.arguments if a.is_write}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
            f"`schema={schema}`. The schema suggests that the op mutates {written or '{}'} which "
            "is different from what was provided to us in `mutates_args`. Please make these "
            "consistent."
        )


def check_keyword_tensors(parsed: FunctionSchema, tags: Sequence[Tag]) -> None:
    """Refuse, with a NotImplementedError, keyword-only tensors that are not ``out=``."""
    if Tag.out not in tags and any([a.kwarg_only and a.is_tensor_like for a in parsed.arguments]):
        raise NotImplementedError(
            "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
            f"Got: {parsed}"
        )
