"""Batch normalization that infers its channels from the first input."""

from __future__ import annotations

from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike, int64
from dovetail_kernel import dtype as DType

from ... import parameter  # whose tensors without a shape are imported when asked for
from ...parameter import is_lazy
from ..lazy import LazyModuleMixin
from ..module import Module
from .batch_norms import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm, _NormBase


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What lazy normalisations have."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        made: Any = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = parameter.UninitializedParameter(**made)
            if bias:
                self.bias = parameter.UninitializedParameter(**made)
        if track_running_stats:
            self.running_mean = parameter.UninitializedBuffer(**made)
            self.running_var = parameter.UninitializedBuffer(**made)
            self.num_batches_tracked = aten.tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Set weights, biases and statistics as at first, once there are some."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics their shapes.

        Raises
        ------
        ValueError
            If the input has another number of dimensions.
        """
        self._check_input_dim(input)
        features = int(input.shape[self._dim_of_channels(input)])
        if not self.has_uninitialized_params():
            self.num_features = self.num_features or features
            return
        self.num_features = features
        for tensor in [*self._parameters.values(), *self._buffers.values()]:
            if is_lazy(tensor):
                tensor.materialize((features,))
        self.reset_parameters()

    def _dim_of_channels(self, input: Tensor) -> int:
        return 1


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """`BatchNorm1d` whose ``num_features`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm1d
    dims = BatchNorm1d.dims


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """`BatchNorm2d` whose ``num_features`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm2d
    dims = BatchNorm2d.dims


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """`BatchNorm3d` whose ``num_features`` is inferred from the first input."""

    cls_to_become: ClassVar[type[Module] | None] = BatchNorm3d
    dims = BatchNorm3d.dims
