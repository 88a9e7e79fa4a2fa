"""`associative_scan`: all partial results of an associative function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd.transforms import pytree, vmap

from .scan import slices_of

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[..., object],
    xs: object,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """Return what an associative function makes of the first slice, of the first two, and so on.

    Pairs of neighbours are combined at once, then pairs of these: a logarithm of calls.

    Parameters
    ----------
    combine_fn
        Takes two slices, without `dim`, and returns what is like one. It is called within `vmap`.
    xs
        A tensor, or containers of tensors of one size along `dim`.
    dim
        The dimension along which slices are combined.
    reverse
        Whether to begin with the last slice. Default: False.
    combine_mode
        "pointwise" or "generic": one here, on every device.

    Returns
    -------
    tensors
        As `xs`, of the same shapes.

    Raises
    ------
    ValueError
        If `combine_fn` is not a function, or `combine_mode` is another word.
    RuntimeError
        If `xs` has no slices, or `combine_fn` returns another structure or other shapes.
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves, structure = slices_of(combine_fn, xs, dim)
    count = len(leaves)

    def combined(*pair: Any) -> tuple[Any, ...]:
        first, second = (pytree.unflatten(structure, each) for each in (pair[:count], pair[count:]))
        made, its_structure = pytree.flatten(combine_fn(first, second))
        if its_structure != structure:
            raise RuntimeError(
                f"combine_fn should return the structure {structure}, as `xs`, but got "
                f"{its_structure}."
            )
        return tuple(made)

    together = vmap(combined)

    def combine(first: list[Tensor], second: list[Tensor]) -> list[Tensor]:
        made = list(together(*first, *second))
        for each, other in zip(made, second, strict=True):
            if each.shape != other.shape or each.dtype is not other.dtype:
                raise RuntimeError(
                    "combine_fn should return tensors of the shapes and dtypes of the slices, "
                    f"but made {tuple(each.shape[1:])} {each.dtype} of "
                    f"{tuple(other.shape[1:])} {other.dtype}."
                )
        return made

    ordered = [each.flip(0) for each in leaves] if reverse else leaves
    found = _partial_results(combine, ordered)
    back = [each.flip(0) for each in found] if reverse else found
    return pytree.unflatten(structure, [each.movedim(0, dim) for each in back])


def _partial_results(combine: Callable[..., list[Tensor]], xs: list[Tensor]) -> list[Tensor]:
    """Return the results along dimension 0: those of pairs, and between them one slice more."""
    count = len(xs[0])
    if count == 1:
        return xs
    pairs = combine([each[:-1:2] for each in xs], [each[1::2] for each in xs])
    odd = _partial_results(combine, pairs)
    if count == 2:
        return [aten.cat([first[:1], last]) for first, last in zip(xs, odd, strict=True)]
    before = [each[: (count - 1) // 2] for each in odd]
    even = combine(before, [each[2::2] for each in xs])
    even = [aten.cat([first[:1], each]) for first, each in zip(xs, even, strict=True)]
    return [_interleaved(first, second) for first, second in zip(even, odd, strict=True)]


def _interleaved(even: Tensor, odd: Tensor) -> Tensor:
    """Return the slices of both in turn; `even` has as many as `odd`, or one more."""
    both: Tensor = aten.stack([even[: len(odd)], odd], 1).flatten(0, 1)
    return both if len(even) == len(odd) else aten.cat([both, even[-1:]])
