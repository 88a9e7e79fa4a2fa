"""Batch normalisation with the statistics of all processes; here, of one process."""

from __future__ import annotations

from dovetail_aten import Tensor
from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from ..module import Module
from .batch_norms import _BatchNorm


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of ``(N, C, …)``. In PyTorch, processes share their statistics; here each
    process has its own, as in PyTorch without a process group.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        As for `BatchNorm1d`.
    process_group : optional
        Accepted and ignored.

    Raises
    ------
    ValueError
        When called, for an input with fewer than two dimensions or without channels.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: object = None,
        device: DeviceLike | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: object = None) -> Module:
        """Return `module` with every batch normalisation replaced by a `SyncBatchNorm` with the
        same parameters and statistics.
        """
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for table in ("_parameters", "_buffers"):
                getattr(made, table).update(getattr(module, table))
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
