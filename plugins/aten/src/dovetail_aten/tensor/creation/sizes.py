"""The sizes that a factory is given, in all their forms."""

from __future__ import annotations

from operator import index
from typing import Any, Final

from ...backend.backend_select import check_size

_SEQUENCES: Final = (tuple, list)


def whole(function: str, argument: str, value: Any) -> int:
    """Return an int that is given as such, or as what can be an index. Raises TypeError for a bool,
    and for a value that is not an index.
    """
    if value.__class__ is int:
        return value
    if isinstance(value, bool) or not _is_int(value):
        raise TypeError(
            f"{function}(): argument '{argument}' must be int, not {type(value).__name__}."
        )
    return index(value)


def shape_of(function: str, sizes: tuple[Any, ...], size: object) -> tuple[int, ...]:
    """Return a shape given as separate numbers, as one sequence, or by keyword. Raises TypeError if
    it is missing, given twice, or no shape.
    """
    if sizes and size is not None:
        raise TypeError(f"{function}() got multiple values for argument 'size'. Give it once.")
    given = sizes if size is None else size
    if size is None and len(sizes) == 1 and sizes[0].__class__ is not int:
        given = sizes[0]
    if isinstance(given, _SEQUENCES):
        for n in given:
            if n.__class__ is not int or n < 0:
                break
        else:
            if given is not sizes or sizes:
                return tuple(given)
    if size is not None:
        sizes = (size,)
    if not sizes:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    first = sizes[0]
    if first.__class__ is not int and len(sizes) == 1 and isinstance(first, list | tuple):
        sizes = tuple(first)
    try:
        if isinstance(next(iter(sizes), 0), bool):  # as PyTorch, which looks at the first one
            raise TypeError
        shape = tuple([index(n) for n in sizes])
    except TypeError:
        wrong = next(iter([n for n in sizes if not _is_int(n)]), sizes[0])
        raise TypeError(
            f"{function}(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(wrong).__name__}. Give ints."
        ) from None
    if shape and min(shape) < 0:
        check_size(function, shape)
    return shape


def _is_int(value: Any) -> bool:
    """Return whether a value can be an index: classes and arrays have ``__index__`` and still may
    not.
    """
    try:
        index(value)
    except TypeError:
        return False
    return True
