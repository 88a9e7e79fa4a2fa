"""Elementwise operators: the cpu's kernel on every chunk, one task for each, however much it
computes.
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np

from dovetail_aten.backends import KernelTable
from dovetail_dispatcher.table import registry

from ..blockwise import elementwise
from ..cpu_calls import arrays_among, cpu_call, cpu_kernel


def define(_xp: object, kernel: KernelTable, _capabilities: object) -> None:
    """Define the kernels of all elementwise operators in a table."""
    for name in list(kernel.kernels):
        base, _, overload = name.partition(".")
        if registry.find_or_throw(f"aten::{base}", overload).kind == "pointwise":
            kernel(name, Pointwise(name))


class Pointwise:
    """The array kernel of an elementwise operator."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the lazy result, in the shape that the arguments broadcast to."""
        dtypes, several = self._dtypes(args, kwargs)
        if not several:
            return self._part(args, kwargs, dtypes, None)
        return tuple([self._part(args, kwargs, dtypes, place) for place in range(len(dtypes))])

    def _part(self, args: Any, kwargs: Any, dtypes: Any, part: int | None) -> Any:
        call, arrays = cpu_call(self.name, args, kwargs, dtypes, part)
        return elementwise(call, *arrays, dtype=dtypes[part or 0])

    def _dtypes(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], bool]:
        """Return the dtypes of the results, and whether they are several: those that the kernel
        gives for single elements. It refuses what it would refuse of the whole.
        """
        np.broadcast_shapes(*[each.shape for each in arrays_among([args, kwargs])])
        with np.errstate(all="ignore"):
            found = cpu_kernel(self.name)(
                *map(_single, args), **{key: _single(each) for key, each in kwargs.items()}
            )
        several = isinstance(found, tuple)
        return tuple([each.dtype for each in (found if several else (found,))]), several


def _single(value: object) -> Any:
    return np.ones((1,) * value.ndim, value.dtype) if isinstance(value, da.Array) else value
