"""Arithmetic written in place: scaled sums, which every optimizer needs, and a way around a defect
of NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable, Numbers
from dovetail_aten.array_kernels.capabilities import Capabilities

_FACTORS = 256


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    numbers = Numbers(capabilities)

    def define_sum(name: str, ufunc: Any) -> None:
        generic = kernel.kernels[name]
        multiply = numpy.multiply
        factors: dict[tuple[float, Any], Any] = {}

        def into_any(self: Any, other: Any, *, alpha: Any, out: Any) -> Any:
            dtype = self.dtype
            factor = factors.get((alpha, dtype))
            if factor is not None:
                return ufunc(self, multiply(other, factor), out=out)
            if alpha.__class__ is float and alpha and dtype.kind == "f":
                if len(factors) >= _FACTORS:
                    factors.clear()
                factors[alpha, dtype] = factor = numbers.of_dtype(alpha, dtype)
                return ufunc(self, multiply(other, factor), out=out)
            result = generic.fn(self, other, alpha=alpha)
            if result.shape != out.shape:
                raise ValueError(f"cannot broadcast {result.shape} into {out.shape}")
            numpy.copyto(out, result)
            return out

        kernel(name, generic.fn, plain=generic.plain, into=generic.into, into_any=into_any)

    define_sum("add.Tensor", numpy.add)
    define_sum("sub.Tensor", numpy.subtract)
    generic_negative = kernel.kernels["neg"]
    negative = numpy.negative

    def negative_into(self: Any, *, out: Any) -> Any:
        # NumPy 2.4 computes ``negative(x, out=x)`` wrongly for some strides.
        if out.flags.c_contiguous:
            return negative(self, out=out)
        numpy.copyto(out, negative(self))
        return out

    kernel("neg", generic_negative.fn, plain=generic_negative.plain, into=negative_into)
