"""The table of array kernels that the families fill, before it is registered for a backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .complete_namespace import Missing

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ArrayKernel:
    """An array kernel and its faster forms.

    Attributes
    ----------
    fn
        The kernel, with the parameters of the schema.
    fast_path
        Takes the tensor arguments alone; used when all others have their defaults.
    out_function
        Takes the tensor arguments, and ``out=``.
    general_out_function
        Takes all arguments, and ``out=``.
    """

    fn: Function
    fast_path: Function | None = None
    out_function: Function | None = None
    general_out_function: Function | None = None


@dataclass(slots=True)
class KernelTable:
    """Array kernels by operator, helpers of derivative bodies by name. A later definition replaces
    an earlier one.
    """

    kernels: dict[str, ArrayKernel] = field(default_factory=dict)
    helpers: dict[str, Function] = field(default_factory=dict)

    def __call__(
        self,
        name: str,
        fn: Function,
        *,
        fast_path: Function | None = None,
        out_function: Function | None = None,
        general_out_function: Function | None = None,
    ) -> None:
        """Define the kernel of one operator: ``kernel("exp", xp.exp)``.

        There is none if the namespace has no such function.
        """
        if isinstance(fn, Missing):
            self.kernels.pop(name, None)
            return
        out_function = None if isinstance(out_function, Missing) else out_function
        self.kernels[name] = ArrayKernel(fn, fast_path, out_function, general_out_function)
