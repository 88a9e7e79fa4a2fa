"""The records of a `torch.save` zip archive: consecutive and not compressed."""

from __future__ import annotations

import struct
import zipfile
from binascii import crc32
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..byte_sources import ByteSource
from ..checked_json import ForeignFile, FormatError, shown

_LOCAL: Final = struct.Struct("<4s5H3L2H")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_END: Final = struct.Struct("<4s4H2LH")
_END_64: Final = struct.Struct("<4sQ2H2L4Q")
_LOCATOR: Final = struct.Struct("<4sLQL")
_VERSION: Final = 45
_UTF_8: Final = 0x800
_ALIGNMENT: Final = 64
_DAY: Final = 0x21  # 1980-01-01: files of equal content are equal
_PADDING_ID: Final = 0x4246
_WIDE_ID: Final = 1
_ELSEWHERE: Final = 0xFFFFFFFF
_MANY: Final = 0xFFFF


class ZipArchive:
    """The records of an archive, by name without the common prefix.

    Records neither overlap nor are compressed, so no more data than the file's size is read.

    Raises
    ------
    FormatError
        If the bytes are not such an archive.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        try:
            with zipfile.ZipFile(source.stream) as archive:
                infos = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise FormatError(f"it is a corrupt zip archive ({error})") from None
        if "constants.pkl" in [info.filename.partition("/")[2] for info in infos]:
            raise ForeignFile("it is a TorchScript archive, which holds a program")
        infos.sort(key=lambda info: info.header_offset)
        self._records: dict[str, tuple[zipfile.ZipInfo, int]] = {}
        ends = [*[info.header_offset for info in infos[1:]], source.size]
        for info, end in zip(infos, ends, strict=False):  # an empty archive has an end alone
            _check(info, end)
            name = info.filename.partition("/")[2] or info.filename
            if name in self._records:
                raise FormatError(f"the record {shown(name)} occurs twice")
            self._records[name] = info, end

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def names(self) -> list[str]:
        """Return the names of the records, in file order."""
        return list(self._records)

    def size(self, name: str) -> int:
        """Return the size of a record in bytes."""
        return self._records[name][0].file_size

    def read(self, name: str, checked: bool = True) -> Any:
        """Return the bytes of a record as a writable NumPy array; `checked` verifies their
        checksum.
        """
        if name not in self._records:
            raise FormatError(f"the record {shown(name)} is missing")
        info, end = self._records[name]
        start = info.header_offset + _LOCAL.size
        header = _LOCAL.unpack(self._source.piece(info.header_offset, start).tobytes())
        if header[0] != b"PK\3\4":
            raise FormatError(f"the record {shown(name)} has no header where it should begin")
        start += header[-2] + header[-1]
        if start + info.file_size > end:
            raise FormatError(f"the record {shown(name)} reaches into the next one")
        data = self._source.piece(start, start + info.file_size)
        # PyTorch can be told to save without checksums; these are 0 then.
        if checked and info.CRC and crc32(data) != info.CRC:
            raise FormatError(f"the record {shown(name)} is corrupt: its checksum is another one")
        return data


def _check(info: zipfile.ZipInfo, end: int) -> None:
    what = f"the record {shown(info.filename)}"
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise FormatError(f"{what} is compressed, which torch.save never does; unpack it first")
    if info.flag_bits & 1:
        raise FormatError(f"{what} is encrypted")
    if info.header_offset < 0 or info.header_offset + _LOCAL.size + info.file_size > end:
        raise FormatError(f"{what} reaches into the next one, or beyond the end of the file")


def pack_zip(records: Mapping[str, Any]) -> Iterator[memoryview | bytes]:
    """Yield the pieces of an archive of uncompressed records, aligned to 64 bytes.

    All sizes and offsets use the zip64 format.
    """
    directory: list[bytes] = []
    place = 0
    for name, content in records.items():
        data = memoryview(content).cast("B")
        encoded, checksum, size = name.encode(), crc32(data), len(data)
        sizes = struct.pack("<2H2Q", _WIDE_ID, 16, size, size)
        padding = -(place + _LOCAL.size + len(encoded) + len(sizes) + 4) % _ALIGNMENT
        extra = sizes + struct.pack("<2H", _PADDING_ID, padding) + bytes(padding)
        common = (_UTF_8, 0, 0, _DAY, checksum, _ELSEWHERE, _ELSEWHERE, len(encoded))
        header = _LOCAL.pack(b"PK\3\4", _VERSION, *common, len(extra)) + encoded + extra
        yield header
        yield data
        wide = struct.pack("<2H3Q", _WIDE_ID, 24, size, size, place)
        fields = (*common, len(wide), 0, 0, 0, 0, _ELSEWHERE)
        entry = _CENTRAL.pack(b"PK\1\2", _VERSION, _VERSION, *fields)
        directory.append(entry + encoded + wide)
        place += len(header) + size
    entries, count = b"".join(directory), len(directory)
    yield entries
    counts = (count, count, len(entries), place)
    yield _END_64.pack(b"PK\6\6", _END_64.size - 12, _VERSION, _VERSION, 0, 0, *counts)
    yield _LOCATOR.pack(b"PK\6\7", 0, place + len(entries), 1)
    yield _END.pack(b"PK\5\6", 0, 0, _MANY, _MANY, _ELSEWHERE, _ELSEWHERE, 0)
