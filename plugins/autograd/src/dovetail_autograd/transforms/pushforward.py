"""`jvp` and `linearize`: forward mode as transforms of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail_kernel import TensorBase
from dovetail_kernel.signature import GRAD

from ..graph.engine_ops import filled_like
from .argnums import checked_outputs, split_aux
from .forward_mode.dual_interpreter import JvpLevel, dual
from .gradients import GradLevel, differentiate, pull_back
from .pytree import Structure, flatten, map_leaves, unflatten
from .wrapped.levels import leaves_levels


def jvp(
    func: Callable[..., object],
    primals: object,
    tangents: object,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the output of `func` and the product of its Jacobian with `tangents`.

    Parameters
    ----------
    func
        Function that returns tensors, possibly nested.
    primals
        The tuple of its arguments: tensors, possibly nested.
    tangents
        The direction: tensors with the structure of `primals`.
    strict
        Raise an error if an output does not depend on the primals, instead of returning zeros.
        Default: False.
    has_aux
        Whether `func` returns ``(output, aux)``. Default: False.

    Returns
    -------
    tuple
        ``(output, output_tangents)``, with `has_aux` ``(output, output_tangents, aux)``.

    Raises
    ------
    RuntimeError
        If `primals` is not a tuple of tensors, if `tangents` has another structure, or if `func`
        returns anything but tensors.
    NotImplementedError
        If an operator in `func` has no derivative.
    """
    call = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{call}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat_primals, structure = flatten(primals)
    flat_tangents, tangent_structure = flatten(tangents)
    if structure != tangent_structure:
        raise RuntimeError(
            f"{call}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a "
            "tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{structure} and tangents with structure {tangent_structure}"
        )
    for name, values in (("primals", flat_primals), ("tangents", flat_tangents)):
        if not values:
            raise RuntimeError(f"{call}: Expected {name} to contain at least one Tensor.")
        for value in values:
            if not isinstance(value, TensorBase):
                raise RuntimeError(
                    f"{call}: Expected {name} to only contain Tensors, got {type(value)}"
                )
    outputs, out_tangents, aux, out_structure = push_forward(
        call, func, flat_primals, flat_tangents, structure, strict, has_aux
    )
    result = unflatten(out_structure, outputs), unflatten(out_structure, out_tangents)
    return (*result, aux) if has_aux else result


@leaves_levels
def push_forward(
    call: str,
    func: Callable[..., object],
    primals: Sequence[TensorBase],
    tangents: Sequence[TensorBase],
    structure: Structure,
    strict: bool,
    has_aux: bool,
) -> tuple[list[TensorBase], list[TensorBase], Any, Structure]:
    """Return the flat outputs of ``func(*primals)``, their tangents, the aux, and how the outputs
    were nested.
    """
    with JvpLevel() as level:
        duals = [
            dual(level, primal, tangent) for primal, tangent in zip(primals, tangents, strict=True)
        ]
        returned = func(*unflatten(structure, duals))
        output, aux = split_aux(call, returned) if has_aux else (returned, None)
        flat, out_structure = checked_outputs(call, output)
        outputs = [level.primal(each) for each in flat]
        out_tangents = []
        for each, primal in zip(flat, outputs, strict=True):
            tangent = level.tangent(each)
            if tangent is None and strict:
                raise RuntimeError(
                    f"{call[:-1]}, strict=True): The output of f is independent of the inputs. "
                    "This is not allowed "
                    "with strict=True."
                )
            out_tangents.append(filled_like(primal, 0) if tangent is None else tangent)
        both = level.results([*outputs, *out_tangents])
        outputs, out_tangents = both[: len(outputs)], both[len(outputs) :]
        aux = map_leaves(
            lambda leaf: level.primal(leaf) if isinstance(leaf, TensorBase) else leaf, aux
        )
    return outputs, out_tangents, aux, out_structure


@leaves_levels
def linearize(func: Callable[..., object], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the output of `func`, and a function that multiplies its Jacobian by tangents.

    Unlike `jvp`, it calls `func` only once for any number of tangents: the returned function
    transposes the recorded graph twice.

    Parameters
    ----------
    func
        Function that returns tensors, possibly nested.
    *primals
        Its arguments: tensors, possibly nested.

    Returns
    -------
    tuple
        ``(output, jvp_fn)``. ``jvp_fn(*tangents)`` takes tensors with the shapes and dtypes of the
        primals.

    Raises
    ------
    RuntimeError
        If `func` returns anything but tensors, or if the tangents do not match the primals.
    """
    _, structure = flatten(primals)
    output, pullback, _ = pull_back(
        func, primals, tuple(range(len(primals))), False, "linearize(f, *primals)"
    )
    with GradLevel():
        seeds = [filled_like(each, 0) for each in pullback.outputs]
        for seed in seeds:
            seed._signature |= GRAD
        rows, _ = flatten(pullback(seeds))

    def jvp_fn(*tangents: Any) -> Any:
        flat, tangent_structure = flatten(tangents)
        if tangent_structure != structure:
            raise RuntimeError(
                f"Expected the tangents {tangent_structure} to have the same argspec as the "
                f"primals {structure}"
            )
        for index, (tangent, primal) in enumerate(zip(flat, pullback.inputs, strict=True)):
            for what in ("shape", "dtype"):
                found, wanted = getattr(tangent, what, None), getattr(primal, what)
                if found != wanted:
                    raise RuntimeError(
                        f"tangent:{index} with {what} {found} in flattened pytree doesn't match "
                        f"the {what} {wanted} of "
                        "the corresponding primal."
                    )
        columns = differentiate(rows, seeds, flat, pullback.tracked, retain_graph=True)
        return unflatten(pullback.output_structure, columns)

    return output, jvp_fn
