"""`PyTorchFileReader`: the records of a file of ``torch.save``, read one by one."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any
from weakref import finalize

from dovetail_aten import Tensor, from_numpy
from dovetail_kernel import dtype, uint8

from .byte_sources import ByteSource
from .checked_json import FormatError
from .torch_format.zip_archive import ZipArchive


class PyTorchFileReader:
    """The records of a ``torch.save`` file, by name, read on access.

    Parameters
    ----------
    name_or_buffer : str, path or binary file object
        The file.

    Raises
    ------
    RuntimeError
        If the file does not exist or is not such an archive.
    """

    def __init__(self, name_or_buffer: str | PathLike[str] | IO[bytes]) -> None:
        stream: Any = name_or_buffer
        if isinstance(name_or_buffer, str | PathLike):
            try:
                stream = open(name_or_buffer, "rb")  # noqa: SIM115 - read from while this lives
            except OSError as error:
                raise RuntimeError(f"open file failed: {error}. Check the path.") from None
            finalize(self, stream.close)
        try:
            self._archive = ZipArchive(ByteSource(stream))
        except FormatError as error:
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: {error}. Give a file of "
                "torch.save, or of dovetail.save with format='torch'."
            ) from None

    def get_all_records(self) -> list[str]:
        """Return the names of the records, in file order."""
        return self._archive.names()

    def has_record(self, name: str) -> bool:
        """Return whether there is a record of this name."""
        return name in self._archive

    def get_record(self, name: str) -> bytes:
        """Return the bytes of a record. Raises RuntimeError if the record is missing or damaged."""
        data: bytes = self._read(name).tobytes()
        return data

    def get_record_size(self, name: str) -> int:
        """Return the size of a record in bytes. Raises RuntimeError if the record is missing."""
        self._check(name)
        return self._archive.size(name)

    def get_storage_from_record(self, name: str, numel: int, dtype: object) -> Tensor:
        """Return the bytes of a record as a vector.

        Parameters
        ----------
        name
            The record.
        numel
            Number of elements.
        dtype
            Dtype of the elements; any other value, such as the class `UntypedStorage`, means
            `uint8`.

        Raises
        ------
        RuntimeError
            If the record is missing or has another size.
        """
        wanted = _dtype_of(dtype)
        data = self._read(name)
        if len(data) != numel * wanted.itemsize:
            raise RuntimeError(
                f"record size ({len(data)} bytes) does not match expected size "
                f"({numel * wanted.itemsize} bytes = {numel} elements * {wanted.itemsize} "
                f"bytes/element) for dtype {wanted.scalar_name}"
            )
        return from_numpy(data).view(wanted)

    def serialization_id(self) -> str:
        """Return the serialization id of the file, or ``""``."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if name in self._archive else ""

    def _check(self, name: str) -> None:
        if name not in self._archive:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found. There are: "
                f"{', '.join(self.get_all_records())}."
            )

    def _read(self, name: str) -> Any:
        self._check(name)
        try:
            return self._archive.read(name)
        except FormatError as error:
            raise RuntimeError(f"{error}. Save the file anew.") from None


def _dtype_of(value: object) -> dtype:
    return value if isinstance(value, dtype) else uint8
