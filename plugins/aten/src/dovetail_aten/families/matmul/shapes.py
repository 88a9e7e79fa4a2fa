"""Products of vectors and matrices."""

from __future__ import annotations

from ...kernel_support.geometry.broadcasting import broadcast_shapes
from ...meta.meta_array import MetaArray
from ...typing import Scalar


def mm(self: MetaArray, mat2: MetaArray) -> MetaArray:
    _expect(self, 2, "self must be a matrix")
    _expect(mat2, 2, "mat2 must be a matrix")
    _same_dtype(self, mat2)
    if self.shape[1] != mat2.shape[0]:
        raise _cannot_be_multiplied(self, mat2)
    return MetaArray((self.shape[0], mat2.shape[1]), self.dtype)


def bmm(self: MetaArray, mat2: MetaArray) -> MetaArray:
    _expect(self, 3, "batch1 must be a 3D tensor")
    _expect(mat2, 3, "batch2 must be a 3D tensor")
    _same_dtype(self, mat2)
    if self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        expected = [self.shape[0], self.shape[2]]
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{list(mat2.shape[:2])}."
        )
    return MetaArray((self.shape[0], self.shape[1], mat2.shape[2]), self.dtype)


def mv(self: MetaArray, vec: MetaArray) -> MetaArray:
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}")
    _same_dtype(self, vec)
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({self.shape[0]}), mat ({_by(self)}), vec ({vec.shape[0]})"
        )
    return MetaArray(self.shape[:1], self.dtype)


def dot(
    self: MetaArray, tensor: MetaArray | None = None, *, other: MetaArray | None = None
) -> MetaArray:
    second = tensor if tensor is not None else other
    assert second is not None
    if self.ndim != 1 or second.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {second.ndim}D tensors")
    if self.dtype is not second.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{self.dtype.scalar_name} and {second.dtype.scalar_name}"
        )
    if self.shape != second.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.shape[0]}] and src "
            f"[{second.shape[0]}] to have the same "
            f"number of elements, but got {self.shape[0]} and {second.shape[0]} elements "
            "respectively"
        )
    return MetaArray((), self.dtype)


def addmm(
    self: MetaArray, mat1: MetaArray, mat2: MetaArray, *, beta: Scalar = 1, alpha: Scalar = 1
) -> MetaArray:
    return _added(self, mm(mat1, mat2))


def addmv(
    self: MetaArray, mat: MetaArray, vec: MetaArray, *, beta: object = 1, alpha: object = 1
) -> MetaArray:
    return _added(self, mv(mat, vec))


def baddbmm(
    self: MetaArray, batch1: MetaArray, batch2: MetaArray, *, beta: object = 1, alpha: object = 1
) -> MetaArray:
    return _added(self, bmm(batch1, batch2))


def addbmm(
    self: MetaArray, batch1: MetaArray, batch2: MetaArray, *, beta: Scalar = 1, alpha: Scalar = 1
) -> MetaArray:
    product = bmm(batch1, batch2)
    return _added(self, MetaArray(product.shape[1:], product.dtype))


def _added(self: MetaArray, product: MetaArray) -> MetaArray:
    _same_dtype(self, product)
    if broadcast_shapes([self.shape, product.shape]) != product.shape:
        raise RuntimeError(
            f"The expanded size of the tensor does not match: input {list(self.shape)}, product "
            f"{list(product.shape)}"
        )
    return product


def _expect(array: MetaArray, ndim: int, message: str) -> None:
    if array.ndim != ndim:
        raise RuntimeError(f"{message}, but it has {array.ndim} dimensions")


def _same_dtype(a: MetaArray, b: MetaArray) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {a.dtype.scalar_name} != "
            f"{b.dtype.scalar_name}. "
            "Convert one of them."
        )


def _by(array: MetaArray) -> str:
    return "x".join(map(str, array.shape))


def _cannot_be_multiplied(a: MetaArray, b: MetaArray) -> RuntimeError:
    return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_by(a)} and {_by(b)})")
