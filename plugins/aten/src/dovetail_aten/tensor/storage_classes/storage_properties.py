"""What storages say of the place of their memory."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail_kernel import DeviceLike
from dovetail_kernel import dtype as DType

from ...typing import Array


class StorageProperties:
    """The part of storages that answers questions about layouts and devices."""

    __slots__ = ()

    is_sparse = False
    """Whether the storage belongs to a sparse tensor: no storage does."""
    is_sparse_csr = False
    """Whether it belongs to a compressed sparse tensor: none does."""
    is_hpu = False
    """Whether the memory is on an HPU: there is no such backend."""

    def _line(self) -> Any:
        """Return a tensor of all elements, which shares the memory."""
        raise NotImplementedError

    def is_pinned(self, device: DeviceLike | None = "cuda") -> bool:
        """Return whether the memory is page-locked, so that copies to the device are fast."""
        pinned: bool = self._line().is_pinned()
        return pinned

    def pin_memory(self, device: DeviceLike | None = "cuda") -> Any:
        """Return the storage, or a copy in page-locked memory. Raises RuntimeError if there is no
        device that copies from such memory.
        """
        line = self._line()
        pinned = line.pin_memory()
        return self if pinned is line else self._showing(pinned)

    def _showing(self, line: Any) -> Any:
        """Return the storage of a tensor, of the class of this one."""
        return line.untyped_storage()

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the storage's class.

        Parameters
        ----------
        dtype
            The name, or the class, that the storage must have; it is returned then.

        Raises
        ------
        RuntimeError
            If the storage is of another class: a conversion copies elements, which `double()` and
            its kin do.
        """
        own = f"{DType._package}.{self._class_name()}"
        if dtype is None:
            return own
        wanted = dtype if isinstance(dtype, str) else f"{DType._package}.{dtype.__name__}"
        if wanted.rpartition(".")[2] != own.rpartition(".")[2]:
            raise RuntimeError(
                f"a storage of type {own} cannot become one of type {wanted}. Convert it by "
                "double(), long() and the like, or convert the tensor."
            )
        return self

    def _class_name(self) -> str:
        return "storage.UntypedStorage"

    def __delitem__(self, index: Array) -> NoReturn:
        """Refuse. Raises TypeError."""
        raise TypeError(
            f"{type(self).__name__} does not support deleting items. Use resize_() to make it "
            "smaller."
        )
