"""The interpreter of calls on batched tensors: one call of the operator's batching rule, or one call per entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dovetail_dispatcher.user_warning import warn_user
from dovetail_kernel.tensor_base import TensorBase

from ..calls import operator
from .arrays import BatchedArray, is_wrapped, wrapped
from .levels import Level
from .wrapped_calls import decomposition, map_tensors, present, run_decomposed, tensors_in


@dataclass(frozen=True, slots=True)
class VmapInfo:
    """What a batching rule is told of the vmap that it works for.

    Attributes
    ----------
    batch_size
        The number of entries.
    randomness
        ``'error'``, ``'different'`` or ``'same'``: what random operators are to do.
    """

    batch_size: int
    randomness: str


class VmapLevel(Level):
    """One `vmap` in force.

    Parameters
    ----------
    batch_size
        The number of entries.
    randomness
        What random operators are to do. Default: ``'error'``.
    """

    __slots__ = ("info",)

    def __init__(self, batch_size: int, randomness: str = "error") -> None:
        super().__init__()
        self.info = VmapInfo(batch_size, randomness)

    def wrap(self, tensor: TensorBase, dim: int = 0) -> TensorBase:
        """Return `tensor`, whose dimension `dim` is the batch, as a tensor without that dimension."""
        if dim:
            tensor = operator("movedim", "int")(tensor, dim, 0)
        return wrapped(BatchedArray(tensor, self))

    def unwrap(self, tensor: TensorBase) -> tuple[TensorBase, int | None]:
        """Return the physical tensor of `tensor`, and its batch dimension: None if it has none at this level."""
        if is_wrapped(tensor) and tensor.array.level is self:
            return tensor.array.physical, 0
        return tensor, None

    def interpret(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the call by the operator's batching rule; else by its decomposition; else entry by entry."""
        if not self.is_alive:
            raise RuntimeError(
                f"{op.name()} was called on a tensor of a vmap that was left already. Return the tensor from the "
                "function that is mapped, instead of keeping it elsewhere."
            )
        rule = op._operator.batching_rule
        if rule is None:
            kernel = decomposition(op)
            if kernel is not None:
                return run_decomposed(kernel, op, args, kwargs)
            return present(op, args, kwargs, self.batched(self.loop(op, args, kwargs), 0))
        in_dims, _ = map_tensors(lambda each: self.unwrap(each)[1], _without_values(args), {})
        physical_args, physical_kwargs = map_tensors(lambda each: self.unwrap(each)[0], args, kwargs)
        outputs, out_dims = rule(self.info, in_dims, *physical_args, **physical_kwargs)
        return present(op, args, kwargs, self.batched(outputs, out_dims))

    def batched(self, outputs: Any, dims: Any) -> Any:
        """Return physical outputs, with their batch dimensions, as batched arrays; one without a batch as it is."""
        if isinstance(outputs, TensorBase):
            if dims is None:
                return outputs
            return BatchedArray(operator("movedim", "int")(outputs, dims, 0) if dims else outputs, self)
        if isinstance(outputs, (list, tuple)):
            each = dims if isinstance(dims, (list, tuple)) else [dims] * len(outputs)
            return [self.batched(output, dim) for output, dim in zip(outputs, each, strict=True)]
        return outputs

    def loop(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the outputs of the call for every entry, stacked along dimension 0."""
        warn_user(
            f"There is a performance drop because we have not yet implemented the batching rule for {op.name()}. "
            "Register one: dovetail.library.register_vmap."
        )
        select = operator("select", "int")
        results = []
        for index in range(self.info.batch_size):

            def entry(tensor: TensorBase, index: int = index) -> TensorBase:
                physical, dim = self.unwrap(tensor)
                result: TensorBase = physical if dim is None else select(physical, dim, index)
                return result

            entry_args, entry_kwargs = map_tensors(entry, args, kwargs)
            results.append(op(*entry_args, **entry_kwargs))
        return _stacked(results)


def _without_values(args: Sequence[Any]) -> list[Any]:
    """Return the positional arguments with None for those that are no tensors: they have no batch dimension."""
    kept: list[Any] = []
    for value in args:
        if isinstance(value, TensorBase):
            kept.append(value)
        elif isinstance(value, (list, tuple)) and any(True for _ in tensors_in([value], {})):
            kept.append([each if isinstance(each, TensorBase) else None for each in value])
        else:
            kept.append(None)
    return kept


def _stacked(results: Sequence[Any]) -> Any:
    first = results[0]
    if isinstance(first, TensorBase):
        return operator("stack", "default")(list(results), 0)
    if isinstance(first, (list, tuple)):
        return type(first)([_stacked(column) for column in zip(*results, strict=True)])
    return first
