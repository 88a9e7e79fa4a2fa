"""Products of vectors, matrices and batches of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .capabilities import Capabilities
from .operands import Numbers, Precision
from .table import KernelTable

_LETTERS = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
}


def define(xp: Any, kernel: KernelTable, capabilities: Capabilities) -> None:
    """Define the kernels of this family."""
    numbers, precision, dtypes = Numbers(capabilities), Precision(capabilities), capabilities.dtypes
    halves, single = precision.halves, precision.single
    times = xp.matmul

    def product(a: Any, b: Any) -> Any:
        own = a.dtype
        if own in halves:
            return times(a.astype(single), b.astype(single)).astype(own)
        if own == xp.bool_:
            raise NotImplementedError(
                "\"addmm_impl\" not implemented for 'Bool'. Convert to a number dtype first."
            )
        return times(a, b)

    def check_dtypes(a: Any, b: Any) -> None:
        if a.dtype != b.dtype:
            names = [
                _LETTERS.get(dtypes[each.dtype].name, dtypes[each.dtype].name) for each in (a, b)
            ]
            raise RuntimeError(
                f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}. "
                "Convert one of them."
            )

    def check_matrices(a: Any, b: Any) -> None:
        if a.ndim != 2 or b.ndim != 2:
            raise RuntimeError(
                f"{'self' if a.ndim != 2 else 'mat2'} must be a matrix. Use matmul for other ranks."
            )
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                f"{b.shape[0]}x{b.shape[1]})"
            )
        check_dtypes(a, b)

    def check_batches(a: Any, b: Any) -> None:
        for name, each in (("batch1", a), ("batch2", b)):
            if each.ndim != 3:
                raise RuntimeError(f"{name} must be a 3D tensor. Use matmul for other ranks.")
        if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, "
                f"{a.shape[2]}] but got: "
                f"[{b.shape[0]}, {b.shape[1]}]."
            )
        check_dtypes(a, b)

    def check_vectors(name: str, a: Any, b: Any) -> None:
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

    def combined(self: Any, beta: Any, result: Any, alpha: Any) -> Any:
        """Return beta * self + alpha * result; a beta of 0 leaves `self` out, NaN included."""
        check_expandable(self, result.shape)
        if self.dtype != result.dtype:
            names = [dtypes[each.dtype].scalar_name for each in (self, result)]
            raise RuntimeError(
                f"self and mat2 must have the same dtype, but got {names[0]} and {names[1]}"
            )
        for name, factor in (("alpha", alpha), ("beta", beta)):
            if isinstance(factor, float) and result.dtype in precision.integral:
                raise RuntimeError(
                    f"For integral input tensors, argument {name} must not be a floating point "
                    "number."
                )
        if alpha != 1:
            result = result * numbers.like(result, alpha)
        if beta == 0:
            return result
        return xp.add(self if beta == 1 else self * numbers.like(self, beta), result)

    @kernel.named("mm")
    def mm(self: Any, mat2: Any) -> Any:
        check_matrices(self, mat2)
        return product(self, mat2)

    @kernel.named("bmm")
    def bmm(self: Any, mat2: Any) -> Any:
        check_batches(self, mat2)
        return product(self, mat2)

    def check_matrix_vector(self: Any, vec: Any) -> None:
        if self.ndim != 2 or vec.ndim != 1:
            raise RuntimeError(
                f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}. Use matmul "
                "for other ranks."
            )
        if self.shape[1] != vec.shape[0]:
            raise RuntimeError(
                f"size mismatch, got input ({self.shape[0]}), mat "
                f"({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})"
            )
        if self.dtype != vec.dtype:
            names = [dtypes[each.dtype].scalar_name for each in (vec, self, vec)]
            raise RuntimeError(
                f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, "
                f"and {names[2]}"
            )

    @kernel.named("mv")
    def mv(self: Any, vec: Any) -> Any:
        check_matrix_vector(self, vec)
        return product(self, vec)

    @kernel.named("dot")
    def dot(self: Any, tensor: Any) -> Any:
        check_vectors("dot", self, tensor)
        return product(self, tensor)

    @kernel.named("vdot")
    def vdot(self: Any, other: Any) -> Any:
        check_vectors("vdot", self, other)
        return product(xp.conjugate(self) if self.dtype in precision.complex else self, other)

    @kernel.named("addmm")
    def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        return combined(self, beta, mm(mat1, mat2), alpha)

    @kernel.named("addmv")
    def addmv(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        return combined(self, beta, mv(mat, vec), alpha)

    @kernel.named("baddbmm")
    def baddbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        return combined(self, beta, bmm(batch1, batch2), alpha)

    @kernel.named("addbmm")
    def addbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        check_batches(batch1, batch2)
        return combined(self, beta, xp.sum(product(batch1, batch2), 0, batch1.dtype), alpha)

    @kernel.helper("linear")
    def linear(input: Any, weight: Any, bias: Any) -> Any:
        return kernel.kernels["addmm"].fn(bias, input, weight.T)

    @kernel.helper("matmul")
    def matmul(self: Any, other: Any) -> Any:
        return product(self, other)


def check_expandable(array: Any, shape: Sequence[int]) -> None:
    """Refuse an addend that does not expand to the shape of the product.

    Raises
    ------
    RuntimeError
        Naming the first dimension that differs, from the last on.
    """
    lead = len(shape) - array.ndim
    for dim in range(array.ndim - 1, -1, -1):
        size = array.shape[dim]
        if lead >= 0 and size not in (1, shape[dim + lead]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[dim + lead]}) must match the existing "
                f"size ({size}) at "
                f"non-singleton dimension {dim + lead}.  Target sizes: {list(shape)}.  Tensor "
                f"sizes: {list(array.shape)}"
            )
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(shape)}) must be greater or equal to the "
            "number of dimensions in "
            f"the tensor ({array.ndim})"
        )
