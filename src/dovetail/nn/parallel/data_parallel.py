"""`DataParallel`, which runs its module on a single device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_kernel import Device

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs ``module`` on the device of its parameters; its state dict has the prefix ``module.``.

    Parameters
    ----------
    module : Module
        Module to run.
    device_ids : sequence, optional
        At most one device; default: the device of the parameters.
    output_device : optional
        Accepted for compatibility.
    dim : int, default 0
        The batch dimension; nothing is split.

    Raises
    ------
    NotImplementedError
        If there are several devices.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | Device] | None = None,
        output_device: int | Device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        _check_devices(device_ids)
        self.dim = dim
        self.module = module
        self.device_ids = list(device_ids or ())
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: object,
    device_ids: Sequence[int | Device] | None = None,
    output_device: int | Device | None = None,
    dim: int = 0,
    module_kwargs: Mapping[str, object] | None = None,
) -> Any:
    """Return ``module(*inputs, **module_kwargs)``; one input needs no tuple. The other arguments
    are those of `DataParallel`.
    """
    _check_devices(device_ids)
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*given, **(module_kwargs or {}))


def _check_devices(device_ids: Sequence[int | Device] | None) -> None:
    if device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError(
            f"device_ids {list(device_ids)} name {len(device_ids)} devices, but a module runs on "
            "one. Pass one of them, and move the module there."
        )
