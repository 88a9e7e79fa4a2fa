"""What the families of linear algebra share: matrices one by one, functions of LAPACK, and what an
array namespace raises for matrices that fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any

from dovetail_kernel import dtype, int32
from dovetail_kernel.typing import NativeDtype

from ....kernel_support.family import Family
from ....typing import Array
from .matrix_checks import LinAlgError, failure


class Matrices(Family):
    """A family of operators of matrices and batches of matrices."""

    def _dtype(self, x: Array) -> dtype:
        """Return the dtype of an array."""
        return self.dtypes[x.dtype]

    def _adjoint(self, x: Any) -> Any:
        """Return the conjugate transposes of matrices."""
        turned = x.swapaxes(-2, -1)
        return self.xp.conjugate(turned) if x.dtype in self.precision.complex else turned

    def _zeros(self, shape: Sequence[int], own: dtype = int32) -> Any:
        """Return new zeros; of int32, as LAPACK's infos and pivots are, unless told otherwise."""
        return self.xp.zeros(tuple(shape), dtype=self.native_dtypes[own])

    def _triangle(self, x: Any, upper: bool, offset: int = 0) -> Any:
        """Return matrices with zeros below their diagonal `offset`, or above it."""
        xp = self.xp
        rows, columns = xp.arange(x.shape[-2])[:, None], xp.arange(x.shape[-1])[None, :]
        kept = columns - rows >= offset if upper else columns - rows <= offset
        return xp.where(kept, x, self.numbers.like(x, 0))

    def _eye(self, rows: int, columns: int, native_dtype: NativeDtype) -> Any:
        """Return ones on the diagonal of a matrix of zeros."""
        return self.xp.eye(rows, columns, dtype=native_dtype)

    def _lapack(self, name: str, operator: str, *arrays: Any) -> Callable[..., Any]:
        """Return a function of LAPACK for the dtype of `arrays`."""
        return self._found("linalg.get_lapack_funcs", name, operator, arrays)

    def _blas(self, name: str, operator: str, *arrays: Any) -> Callable[..., Any]:
        """Return a function of BLAS for the dtype of `arrays`."""
        return self._found("linalg.get_blas_funcs", name, operator, arrays)

    def _found(
        self, finder: str, name: str, operator: str, arrays: Sequence[Array]
    ) -> Callable[..., Any]:
        """Return what a function of SciPy finds for the dtypes of `arrays`, which is kept."""
        kept: dict[Any, Callable[..., Any]] = self._functions
        key = (name, *[each.dtype for each in arrays])
        function = kept.get(key)
        if function is None:
            function = kept[key] = self.scipy(finder, operator)((name,), arrays)[0]
        return function

    @cached_property
    def _functions(self) -> dict[Any, Callable[..., Any]]:
        return {}

    def _one_by_one(
        self, function: Callable[..., Sequence[object]], batch: Sequence[int], *operands: Any
    ) -> list[Any]:
        """Return the results of `function` of every matrix of a batch that is not empty, stacked.

        The operands have the dimensions of the batch in front.
        """
        xp, ahead = self.xp, len(batch)
        if not ahead:
            return [xp.asarray(result) for result in function(*operands)]
        rows = [xp.reshape(x, (math.prod(batch), *x.shape[ahead:])) for x in operands]
        found = [function(*each) for each in zip(*rows, strict=True)]
        stacked = [xp.stack([xp.asarray(one) for one in each]) for each in zip(*found, strict=True)]
        return [xp.reshape(each, (*batch, *each.shape[1:])) for each in stacked]

    def _linalg(self, name: str) -> Callable[..., Any]:
        """Return a function of the namespace's `linalg`, which raises for matrices that fail."""
        function: Callable[..., Any] = getattr(self.xp.linalg, name)
        return function if self._raises else self._raising(function)

    @cached_property
    def _raises(self) -> bool:
        """Whether the namespace raises for matrices that fail, as NumPy does. Others, as JAX,
        leave NaN and go on. Lazy ones raise when a chunk is computed.
        """
        if self.lazy:
            return True
        try:
            self.xp.linalg.cholesky(-self.xp.eye(1))
        except Exception as error:
            if not self._is_failure(error):
                raise
            return True
        return False

    def _raising(self, function: Callable[..., object]) -> Callable[..., Any]:
        """Return a function that raises where results are not finite.

        NumPy finds no eigenvalues in symmetric matrices of NaN either, and raises nothing.
        """
        of_nan = function.__name__ in ("eigh", "eigvalsh")

        @wraps(function)
        def run(x: Array, *args: Any, **kwargs: Any) -> Any:
            results = function(x, *args, **kwargs)
            found = results if isinstance(results, tuple) else (results,)
            if self._are_finite(*found) or (of_nan and not self._are_finite(x)):
                return results
            raise LinAlgError(f"{function.__name__}: a result is not finite")

        return run

    def _are_finite(self, *arrays: Any) -> bool:
        return all([bool(self.xp.all(self.xp.isfinite(each))) for each in arrays])

    def _is_failure(self, error: Exception) -> bool:
        """Return whether an error is the one that the namespace raises for matrices that fail."""
        return type(error).__name__ == "LinAlgError"

    def _or_failure(
        self,
        name: str,
        reason: str,
        function: Callable[..., object],
        x: Array,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Return ``function(x, ...)``; the namespace's error becomes PyTorch's, which names the
        first matrix of the batch that fails.
        """
        try:
            return function(x, *args, **kwargs)
        except Exception as error:
            if not self._is_failure(error):
                raise
            batch = x.shape[:-2]
            infos = [
                self._fails(function, each, *args, **kwargs)
                for each in self.xp.reshape(x, (math.prod(batch), *x.shape[-2:]))
            ]
            if not self.lazy and not self._are_finite(x):
                reason = "nonfinite" if reason == "svd" else reason
            raise failure(name, reason, infos if any(infos) else [1], batch) from error

    def _fails(self, function: Callable[..., object], x: Array, *args: Any, **kwargs: Any) -> int:
        """Return 1 if a function fails for one matrix, else 0."""
        try:
            function(x, *args, **kwargs)
        except Exception as error:
            if self._is_failure(error):
                return 1
            raise
        return 0

    def _check_infos(self, name: str, reason: str, info: Array) -> None:
        """Raise the error of the first matrix that LAPACK gives an info of, if there is one."""
        infos = [int(each) for each in self.xp.reshape(info, (-1,))]
        if any(infos):
            raise failure(name, reason, infos, info.shape)
