"""Products of vectors and matrices."""

from __future__ import annotations

from ...meta.meta_array import MetaArray
from ...meta.table import OWN_DTYPES
from ...typing import Scalar
from .kernels import check_added, check_bmm, check_dot, check_mm, check_mv


def mm(self: MetaArray, mat2: MetaArray) -> MetaArray:
    check_mm(self, mat2, OWN_DTYPES)
    return MetaArray((self.shape[0], mat2.shape[1]), self.dtype)


def bmm(self: MetaArray, mat2: MetaArray) -> MetaArray:
    check_bmm(self, mat2, OWN_DTYPES)
    return MetaArray((self.shape[0], self.shape[1], mat2.shape[2]), self.dtype)


def mv(self: MetaArray, vec: MetaArray) -> MetaArray:
    check_mv(self, vec, OWN_DTYPES)
    return MetaArray(self.shape[:1], self.dtype)


def dot(
    self: MetaArray, tensor: MetaArray | None = None, *, other: MetaArray | None = None
) -> MetaArray:
    second = tensor if tensor is not None else other
    assert second is not None
    check_dot("dot", self, second, OWN_DTYPES)
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
    check_added(self, product, OWN_DTYPES)
    return product
