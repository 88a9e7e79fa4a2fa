"""Selects the arguments that a transform differentiates by; checks what the function returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_kernel import TensorBase

from .pytree import flatten

Argnums = int | tuple[int, ...]


def checked_argnums(argnums: object, count: int) -> Argnums:
    """Return `argnums` counted from the front. Raises RuntimeError if `argnums` is not an int or a
    non-empty tuple of different ints, or is out of range for `count` arguments.
    """
    if not isinstance(argnums, (int, tuple)) or isinstance(argnums, bool):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError(
            "argnums must be non-empty: name at least one argument to differentiate by."
        )
    found = []
    for each in numbers:
        if not isinstance(each, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums}")
        if not -count <= each < count:
            raise RuntimeError(
                f"Got argnum={each}, but only {count} positional inputs. Only positional arguments "
                "can be selected."
            )
        found.append(each % count)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return found[0] if isinstance(argnums, int) else tuple(found)


def selected(args: Sequence[object], argnums: Argnums) -> Any:
    """Return the argument, or the tuple of arguments, that `argnums` name."""
    return args[argnums] if isinstance(argnums, int) else tuple([args[each] for each in argnums])


def replaced(args: Sequence[object], argnums: Argnums, values: Any) -> tuple[Any, ...]:
    """Return `args` with `values` in the places that `argnums` name."""
    result = list(args)
    if isinstance(argnums, int):
        result[argnums] = values
    else:
        for argnum, value in zip(argnums, values, strict=True):
            result[argnum] = value
    return tuple(result)


def split_aux(call: str, returned: object) -> tuple[Any, Any]:
    """Return the output and the auxiliary output of a function that has one. Raises RuntimeError if
    the function did not return a pair, or something in the auxiliary output is not a tensor.
    """
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise RuntimeError(
            f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for leaf in flatten(returned[1])[0]:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(
                f"Expected tensors, got unsupported type {type(leaf)}: {call} takes tensors, "
                "possibly nested, as auxiliary output. Keep anything else in a variable outside "
                "of the function."
            )
    return returned


def checked_outputs(call: str, output: object) -> tuple[list[TensorBase], Any]:
    """Return the tensors that a function returned, and how they were nested. Raises RuntimeError if
    it returned nothing, or something else than tensors.
    """
    leaves, structure = flatten(output)
    if not leaves or output is None:
        raise RuntimeError(
            f"{call}: Expected f to be a function that has non-empty output (got output = "
            f"[{output}]). Return a tensor."
        )
    for each in leaves:
        if not isinstance(each, TensorBase):
            raise RuntimeError(
                f"{call}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(each)}. Return other "
                "things as aux, with has_aux=True."
            )
    return leaves, structure


def refuse_complex(name: str, tensors: Sequence[object], which: str) -> None:
    """Raise an error for complex tensors, whose Jacobian is not defined. Raises RuntimeError with
    the position of the first.
    """
    for index, tensor in enumerate(tensors):
        if isinstance(tensor, TensorBase) and tensor.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {which}s to be real but received complex tensor at "
                f"flattened {which} idx: "
                f"{index}. Use view_as_real."
            )
