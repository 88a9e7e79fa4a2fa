"""The element types: fifteen `dtype` objects, compared by identity, each with its own bit in a
tensor's signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ..signature import DTYPE_MASK
from .immutable import NamedValue

BOOL, INT, FLOAT, COMPLEX = range(4)
"""The categories of promotion, low to high."""


class dtype(NamedValue):
    """An element type. The instances are module constants such as `float32`; no others can be
    created.

    Attributes
    ----------
    name
        ``'float32'``.
    scalar_name
        The name that error messages use, as in "Expected Float but found Long".
    itemsize
        Bytes per element.
    category
        0 bool, 1 integer, 2 floating point, 3 complex: which determines promotion.
    is_floating_point, is_complex, is_signed
        As the names say; `bool` counts as unsigned, complex types as signed.
    index, bit
        Position in `DTYPES`, and ``1 << index``: the one-hot bit in a tensor's signature.
    """

    __slots__ = (
        "bit",
        "category",
        "index",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "scalar_name",
    )

    scalar_name: str
    itemsize: int
    category: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    index: int
    bit: int

    def to_real(self) -> dtype:
        """Return the dtype of the real part: itself unless complex."""
        return _REAL_OF.get(self, self)

    def to_complex(self) -> dtype:
        """Return the complex dtype whose parts can represent this floating-point dtype.

        There is no half-precision complex dtype, so `float16` gives `complex64`, as `bfloat16`
        does.

        Raises
        ------
        RuntimeError
            For bool and integer dtypes.
        """
        if self.is_complex:
            return self
        if self.is_floating_point:
            return complex128 if self is float64 else complex64
        raise RuntimeError(
            f"Unknown Complex ScalarType for {self.scalar_name}: only floating-point dtypes have a "
            "complex counterpart; convert to one first, such as dovetail.float32"
        )


def _define(name: str, scalar_name: str, itemsize: int, category: int, signed: bool) -> dtype:
    index = len(dtype.members)
    return dtype.define(
        name,
        scalar_name=scalar_name,
        itemsize=itemsize,
        category=category,
        is_floating_point=category == FLOAT,
        is_complex=category == COMPLEX,
        is_signed=signed,
        index=index,
        bit=1 << index,
    )


bool_: Final = _define("bool", "Bool", 1, BOOL, signed=False)
uint8: Final = _define("uint8", "Byte", 1, INT, signed=False)
uint16: Final = _define("uint16", "UInt16", 2, INT, signed=False)
uint32: Final = _define("uint32", "UInt32", 4, INT, signed=False)
uint64: Final = _define("uint64", "UInt64", 8, INT, signed=False)
int8: Final = _define("int8", "Char", 1, INT, signed=True)
int16: Final = _define("int16", "Short", 2, INT, signed=True)
int32: Final = _define("int32", "Int", 4, INT, signed=True)
int64: Final = _define("int64", "Long", 8, INT, signed=True)
float16: Final = _define("float16", "Half", 2, FLOAT, signed=True)
bfloat16: Final = _define("bfloat16", "BFloat16", 2, FLOAT, signed=True)
float32: Final = _define("float32", "Float", 4, FLOAT, signed=True)
float64: Final = _define("float64", "Double", 8, FLOAT, signed=True)
complex64: Final = _define("complex64", "ComplexFloat", 8, COMPLEX, signed=True)
complex128: Final = _define("complex128", "ComplexDouble", 16, COMPLEX, signed=True)

_REAL_OF: Final = {complex64: float32, complex128: float64}

DTYPES: Final[tuple[dtype, ...]] = tuple(dtype.members.values())
"""Every dtype, by index."""

BY_NAME: Final[Mapping[str, dtype]] = MappingProxyType(dtype.members)
"""Every dtype by its own name: ``BY_NAME['bool']``, ``BY_NAME['float32']``."""

BY_BIT: Final[Mapping[int, dtype]] = MappingProxyType({member.bit: member for member in DTYPES})
"""Every dtype by its bit in a signature."""

ALIASES: Final[Mapping[str, dtype]] = MappingProxyType(
    {
        "half": float16,
        "float": float32,
        "double": float64,
        "short": int16,
        "int": int32,
        "long": int64,
        "cfloat": complex64,
        "cdouble": complex128,
    }
)
"""Second names that the front end exports; they shadow builtins, so no module here uses them."""


def dtype_of_signature(signature: int) -> dtype:
    """Return the dtype in the signature of a tensor."""
    return BY_BIT[signature & DTYPE_MASK]
