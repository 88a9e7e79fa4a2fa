"""The classes of distributed tensors and device meshes, for ``isinstance`` only."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail_aten import Tensor


class DTensor(Tensor):
    """A distributed tensor; the constructor raises NotImplementedError."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError: tensors are not distributed."""
        _refuse("DTensor")

    @staticmethod
    def from_local(*args: Any, **kwargs: Any) -> NoReturn:
        """Raise NotImplementedError: tensors are not distributed."""
        _refuse("DTensor.from_local")


class DeviceMesh:
    """A mesh of processes; the constructor raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("DeviceMesh")


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what}: tensors are not split over processes. Keep one on each, with "
        "nn.parallel.DistributedDataParallel."
    )
