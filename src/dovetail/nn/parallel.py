"""A module over several devices, as in ``torch.nn.parallel``: here, over one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls a module on one device.

    PyTorch splits batches among several, and calls the module as it is where there is one.

    Parameters
    ----------
    module : Module
        What is called.
    device_ids : sequence, optional
        At most one device.
    output_device : optional
        Taken as PyTorch takes it; the output stays where it is.
    dim : int, default 0
        Along which PyTorch splits.

    Raises
    ------
    NotImplementedError
        For several devices.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError(
                f"DataParallel over {len(device_ids)} devices: a module is called on one. Pass one "
                "device, or none."
            )
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Return what `module` gives for `inputs`, called on one device; see `DataParallel`."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))
