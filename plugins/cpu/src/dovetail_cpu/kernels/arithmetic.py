"""Scaled sums that are written in place."""

from __future__ import annotations

from typing import Any

import numpy
import numpy as np

from dovetail_aten.families import Arithmetic
from dovetail_aten.kernel_support import Capabilities, Function, KernelTable
from dovetail_aten.typing import Namespace


class FastArithmetic(Arithmetic):
    """Scaled sums that are written into an array."""

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self.add_into = self._sum_into("add_into", self.add)
        self.sub_into = self._sum_into("sub_into", self.sub)

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels, and what writes their results into an array."""
        super().define_in(kernel)
        add, subtract = self.xp.add, self.xp.subtract
        kernel(
            "add.Tensor",
            self.add,
            fast_path=add,
            out_function=add,
            general_out_function=self.add_into,
        )
        kernel(
            "sub.Tensor",
            self.sub,
            fast_path=subtract,
            out_function=subtract,
            general_out_function=self.sub_into,
        )

    def _sum_into(self, operator: str, generic: Function) -> Function:
        """Return the function that writes the sum with a scaled addend into `out`."""

        def sum_into(x: np.ndarray, other: np.ndarray, *, alpha: object, out: np.ndarray) -> Any:
            result = generic(x, other, alpha=alpha)
            if result.shape != out.shape:
                raise ValueError(f"cannot broadcast {result.shape} into {out.shape}")
            numpy.copyto(out, result)
            return out

        compiled: Function = self.capabilities.compiled(operator, sum_into)
        return compiled
