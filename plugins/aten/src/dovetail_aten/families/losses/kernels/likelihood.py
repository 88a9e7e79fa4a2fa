"""The negative log likelihood of classes and cross entropy, each beside its backward kernel."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from dovetail_kernel import int64, uint8
from dovetail_kernel.types import FLOAT

from ....kernel_support.capabilities import Capabilities
from ....kernel_support.family import Family, operator
from ....kernel_support.loss_reductions import MEAN, NONE
from ....kernel_support.table import KernelTable
from ....typing import Array, Namespace


def unfit_batch(rows: int, samples: int) -> ValueError:
    """Return the error for targets of another number of samples than the input has."""
    return ValueError(
        f"Expected input batch_size ({rows}) to match target batch_size ({samples}). "
        "The target has the input's shape without the classes."
    )


def check_images(x: Any, target: Any) -> None:
    """Raise an error for arguments other than images of logarithms of probabilities and of classes.
    Raises RuntimeError with PyTorch's message.
    """
    if target.ndim != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{target.ndim}. Give one class for each place."
        )
    if x.ndim != 4:
        raise RuntimeError(
            "only batches of spatial inputs supported (4D tensors), but got input of dimension: "
            f"{x.ndim}. Give (N, C, H, W)."
        )
    shape = tuple(x.shape)
    if tuple(target.shape) != (shape[0], *shape[2:]):
        raise RuntimeError(
            f"size mismatch (got input: {list(shape)} , target: {list(target.shape)}. "
            "Give one class for each place."
        )


def check_total_weight(total: Any) -> None:
    """Raise an error for anything except the weight of all samples. Raises RuntimeError with the
    shape.
    """
    if math.prod(total.shape) != 1:
        raise RuntimeError(
            "expected total_weight to be a single element tensor, but got: "
            f"{list(total.shape)}. Give that of the forward."
        )


def no_class(count: int, value: Any) -> Exception:
    """Return the error for a target that is not a class."""
    return IndexError(f"Target {int(value)} is out of bounds. There are {count} classes.")


class Likelihood(Family):
    """Losses of classes."""

    def __init__(
        self, xp: Namespace, capabilities: Capabilities, table: KernelTable | None = None
    ) -> None:
        super().__init__(xp, capabilities, table)
        floats = {each for each, dtype in self.dtypes.items() if dtype.category == FLOAT}
        self._floats = frozenset(floats)
        self._long = self.native_dtypes[int64]

    def _check(self, x: Array, target: Array, weight: Any) -> None:
        """Raise an error for inputs, targets and weights that are incompatible."""
        if not 1 <= x.ndim <= 2:
            raise RuntimeError(
                "input tensor should be 1D or 2D. Move other dimensions into the first."
            )
        if target.ndim > 1:
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported. Flatten the target."
            )
        # One sample may come with a target of one element.
        if x.ndim == 1 and target.size != 1:
            raise ValueError(
                "For 1D input, 1D target must have size 1, but got target size: "
                f"{target.size}. Give one class."
            )
        if x.ndim == 2 and tuple(target.shape) != tuple(x.shape[:1]):
            raise RuntimeError(
                f"size mismatch (got input: {list(x.shape)}, target: {list(target.shape)}). "
                "Give one class for every sample."
            )
        if self.dtypes[target.dtype] not in (int64, uint8):
            raise RuntimeError(
                "expected target dtype to be Long or Byte, but got "
                f"{self.dtypes[target.dtype].scalar_name}. Convert it."
            )
        if x.dtype not in self._floats:
            raise NotImplementedError(
                f"\"nll_loss_out_frame\" not implemented for '{self.dtypes[x.dtype].scalar_name}'. "
                "Convert to a floating-point dtype first."
            )
        self._check_weight(x, weight, x.shape[-1])

    def _check_weight(self, x: Array, weight: Array | None, count: int) -> None:
        """Raise an error for weights without one for each of `count` classes."""
        if weight is None:
            return
        if tuple(weight.shape) != (count,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {count} classes or no "
                "classes but got weight "
                f"tensor of shape: {list(weight.shape)}. Give one weight for every class."
            )
        if weight.dtype != x.dtype:
            own, other = self.dtypes[x.dtype].scalar_name, self.dtypes[weight.dtype].scalar_name
            raise RuntimeError(f"expected scalar type {own} but found {other}. Convert the weight.")

    def _chosen(
        self, classes: Any, count: int, weight: Any, ignore_index: int, own: Any
    ) -> tuple[Any, Any, Any]:
        """Return which samples count, their classes (0 for the others), and their weights (0 for
        the others).
        """
        xp = self.xp
        counted = classes != ignore_index
        classes = xp.where(counted, classes, self.numbers.like(classes, 0))
        right = xp.logical_and(classes >= 0, classes < count)
        classes = self.checked(classes, right, partial(no_class, count))
        if weight is None:
            return counted, classes, counted.astype(own)
        weights = xp.take(weight, classes, axis=0).astype(own)
        return counted, classes, xp.where(counted, weights, self.numbers.of_dtype(0, own))

    @operator("nll_loss_forward")
    def nll_loss_forward(
        self, x: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
    ) -> tuple[Any, Any]:
        """Return minus the logarithms of the probabilities of the target classes, weighted and
        reduced, and the sum of the weights.
        """
        xp = self.xp
        self._check(x, target, weight)
        own = x.dtype
        rows = x if x.ndim == 2 else xp.reshape(x, (1, -1))
        samples, count = rows.shape
        wide = self.precision.single if own in self.precision.halves else own
        counted, classes, weights = self._chosen(
            xp.reshape(target, (-1,)).astype(self._long), count, weight, ignore_index, wide
        )
        if count:
            picked = xp.take_along_axis(rows, classes[:, None], axis=1)[:, 0]
            picked = picked.astype(wide, copy=False)
            zero = self.numbers.of_dtype(0, wide)
            losses = xp.where(counted, xp.negative(picked) * weights, zero)
        else:
            losses = xp.zeros(samples, dtype=wide)
        if reduction == NONE and x.ndim == 2:
            return losses.astype(own, copy=False), xp.zeros((), dtype=own)
        total, total_weight = losses.sum() + 0.0, weights.sum()
        if reduction == MEAN:
            total = total / total_weight
        return total.astype(own, copy=False), total_weight.astype(own, copy=False)

    @operator("nll_loss_backward")
    def nll_loss_backward(
        self,
        grad_output: Array,
        x: Array,
        target: Array,
        weight: Array | None,
        reduction: int,
        ignore_index: int,
        total_weight: Array,
    ) -> Any:
        """Return the gradient of `nll_loss_forward`: minus the weight at the target classes, else
        0.
        """
        xp = self.xp
        self._check(x, target, weight)
        of_samples = reduction == NONE and x.ndim == 2
        if grad_output.size != (target.size if of_samples else 1):
            expected = (
                f"one element for each of {target.size} samples"
                if of_samples
                else "a single element"
            )
            raise RuntimeError(
                f"Expected {expected} grad_output tensor, but got: {list(grad_output.shape)}."
            )
        own, shape, count = x.dtype, x.shape, x.shape[-1]
        wide = self.precision.single if own in self.precision.halves else own
        classes = xp.reshape(target, (-1,)).astype(self._long, copy=False)
        slope = xp.negative(xp.reshape(grad_output, (-1,)).astype(wide, copy=False))
        if reduction == MEAN:
            check_total_weight(total_weight)
            slope = slope / xp.reshape(total_weight, ()).astype(wide, copy=False)
        counted, classes, weights = self._chosen(classes, count, weight, ignore_index, wide)
        slope = xp.where(counted, slope * weights, self.numbers.of_dtype(0, wide))
        slope = slope.astype(own, copy=False)
        if self.lazy:
            here = xp.equal(classes[:, None], xp.arange(count))
            return xp.reshape(xp.where(here, slope[:, None], self.numbers.of_dtype(0, own)), shape)
        key = (xp.arange(classes.shape[0]), classes)
        return xp.reshape(
            self.capabilities.index_put(
                xp.zeros((classes.shape[0], count), dtype=own), key, slope, False
            ),
            shape,
        )
