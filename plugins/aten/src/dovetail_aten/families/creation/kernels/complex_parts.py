"""Complex numbers made of real ones: complex, polar."""

from __future__ import annotations

from typing import Any

from dovetail_dispatcher.calls import broadcast_error
from dovetail_kernel import complex64, complex128, dtype, float32, float64

from ....kernel_support.family import Family, operator
from ....kernel_support.geometry.broadcasting import broadcast_shapes
from ....typing import Array

WHOLE = {float32: complex64, float64: complex128}
"""The complex dtype whose parts are of a dtype."""


def whole_dtype(first: dtype, second: dtype) -> dtype:
    """Return the dtype of complex numbers made of parts of two dtypes. Raises RuntimeError if they
    differ, or are not of numbers that complex ones are made of here.
    """
    if first not in WHOLE or (second is not first and second not in WHOLE):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{first.scalar_name} and {second.scalar_name}. Convert them to float32 or float64: "
            "there are no complex halves."
        )
    if first is not second:
        raise RuntimeError(
            f"Expected object of scalar type {first.scalar_name} but got scalar type "
            f"{second.scalar_name} for second argument. Convert one."
        )
    return WHOLE[first]


class ComplexParts(Family):
    """Complex numbers made of two real ones."""

    @operator("complex")
    def complex(self, real: Array, imag: Array) -> Any:
        """Return the numbers with these real and imaginary parts."""
        xp = self.xp
        whole = whole_dtype(self.dtypes[real.dtype], self.dtypes[imag.dtype])
        if real.shape != imag.shape:
            mismatch = broadcast_error([real.shape, imag.shape])
            if mismatch is not None:
                raise mismatch
            shape = broadcast_shapes([real.shape, imag.shape])
            real = self.capabilities.expand(real, shape)
            imag = self.capabilities.expand(imag, shape)
        pairs = self.capabilities.contiguous(xp.stack([real, imag], axis=-1))
        made = self.capabilities.reinterpret(pairs, self.native_dtypes[whole])[..., 0]
        return self.in_order(made, real, imag)

    @operator("polar")
    def polar(self, abs: Array, angle: Array) -> Any:
        """Return the numbers of these lengths and angles."""
        xp = self.xp
        whole_dtype(self.dtypes[abs.dtype], self.dtypes[angle.dtype])
        if abs.shape != angle.shape:
            mismatch = broadcast_error([abs.shape, angle.shape])
            if mismatch is not None:
                raise mismatch
        kernels = self.table.kernels
        cosine, sine = kernels["cos"].fn(angle), kernels["sin"].fn(angle)
        made = self.complex(xp.multiply(abs, cosine), xp.multiply(abs, sine))
        return self.in_order(made, abs, angle)
