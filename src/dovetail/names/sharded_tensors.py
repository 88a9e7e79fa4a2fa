"""The classes of tensors whose parts lie on several processes, and of meshes of these, for
``isinstance``: there are none.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail_aten import Tensor


class DTensor(Tensor):
    """A tensor whose parts lie on several processes: making one raises NotImplementedError."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: every process holds its tensors whole."""
        _refuse("DTensor")

    @staticmethod
    def from_local(*args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: every process holds its tensors whole."""
        _refuse("DTensor.from_local")


class DeviceMesh:
    """Processes in rows and columns: making one raises NotImplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("DeviceMesh")


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what}: tensors are not split over processes. Keep one on each, with "
        "nn.parallel.DistributedDataParallel."
    )
