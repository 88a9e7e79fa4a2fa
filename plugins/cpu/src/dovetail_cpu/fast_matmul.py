"""Matrix products as NumPy computes them fastest: by BLAS, and with the fewest steps before it is
called.
"""

from __future__ import annotations

from typing import Any

import numpy

from dovetail_aten.array_kernels import KernelTable, Numbers
from dovetail_aten.array_kernels.capabilities import Capabilities

_SINGLE = numpy.dtype(numpy.float32)
_BLAS = frozenset(
    map(numpy.dtype, (numpy.float32, numpy.float64, numpy.complex64, numpy.complex128))
)


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    numbers = Numbers(capabilities)
    generic_mm, generic_mv, generic_dot = (
        kernel.kernels["mm"].fn,
        kernel.kernels["mv"].fn,
        kernel.kernels["dot"].fn,
    )
    generic_addmm = kernel.kernels["addmm"].fn

    def define_product(name: str, generic: Any, ndim: int, other_ndim: int) -> None:
        @kernel.named(name)
        def product(self: Any, other: Any) -> Any:
            # ndarray.dot takes a third of the time of `@` on small matrices.
            if (
                (dtype := self.dtype) is other.dtype
                and (dtype is _SINGLE or dtype in _BLAS)
                and self.ndim == ndim
                and other.ndim == other_ndim
            ):
                try:
                    return self.dot(other)
                except ValueError:
                    pass
            return generic(self, other)

    define_product("mm", generic_mm, 2, 2)
    define_product("mv", generic_mv, 2, 1)
    define_product("dot", generic_dot, 1, 1)

    generic_linear = kernel.helpers["linear"]
    add = numpy.add

    @kernel.helper("linear")
    def linear(input: Any, weight: Any, bias: Any) -> Any:
        dtype = input.dtype
        if dtype is weight.dtype and dtype is bias.dtype and (dtype is _SINGLE or dtype in _BLAS):
            try:
                result = input.dot(weight.T)
                return add(result, bias, out=result)
            except ValueError:
                pass
        return generic_linear(input, weight, bias)

    @kernel.named("addmm")
    def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        dtype = mat1.dtype
        if (
            beta != 1
            or dtype is not mat2.dtype
            or dtype is not self.dtype
            or (dtype is not _SINGLE and dtype not in _BLAS)
            or mat1.ndim != 2
            or mat2.ndim != 2
        ):
            return generic_addmm(self, mat1, mat2, beta=beta, alpha=alpha)
        try:
            result = mat1.dot(mat2)
        except ValueError:
            return generic_addmm(self, mat1, mat2, beta=beta, alpha=alpha)
        if alpha != 1:
            numpy.multiply(result, numbers.of_dtype(alpha, dtype), out=result)
        try:
            return numpy.add(result, self, out=result)
        except ValueError:
            return generic_addmm(self, mat1, mat2, beta=beta, alpha=alpha)
