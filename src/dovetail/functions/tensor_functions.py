"""Top-level functions that run no operator: queries of shapes and dtypes, and class names."""

from __future__ import annotations

from typing import Any

from dovetail_aten import Tensor
from dovetail_dispatcher import overridable
from dovetail_kernel import Size, TensorBase, dtype, result_dtype, scalar_category

__all__ = ["broadcast_shapes", "is_tensor", "result_type", "typename"]


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that tensors of `shapes` broadcast to.

    Parameters
    ----------
    *shapes
        Shapes as tuples of ints; an int is a shape with one dimension.

    Returns
    -------
    Size
        The common shape.

    Raises
    ------
    RuntimeError
        If two sizes of one dimension differ and neither is 1.
    """
    result: list[int] = []
    for shape in shapes:
        if not isinstance(shape, int | list | tuple):
            raise RuntimeError(
                "Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                f"{shape!r}"
            )
        sizes = [shape] if isinstance(shape, int) else list(shape)
        result = [1] * (len(sizes) - len(result)) + result
        for back, size in enumerate(reversed(sizes), 1):
            if result[-back] == 1:
                result[-back] = size
            elif size not in (1, result[-back]):
                given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape: "
                    f"{' and '.join(map(str, given))}. Reshape one."
                )
    return Size(result)


def is_tensor(obj: object) -> bool:
    """Return whether `obj` is a tensor."""
    return isinstance(obj, TensorBase)


@overridable
def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """Return the dtype of an arithmetic operation on two tensors or Python numbers.

    Tensors with dimensions have priority over 0-d tensors, and these over numbers; a lower priority
    only matters if its category (bool < int < float < complex) is higher.

    Raises
    ------
    TypeError
        For anything else; use `promote_types` for dtypes.
    """
    of_tensors: list[dtype] = []
    without_dimensions: list[dtype] = []
    of_numbers: list[int] = []
    for each in (tensor1, tensor2):
        if isinstance(each, TensorBase):
            (of_tensors if each.ndim else without_dimensions).append(each.dtype)
        elif isinstance(each, bool | int | float | complex):
            of_numbers.append(scalar_category(each))
        else:
            given = f"{type(tensor1).__name__}, {type(tensor2).__name__}"
            raise TypeError(
                f"result_type() received an invalid combination of arguments - got ({given}), but "
                "expected tensors and Python numbers. Use promote_types for dtypes."
            )
    return result_dtype(of_tensors, without_dimensions, of_numbers)


def typename(obj: object) -> str:
    """Return the name of a value's class: ``dovetail.FloatTensor`` for a float32 tensor; for a
    class or function, its own name.
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") or hasattr(obj, "__name__") else type(obj)
    name: str = getattr(named, "__qualname__", None) or named.__name__  # type: ignore[attr-defined]
    module = getattr(named, "__module__", None)
    return name if module in (None, "", "builtins") else f"{module}.{name}"
