"""Products of vectors, matrices and batches of matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from dovetail_kernel import dtype as DType

from ...kernel_support.checks.product_checks import check_expandable
from ...kernel_support.family import Family, helper, operator, widened
from ...typing import Array, Scalar, Shaped

_LETTERS = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
}


Dtypes: TypeAlias = Mapping[Any, DType]
"""The dtypes that those of an array library are."""


def _check_dtypes(a: Shaped, b: Shaped, dtypes: Dtypes) -> None:
    """Raise an error for factors of two dtypes."""
    if a.dtype != b.dtype:
        names = [dtypes[each.dtype].name for each in (a, b)]
        names = [_LETTERS.get(name, name) for name in names]
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}. "
            "Convert one of them."
        )


def check_mm(a: Shaped, b: Shaped, dtypes: Dtypes) -> None:
    """Raise an error for anything except matrices, and for incompatible matrices."""
    if a.ndim != 2 or b.ndim != 2:
        raise RuntimeError(
            f"{'self' if a.ndim != 2 else 'mat2'} must be a matrix. Use matmul for other ranks."
        )
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
            f"{b.shape[0]}x{b.shape[1]})"
        )
    _check_dtypes(a, b, dtypes)


def check_bmm(a: Shaped, b: Shaped, dtypes: Dtypes) -> None:
    """Raise an error for anything except batches of matrices, and for incompatible batches."""
    for name, each in (("batch1", a), ("batch2", b)):
        if each.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor. Use matmul for other ranks.")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, "
            f"{a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    _check_dtypes(a, b, dtypes)


def check_dot(name: str, a: Shaped, b: Shaped, dtypes: Dtypes) -> None:
    """Raise an error for anything except vectors, and for incompatible vectors."""
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors. Use matmul."
        )
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found "
            f"{dtypes[a.dtype].scalar_name} and "
            f"{dtypes[b.dtype].scalar_name}. Convert one of them."
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.shape[0]}] and src [{b.shape[0]}] "
            "to have the same number "
            f"of elements, but got {a.shape[0]} and {b.shape[0]} elements respectively"
        )


def check_mv(x: Shaped, vec: Shaped, dtypes: Dtypes) -> None:
    """Raise an error for a matrix and a vector that are incompatible."""
    if x.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {x.ndim}, {vec.ndim}. Use matmul "
            "for other ranks."
        )
    if x.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({x.shape[0]}), mat "
            f"({x.shape[0]}x{x.shape[1]}), vec ({vec.shape[0]})"
        )
    if x.dtype != vec.dtype:
        names = [dtypes[each.dtype].scalar_name for each in (vec, x, vec)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, "
            f"and {names[2]}"
        )


def check_added(x: Shaped, product: Shaped, dtypes: Dtypes) -> None:
    """Raise an error for an addend that does not expand to a product, or has another dtype."""
    check_expandable(x, product.shape)
    if x.dtype != product.dtype:
        names = [dtypes[each.dtype].scalar_name for each in (x, product)]
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {names[0]} and {names[1]}"
        )


class MatrixProducts(Family):
    """Products of vectors, matrices and batches of matrices."""

    def _product(self, a: Array, b: Any) -> Any:
        """Return ``a @ b``, of half precision accumulated in float32."""
        xp = self.xp
        own = a.dtype
        if own in self.precision.halves:
            wide = self.precision.wide
            return self.precision.narrow(xp.matmul(wide(a), wide(b)), own)
        if own == xp.bool_:
            raise NotImplementedError(
                "\"addmm_impl\" not implemented for 'Bool'. Convert to a number dtype first."
            )
        return xp.matmul(a, b)

    def _combined(self, x: Array, beta: Any, result: Array, alpha: Any) -> Any:
        """Return ``beta * x + alpha * result``; a beta of 0 leaves `x` out, NaN included."""
        check_added(x, result, self.dtypes)
        for name, factor in (("alpha", alpha), ("beta", beta)):
            if isinstance(factor, float) and result.dtype in self.precision.integral:
                raise RuntimeError(
                    f"For integral input tensors, argument {name} must not be a floating point "
                    "number."
                )
        if alpha != 1:
            result = result * self.numbers.like(result, alpha)
        if beta == 0:
            return result
        return self.xp.add(x if beta == 1 else x * self.numbers.like(x, beta), result)

    @operator("mm")
    def mm(self, x: Array, mat2: Array) -> Any:
        """Return the product of two matrices."""
        check_mm(x, mat2, self.dtypes)
        return self._product(x, mat2)

    @operator("bmm")
    def bmm(self, x: Any, mat2: Any) -> Any:
        """Return the products of two batches of matrices."""
        check_bmm(x, mat2, self.dtypes)
        return self._product(x, mat2)

    @operator("mv")
    def mv(self, x: Any, vec: Any) -> Any:
        """Return the product of a matrix and a vector."""
        check_mv(x, vec, self.dtypes)
        return self._product(x, vec)

    @operator("dot")
    def dot(self, x: Array, tensor: Array) -> Any:
        """Return the inner product of two vectors, neither conjugated."""
        check_dot("dot", x, tensor, self.dtypes)
        return self._product(x, tensor)

    @operator("vdot")
    def vdot(self, x: Array, other: Array) -> Any:
        """Return the inner product of two vectors, the first conjugated."""
        check_dot("vdot", x, other, self.dtypes)
        return self._product(
            self.xp.conjugate(x) if x.dtype in self.precision.complex else x, other
        )

    @operator("addmm")
    def addmm(self, x: Array, mat1: Any, mat2: Any, *, beta: int = 1, alpha: int = 1) -> Any:
        """Return ``beta * x + alpha * (mat1 @ mat2)``."""
        return self._combined(x, beta, self.mm(mat1, mat2), alpha)

    @operator("addmv")
    def addmv(
        self, x: Array, mat: object, vec: object, *, beta: object = 1, alpha: object = 1
    ) -> Any:
        """Return ``beta * x + alpha * (mat @ vec)``."""
        return self._combined(x, beta, self.mv(mat, vec), alpha)

    @operator("baddbmm")
    def baddbmm(
        self, x: Array, batch1: Array, batch2: Array, *, beta: object = 1, alpha: object = 1
    ) -> Any:
        """Return ``beta * x + alpha * (batch1 @ batch2)`` for batches of matrices."""
        return self._combined(x, beta, self.bmm(batch1, batch2), alpha)

    @operator("addbmm")
    def addbmm(
        self, x: Array, batch1: Array, batch2: Array, *, beta: Scalar = 1, alpha: Scalar = 1
    ) -> Any:
        """Return ``beta * x + alpha * sum(batch1 @ batch2)``, summed over the batches."""
        check_bmm(batch1, batch2, self.dtypes)
        products = self._product(batch1, batch2)
        total = self.xp.sum(products, axis=0, dtype=batch1.dtype)
        return self._combined(x, beta, total, alpha)

    @helper("linear")
    @widened
    def linear(self, input: Any, weight: Any, bias: Any) -> Any:
        """Return ``input @ weight.T + bias``."""
        return self.addmm(bias, input, weight.T)

    @helper("matmul")
    def matmul(self, x: Array, other: Any) -> Any:
        """Return the matrix product of two arrays."""
        return self._product(x, other)
