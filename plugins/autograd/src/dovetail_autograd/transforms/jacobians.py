"""`jacrev`, `jacfwd` and `hessian`: whole Jacobians, all rows or all columns at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from dovetail_kernel import TensorBase

from ..graph.engine_ops import list_operator, operator
from .argnums import Argnums, checked_argnums, refuse_complex, replaced, selected
from .batching.mapping import vmap
from .gradients import pull_back
from .pushforward import push_forward
from .pytree import Structure, flatten, unflatten


def jacrev(
    func: Callable[..., object],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in reverse mode: fast for few outputs.

    Parameters
    ----------
    func
        Function that returns real tensors, possibly nested.
    argnums
        Index of the positional argument to differentiate with respect to, or a tuple of indices.
        Default: the first.
    has_aux
        Whether `func` returns ``(output, aux)``. The result is then ``(jacobian, aux)``. Default:
        False.
    chunk_size
        Number of rows to compute at a time, which limits memory. Default: all.

    Returns
    -------
    callable
        A function with the arguments of `func`. The Jacobian has the structure of the output, with
        the structure of the argument (or of the tuple of arguments) at each leaf. The shape of a
        leaf is the output's shape followed by the input's shape.

    Raises
    ------
    ValueError
        If `chunk_size` is not positive.
    RuntimeError
        From the returned function, for complex tensors, or if `func` returns anything but tensors.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = checked_argnums(argnums, len(args))
        refuse_complex("jacrev", flatten(selected(args, chosen))[0], "input")

        def call(*given: Any) -> Any:
            return func(*given, **kwargs)

        _, pullback, aux = pull_back(call, args, chosen, has_aux, "vjp(f, *primals)")
        outputs, inputs = pullback.outputs, pullback.inputs
        refuse_complex("jacrev", outputs, "output")

        def row(*seeds: TensorBase) -> Any:
            return tuple(flatten(pullback(seeds))[0])

        rows = vmap(row, chunk_size=chunk_size)(*basis(outputs))
        blocks = [_split(column, outputs) for column in rows]
        leaves = [
            unflatten(
                pullback.input_structure,
                [
                    _reshaped(blocks[i][o], (*output.array.shape, *each.array.shape))
                    for i, each in enumerate(inputs)
                ],
            )
            for o, output in enumerate(outputs)
        ]
        jacobian = unflatten(pullback.output_structure, leaves)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., object],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in forward mode: fast for few inputs.

    Parameters
    ----------
    func, argnums, has_aux
        As for `jacrev`.
    randomness
        Behaviour of random operators in `func`, as for `vmap`. Default: ``'error'``.

    Returns
    -------
    callable
        As for `jacrev`.

    Raises
    ------
    RuntimeError
        From the returned function, for complex tensors, or if `func` returns anything but tensors.
    NotImplementedError
        If an operator in `func` has no derivative.
    """

    @wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = checked_argnums(argnums, len(args))
        inputs, input_structure = flatten(selected(args, chosen))
        for each in inputs:
            if not isinstance(each, TensorBase):
                raise ValueError(
                    f"Thing passed to transform API must be Tensor, got {type(each)}. Select the "
                    "tensors with argnums."
                )
        refuse_complex("jacfwd", inputs, "input")
        found: list[Structure] = []

        def call(values: object) -> Any:
            return func(*replaced(args, chosen, values), **kwargs)

        def column(*tangents: TensorBase) -> Any:
            outputs, out_tangents, aux, structure = push_forward(
                "jvp(f, primals, tangents)",
                call,
                inputs,
                tangents,
                _argument(input_structure),
                False,
                has_aux,
            )
            found[:] = [structure]
            return tuple(out_tangents), tuple(outputs), aux

        columns, outputs, aux = vmap(column, out_dims=(0, None, None), randomness=randomness)(
            *basis(inputs)
        )
        refuse_complex("jacfwd", outputs, "output")
        leaves = []
        for column_, output in zip(columns, outputs, strict=True):
            blocks = _split(column_, inputs)
            leaves.append(
                unflatten(
                    input_structure,
                    [
                        _reshaped(
                            operator("movedim", "int")(block, 0, -1),
                            (*output.array.shape, *each.array.shape),
                        )
                        for block, each in zip(blocks, inputs, strict=True)
                    ],
                )
            )
        jacobian = unflatten(found[0], leaves)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., object], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of the scalar function `func`, forward over
    reverse.

    Parameters
    ----------
    func, argnums
        As for `jacrev`.

    Returns
    -------
    callable
        A function with the arguments of `func`. The result has the structure of the arguments,
        nested twice.
    """
    return jacfwd(jacrev(func, argnums), argnums)


def basis(tensors: Sequence[TensorBase]) -> list[TensorBase]:
    """Return the standard basis of the space of `tensors`: for each of them one whose first
    dimension runs over it.
    """
    sizes = [each.numel() for each in tensors]
    total = sum(sizes)
    made, start = [], 0
    for each, size in zip(tensors, sizes, strict=True):
        eye = operator("eye", "default")(total, dtype=each.dtype, device=each.device)
        part = operator("narrow", "default")(eye, 1, start, size)
        made.append(_reshaped(part, (total, *each.array.shape)))
        start += size
    return made


def _argument(structure: Structure) -> Structure:
    """Return the structure of the arguments of a function that takes a tree of `structure` as its
    only argument.
    """
    return Structure(tuple, None, (structure,))


def _split(tensor: TensorBase, parts: Sequence[TensorBase]) -> Sequence[TensorBase]:
    """Return `tensor` cut along its first dimension into as many entries as each of `parts` has
    elements.
    """
    sizes = [each.numel() for each in parts]
    return list_operator("split_with_sizes", "default")(tensor, sizes, 0)


def _reshaped(tensor: TensorBase, shape: tuple[int, ...]) -> TensorBase:
    return operator("reshape", "default")(tensor, list(shape))
