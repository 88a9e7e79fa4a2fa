"""Which dtype a pointwise call computes in, how its operands are cast to that, and which dtypes it
refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail_dispatcher import Operator
from dovetail_dispatcher.calls import (
    any_bool_error,
    category_of_number,
    numbers_allowed,
    unsupported_error,
)
from dovetail_kernel import (
    Backend,
    TensorBase,
    dtype,
    dtype_of_signature,
    float32,
    get_default_dtype,
    promote_types,
    result_dtype,
    uint16,
    uint32,
    uint64,
)
from dovetail_kernel import bool as bool_
from dovetail_kernel.signature import DTYPE_MASK, PYTHON_SCALAR, ZERO_DIM

from .half_precision import HALVES, computes_in_single, dtype_of_number, in_single

KINDS = ("bool", "int", "float", "complex")
"""Promotion categories in words."""

WIDE_UNSIGNED = (uint16, uint32, uint64)
"""Which PyTorch stores and converts, but hardly computes in."""


def computing_dtype(common: dtype, rule: str) -> dtype:
    """Return the dtype that operands of the common dtype `common` are cast to under promotion rule
    `rule`.
    """
    return get_default_dtype() if rule == "int_to_float" and common.category < 2 else common


_KIND: Final = DTYPE_MASK | ZERO_DIM
"""The bits of a signature that promotion depends on."""


def common_dtype(tensors: tuple[TensorBase, ...], category: int = -1) -> dtype:
    """Return the common dtype of tensors, and of a Python number of promotion category `category`.

    Tensors with dimensions outrank those without, and these a number, unless they are of a lower
    category.
    """
    bits = 0
    for tensor in tensors:
        bits |= tensor._signature
    bits &= DTYPE_MASK
    if not bits & (bits - 1) and category <= dtype_of_signature(bits).category:
        return dtype_of_signature(bits)
    return result_dtype(
        [t.dtype for t in tensors if not t._signature & ZERO_DIM],
        [t.dtype for t in tensors if t._signature & ZERO_DIM],
        [] if category < 0 else [category],
    )


def check_computes(op: Operator, computed: dtype) -> None:
    """Raise an error for a dtype that no kernel of `op` computes in.

    Raises
    ------
    NotImplementedError
        Or the RuntimeError of PyTorch, where what is asked for has no meaning.
    """
    refuses = op.refuses
    if refuses and (
        KINDS[computed.category] in refuses
        or (computed in WIDE_UNSIGNED and "wide_unsigned" in refuses)
        or (computed in HALVES and "half" in refuses)
    ):
        raise unsupported_error(op.base_name.rstrip("_"), [computed.scalar_name])


def check_operands(op: Operator, key: int, common: dtype | None, computed: dtype | None) -> None:
    """Raise an error for a call with `key` whose operands are of dtypes that `op` is not defined
    for; `common` is their dtype and `computed` the one that they compute in, if the key says it.

    Raises
    ------
    NotImplementedError, RuntimeError
        As `check_computes`.
    """
    if "any_bool" in op.refuses and (
        key & bool_.bit or category_of_number(key & PYTHON_SCALAR) == 0
    ):
        name = op.base_name.rstrip("_")
        if op.promotion == "int_to_float":
            raise RuntimeError(
                f"{name}: The input tensor may not be a boolean tensor. Convert it first."
            )
        raise unsupported_error(name, ["Bool"]) if common is bool_ else any_bool_error()
    if computed is not None:
        check_computes(op, computed)
    elif op.promotion == "none":
        for each in WIDE_UNSIGNED:
            if key & each.bit:  # indices and masks are of other dtypes
                check_computes(op, each)


def operand_check(op: Operator) -> Callable[[TensorBase], None]:
    """Return what refuses an operand of a dtype that `op` is not defined for."""
    return lambda operand: check_computes(op, operand.dtype)


def check_alpha(op: Operator, values: Sequence[object]) -> None:
    """Raise an error for a bool `alpha` together with operands that are not all bools; `values` are
    those of all arguments.

    Raises
    ------
    RuntimeError
        With PyTorch's message.
    """
    given = dict(zip(op.schema._by_name, values, strict=True))
    operands = [given[name] for name in op.promote]
    if given["alpha"].__class__ is bool and not all(
        [
            each.dtype is bool_ if isinstance(each, TensorBase) else each.__class__ is bool
            for each in operands
        ]
    ):
        raise RuntimeError("Boolean alpha only supported for Boolean results. Give an int.")


def promoter(
    backend: Backend, op: Operator, category: int, *, is_operand: bool, in_single: bool
) -> tuple[Callable[..., tuple[list[Any], dtype]], dict[int, dtype] | None]:
    """Return the function that casts the operands of a call of `op` to the dtype they compute in,
    and the dtypes that it casts no operands of, if all are of one; None if it may.

    Parameters
    ----------
    backend
        That of the operands.
    op
        The operator.
    category
        That of a Python number in the call, -1 if there is none.
    is_operand
        Whether the number is the second of two operands.
    in_single
        Whether a second operand that is a number or has no dimensions is in single precision beside
        half precision.

    Returns
    -------
    Callable
        Takes the operands, and returns their arrays, in order, and the dtype.
    dict
        The dtypes by their bits, as far as calls have met them.
    """
    arrays, rule = backend.arrays, op.promotion
    unchanged: dict[int, dtype] = {}
    known: dict[tuple[int, ...], tuple[dtype, Any, int]] = {}

    def promote(*tensors: TensorBase) -> tuple[list[Any], dtype]:
        # By loops: a comprehension has a frame of its own.
        each_kind = []
        for tensor in tensors:
            each_kind.append(tensor._signature & _KIND)
        kinds = tuple(each_kind)
        found = known.get(kinds)
        if found is None:
            if rule == "exact":
                check_exact(op, tensors)
            wanted = computing_dtype(common_dtype(tensors, category), rule)
            check_computes(op, wanted)
            found = known[kinds] = wanted, arrays.native_dtypes[wanted], wanted.bit
            if all([kind & wanted.bit for kind in kinds]):
                unchanged[wanted.bit] = wanted
        wanted, native, bit = found
        by_kernel = rule == "operands" and wanted.category == 1  # see `dtype_of_number`
        operands = []
        for tensor in tensors:
            array = tensor.array
            stays = by_kernel and promote_types(tensor.dtype, wanted) is not wanted
            cast = not stays and not tensor._signature & bit
            operands.append(arrays.cast(array, native) if cast else array)
        return operands, wanted

    def promote_with_number(tensor: TensorBase, number: complex) -> tuple[list[Any], dtype]:
        (array,), wanted = promote(tensor)
        own = dtype_of_number(wanted, rule, in_single)
        return [array, arrays.scalar(number, arrays.native_dtypes[own])], wanted

    def promote_by_scalar(*tensors: TensorBase) -> tuple[list[Any], dtype]:
        operands, wanted = promote(*tensors)
        if wanted in HALVES and tensors[-1]._signature & ZERO_DIM:
            operands[-1] = arrays.cast(tensors[-1].array, arrays.native_dtypes[float32])
        return operands, wanted

    if is_operand:
        return promote_with_number, None
    if in_single and numbers_allowed(op.schema, op.promote):
        return promote_by_scalar, None
    return promote, unchanged


def check_exact(op: Operator, tensors: tuple[TensorBase, ...]) -> None:
    """Raise an error for operands of different dtypes.

    Raises
    ------
    RuntimeError
        Naming the first two that differ.
    """
    first = tensors[0].dtype
    for name, tensor in zip(op.promote[1:], tensors[1:], strict=False):
        if tensor.dtype is not first:
            raise RuntimeError(
                f"{op.base_name.rstrip('_')}: expected dtype {first.name} for `{name}` but got "
                "dtype "
                f"{tensor.dtype.name}. Convert it first: {name}.to(dovetail.{first.name})."
            )


__all__ = [
    "check_alpha",
    "check_operands",
    "common_dtype",
    "computes_in_single",
    "computing_dtype",
    "dtype_of_number",
    "in_single",
    "operand_check",
    "promoter",
]
