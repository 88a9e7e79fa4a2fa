"""Activations in few passes over cache-sized blocks, with buffers reused."""

from __future__ import annotations

import math
from typing import Any

import numpy

from dovetail_aten.families.activations.kernels.rectifiers import Rectifiers
from dovetail_aten.families.activations.kernels.sigmoids import Sigmoids
from dovetail_aten.kernel_support import Function, KernelTable
from dovetail_aten.kernel_support.capabilities import Capabilities

from .blocks import blockwise, written
from .constants import zeros_of
from .elementary import POWERS, TUNED
from .few_elements import GELU, SIGMOID, SILU, few
from .quick_functions import clip
from .threads import SHARED_FROM, get_num_threads
from .written_activations import OF_RECTIFIERS, OF_SIGMOIDS, write_threshold_gradient
from .written_gelu import write_gelu, write_gelu_gradient

_SINGLE = numpy.dtype(numpy.float32)
_FLOATS = (_SINGLE, numpy.dtype(numpy.float64))
_BOOL = numpy.dtype(bool)
_BITS = {each: numpy.dtype(f"i{each.itemsize}") for each in _FLOATS}
_ONES = {each: numpy.array(1, each) for each in _FLOATS}
_INFINITY = {each: numpy.array(math.inf, each) for each in _FLOATS}
_maximum, _where, _less_equal = numpy.maximum, numpy.where, numpy.less_equal
_logical_not, _multiply = numpy.logical_not, numpy.multiply
_add, _divide, _negative = numpy.add, numpy.divide, numpy.negative
_putmask = numpy.putmask
_FEW = 1024
"""Elements up to which to choose them one by one costs less than three passes."""
_SMALL = 4096
"""Elements up to which the cost of a call outweighs that of its passes."""


def _gelu(x: Any) -> Any:
    """Return the exact gelu of a float32 array."""
    out = _multiply(x, x)  # in the order of memory that NumPy chooses
    write_gelu(out, numpy.empty_like(out), numpy.empty_like(out), x)
    return out


def _gelu_backward(grad: Any, x: Any) -> Any:
    """Return the gradient of the exact gelu of a float32 array."""
    out = _multiply(grad, x)
    share, square, other = [numpy.empty_like(out) for _ in range(3)]
    write_gelu_gradient(out, share, square, other, grad, x)
    return out


def never_warns(function: Function) -> Function:
    """Mark a kernel that has no need of the quiet error state: see `CpuArrays.may_warn`."""
    setattr(function, "never_warns", True)  # noqa: B010  (a function's type knows no attributes)
    return function


