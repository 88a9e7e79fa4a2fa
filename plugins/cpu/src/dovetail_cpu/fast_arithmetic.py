"""Arithmetic written in place: scaled sums, which every optimizer needs."""

from __future__ import annotations

from typing import Any

import numpy

from dovetail_aten.array_kernels import Function, KernelTable
from dovetail_aten.array_kernels.arithmetic import Arithmetic
from dovetail_aten.array_kernels.capabilities import Capabilities

_FACTORS = 256
_multiply, _copyto = numpy.multiply, numpy.copyto


class FastArithmetic(Arithmetic):
    """Scaled sums, written into an array that there is."""

    def __init__(
        self, xp: Any, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        self.add_into = self._sum_into(numpy.add, self.add)
        self.sub_into = self._sum_into(numpy.subtract, self.sub)

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

    def _sum_into(self, ufunc: Any, generic: Function) -> Function:
        """Return the function that writes the sum with a scaled addend into `out`."""
        factors: dict[tuple[float, Any], Any] = {}
        of_dtype = self.numbers.of_dtype

        def sum_into(x: Any, other: Any, *, alpha: Any, out: Any) -> Any:
            dtype = x.dtype
            factor = factors.get((alpha, dtype))
            if factor is not None:
                return ufunc(x, _multiply(other, factor), out=out)
            if alpha.__class__ is float and alpha and dtype.kind == "f":
                if len(factors) >= _FACTORS:
                    factors.clear()
                factors[alpha, dtype] = factor = of_dtype(alpha, dtype)
                return ufunc(x, _multiply(other, factor), out=out)
            result = generic(x, other, alpha=alpha)
            if result.shape != out.shape:
                raise ValueError(f"cannot broadcast {result.shape} into {out.shape}")
            _copyto(out, result)
            return out

        return sum_into
