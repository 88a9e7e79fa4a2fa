"""Dtypes of PyTorch that have a name here and no tensors: complex halves, floats of eight bits,
quantized integers and those of fewer bits.

They can be looked up, compared and used as keys of a table, as programs do that list what they
take. Whatever would make a tensor of one raises its `refusal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, NoReturn, TypeVar

from .dtype import COMPLEX, FLOAT, INT, dtype, float16

Native = TypeVar("Native")


class NamedDtype(dtype):
    """An element type without tensors. It is a `dtype` for ``isinstance``, and has no bit in
    signatures.

    Attributes
    ----------
    remedy
        What to use instead.
    """

    __slots__ = ("remedy",)

    remedy: str

    def __reduce__(self) -> tuple[Any, ...]:
        return named_dtype, (self.name,)

    def to_real(self) -> dtype:
        """Return the dtype of the real part: `float16` of complex halves."""
        return float16 if self.is_complex else self

    def to_complex(self) -> dtype:
        """Return a complex half dtype itself.

        Raises
        ------
        NotImplementedError
            For the others.
        """
        if self.is_complex:
            return self
        raise self.refusal()

    def refusal(self) -> NotImplementedError:
        """Return the error for a tensor of this dtype."""
        return NotImplementedError(
            f"\"{self!r}\" is a name alone: no tensor has the dtype '{self.scalar_name}'. "
            f"{self.remedy}"
        )


class AskedDtypes(dict[dtype, Native], Generic[Native]):
    """Native dtypes for dtypes that callers give; a `NamedDtype` is refused, and another that is
    missing as `known` refuses it.
    """

    def __init__(self, known: Mapping[dtype, Native]) -> None:
        super().__init__(known)
        self._known = known

    def __missing__(self, wanted: Any) -> NoReturn:
        if isinstance(wanted, NamedDtype):
            raise wanted.refusal()
        self._known[wanted]
        raise KeyError(wanted)


_HALVES: Final = "Use dovetail.complex64, the narrowest of complex numbers."
_FLOATS: Final = "Use dovetail.float16 or dovetail.bfloat16, the narrowest of floats."
_QUANTIZED: Final = "Quantized tensors are not supported: keep tensors floating."
_PARTS: Final = "Use dovetail.uint8 or dovetail.int8, the narrowest of integers."


def _define(
    name: str, scalar_name: str, remedy: str, category: int, itemsize: int = 1, signed: bool = True
) -> NamedDtype:
    return NamedDtype.define(
        name,
        scalar_name=scalar_name,
        itemsize=itemsize,
        category=category,
        is_floating_point=category == FLOAT,
        is_complex=category == COMPLEX,
        is_signed=signed,
        index=-1,
        bit=0,
        remedy=remedy,
    )


_define("complex32", "ComplexHalf", _HALVES, COMPLEX, itemsize=4)
for _name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
    _define(_name, _name.capitalize(), _FLOATS, FLOAT)
_define("float8_e8m0fnu", "Float8_e8m0fnu", _FLOATS, FLOAT, signed=False)
_define("float4_e2m1fn_x2", "Float4_e2m1fn_x2", _FLOATS, FLOAT)
for _name, _scalar, _bytes in (
    ("qint8", "QInt8", 1),
    ("quint8", "QUInt8", 1),
    ("qint32", "QInt32", 4),
    ("quint4x2", "QUInt4x2", 1),
    ("quint2x4", "QUInt2x4", 1),
):
    _define(_name, _scalar, _QUANTIZED, INT, itemsize=_bytes, signed=_name[1] != "u")
for _bits in range(1, 8):
    _define(f"uint{_bits}", f"UInt{_bits}", _PARTS, INT, signed=False)
    _define(f"int{_bits}", f"Int{_bits}", _PARTS, INT)
for _name in ("bits1x8", "bits2x4", "bits4x2", "bits8", "bits16"):
    _define(_name, _name.capitalize(), _PARTS, INT, itemsize=1 + (_name == "bits16"), signed=False)

_NAMES: Final[Mapping[str, NamedDtype]] = MappingProxyType(
    {
        **NamedDtype.members,
        "chalf": NamedDtype.members["complex32"],
        "bit": NamedDtype.members["uint1"],
    }
)
"""All of them by their names, some of which have two."""


def named_dtype(name: str) -> NamedDtype:
    """Return the dtype `name` that no tensor has.

    Raises
    ------
    KeyError
        If there is none of that name.
    """
    return _NAMES[name]