@blockwise("prelu", writing=OF_RECTIFIERS)
class FastRectifiers(Rectifiers):
    """Rectifiers in blocks; relu by one pass."""

    def __init__(
        self, xp: Any, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(TUNED, capabilities, table)

    def hardtanh(self, x: Any, min_val: Any = -1, max_val: Any = 1) -> Any:
        """Return ``min(max(x, min_val), max_val)``, of floats by one pass."""
        if x.dtype not in _FLOATS:
            return Rectifiers.hardtanh(self, x, min_val, max_val)
        return clip(x, self._own_number(x, min_val), self._own_number(x, max_val))

    @never_warns
    def relu(self, x: Any) -> Any:
        """Return ``max(x, 0)``: against an array of zeros where it is small, by clip where it is
        large.
        """
        dtype = x.dtype
        if x.size <= _SMALL:
            if dtype is _BOOL:
                raise RuntimeError("Boolean inputs not supported for relu")
            if x.flags.c_contiguous:
                # Three times as fast as with one number.
                return _maximum(zeros_of(x.shape, dtype), x)
            return _maximum(self._zeros[dtype], x)
        # On large arrays clip is three times as fast as maximum with a number.
        return (
            clip(x, self._zeros[dtype], _INFINITY[dtype])
            if dtype in _FLOATS
            else Rectifiers.relu(self, x)
        )

    def threshold_backward(self, grad_output: Any, x: Any, threshold: Any) -> Any:
        """Return the gradient of relu by a product or by bits, of other bounds as others do."""
        if threshold == 0 and x.size <= _SMALL:
            dropped = _less_equal(x, self._zeros[x.dtype])
            if dropped.size <= _FEW and dropped.shape == grad_output.shape != ():
                made = grad_output.copy()
                _putmask(made, dropped, self._zeros[made.dtype])
                return made
            if dropped.ndim and (grad_output.dtype is _SINGLE or grad_output.dtype in _FLOATS):
                # A product with the bits takes half the time of where; one with the numbers would
                # make NaN of infinities that are dropped, and -0 of negative numbers.
                bits = grad_output.view(_BITS[grad_output.dtype])
                return _multiply(_logical_not(dropped), bits).view(grad_output.dtype)
            return _where(dropped, self._zeros[grad_output.dtype], grad_output)
        if x.size >= SHARED_FROM and get_num_threads() > 1:
            made = written(write_threshold_gradient, 0, (grad_output, x, threshold), {})
            if made is not None:
                return made
        if (
            threshold == 0
            and grad_output.dtype is _SINGLE
            and x.dtype is _SINGLE
            and x.shape == grad_output.shape
        ):
            # Choosing by bits is twice as fast as where; a product with the mask would make NaN of
            # infinity.
            mask = numpy.subtract((x <= 0).view(numpy.int8), 1, dtype=numpy.int32)
            if mask.ndim and grad_output.flags.c_contiguous:
                return numpy.bitwise_and(mask, grad_output.view(numpy.int32), out=mask).view(
                    numpy.float32
                )
        return Rectifiers.threshold_backward(self, grad_output, x, threshold)


@blockwise("log_sigmoid_forward", writing={**OF_SIGMOIDS, "exact_gelu": OF_SIGMOIDS["gelu"]})
class FastSigmoids(Sigmoids):
    """Sigmoids in blocks; gelu by the logistic function."""

    def __init__(
        self, xp: Any, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(TUNED, capabilities, table)

    def define_in(self, kernel: KernelTable) -> None:
        """Define the kernels; the exact gelu is that of this family."""
        super().define_in(kernel)
        kernel("gelu", self.gelu, fast_path=self.exact_gelu)

    @few(GELU)
    def exact_gelu(self, x: Any) -> Any:
        """Return the exact gelu, in float32 with an approximated error function."""
        is_single = x.dtype is _SINGLE and x.ndim
        return _gelu(x) if is_single else Sigmoids.exact_gelu(self, x)

    @few(SIGMOID)
    def sigmoid(self, x: Any) -> Any:
        """Return ``1 / (1 + exp(-x))``."""
        dtype = x.dtype
        if dtype not in _FLOATS or not x.ndim:
            return Sigmoids.sigmoid(self, x)
        (power, rest), made = POWERS[dtype], _negative(x)
        return _divide(_ONES[dtype], _add(power(made, made), rest, made), made)

    @few(SILU)
    def silu(self, x: Any) -> Any:
        """Return ``x * sigmoid(x)``."""
        dtype = x.dtype
        if dtype not in _FLOATS or not x.ndim:
            return Sigmoids.silu(self, x)
        (power, rest), made = POWERS[dtype], _negative(x)
        return _divide(x, _add(power(made, made), rest, made), made)

    def gelu(self, x: Any, *, approximate: str = "none") -> Any:
        """Return gelu."""
        if approximate == "none":
            return self.exact_gelu(x)
        return Sigmoids.gelu(self, x, approximate=approximate)

    def gelu_backward(self, grad_output: Any, x: Any, *, approximate: str = "none") -> Any:
        """Return the gradient of gelu, of the exact one in float32 as `gelu` is computed."""
        if (
            approximate != "none"
            or x.dtype is not _SINGLE
            or grad_output.dtype is not _SINGLE
            or grad_output.shape != x.shape
            or not x.ndim
        ):
            return Sigmoids.gelu_backward(self, grad_output, x, approximate=approximate)
        return _gelu_backward(grad_output, x)
