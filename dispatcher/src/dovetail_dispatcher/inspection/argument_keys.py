"""Describes the arguments of a call: what they are, and which dispatch keys they bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dovetail_kernel import DisableTorchFunction, DispatchKeySet, TensorBase, restoring

from ..calls.plans.composition import argument_keys
from ..table.operator import Operator


@dataclass(frozen=True, slots=True)
class ArgumentKeys:
    """The dispatch keys that one argument brings.

    Attributes
    ----------
    name
        Name in the schema.
    value
        What it is, in a few words: ``float32[2, 3] on cpu``.
    keys
        Names of its dispatch keys, lowest priority first.
    """

    name: str
    value: str
    keys: tuple[str, ...]


def describe_arguments(op: Operator, values: Sequence[object]) -> tuple[ArgumentKeys, ...]:
    """Return the keys of every tensor among the bound arguments `values` of a call."""
    described = []
    for argument, value in zip(op.schema.arguments, values, strict=True):
        if not argument.is_tensor_like:
            continue
        for position, item in enumerate(value if isinstance(value, list | tuple) else [value]):
            name = (
                f"{argument.name}[{position}]" if isinstance(value, list | tuple) else argument.name
            )
            keys = _signature_key_names(item._signature) if isinstance(item, TensorBase) else ()
            described.append(ArgumentKeys(name, describe_value(item), keys))
    return tuple(described)


@lru_cache(maxsize=1024)
def _signature_key_names(signature: int) -> tuple[str, ...]:
    return key_names(argument_keys(signature))


@restoring()
def describe_value(value: object) -> str:
    """Return what `value` is in a few words: ``float32[2, 3] on cpu, requires grad``."""
    if not isinstance(value, TensorBase):
        return f"{value!r} ({type(value).__name__})"
    with DisableTorchFunction():  # the class of `value` is not asked
        shape, dtype, device, requires_grad = [read.__get__(value) for read in _READ]
    grad = ", requires grad" if requires_grad else ""
    return f"{str(dtype).rpartition('.')[2]}{list(shape)} on {device}{grad}"


_READ: Final = (TensorBase.shape, TensorBase.dtype, TensorBase.device, TensorBase.requires_grad)
"""Read past the class of the tensor: to describe one must not run the code of a subclass."""


def key_names(keys: DispatchKeySet) -> tuple[str, ...]:
    """Return the names of `keys`, lowest priority first."""
    return tuple(key.name for key in keys)
