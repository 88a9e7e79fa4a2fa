"""`finfo` and `iinfo`: the numerical limits of a dtype."""

from __future__ import annotations

from functools import cache
from math import floor, log10

from .dtype import BY_NAME, INT, bfloat16, float16, float32, float64
from .dtype import dtype as DataType
from .immutable import Immutable
from .named_dtype import NamedDtype, named_dtype
from .promotion import PYTHON_DTYPES, get_default_dtype

_MANTISSA_AND_EXPONENT_BITS = {
    float16: (10, 5),
    bfloat16: (7, 8),
    float32: (23, 8),
    float64: (52, 11),
}

_OF_EIGHT_BITS = {
    "float8_e4m3fn": (2.0**-3, 448.0, 2.0**-6),
    "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7),
    "float8_e5m2": (2.0**-2, 57344.0, 2.0**-14),
    "float8_e5m2fnuz": (2.0**-2, 57344.0, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127),
}
"""The distance from 1 to the next number, the largest number and the smallest normal one, by the
OCP 8-bit Floating Point Specification, and by Noune et al., arXiv:2206.02915, for those in ``uz``.
"""


class finfo(Immutable):
    """The limits of a floating-point dtype; of its real part for a complex one; of the default
    dtype if none is given.

    Attributes
    ----------
    bits
        Size in bits.
    eps
        Distance from 1 to the next number.
    max, min
        The largest finite number and its negative.
    smallest_normal, tiny
        The smallest positive number of full precision (two names for it).
    resolution
        The approximate decimal resolution.
    dtype
        Name of the dtype.

    Raises
    ------
    TypeError
        For a dtype that is not floating point, and for anything that is not a dtype.
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    bits: int
    dtype: str
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float

    def __new__(cls, type: DataType | None = None) -> finfo:
        return _finfo(get_default_dtype() if type is None else _require_dtype("finfo", type))

    def __reduce__(self) -> tuple[object, ...]:
        return finfo, (BY_NAME.get(self.dtype) or named_dtype(self.dtype),)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(Immutable):
    """The limits of an integer dtype.

    Attributes
    ----------
    bits
        Size in bits.
    max, min
        The largest and the smallest number.
    dtype
        Name of the dtype.

    Raises
    ------
    TypeError
        For a dtype that is not an integer type, and for anything that is not a dtype.
    """

    __slots__ = ("bits", "dtype", "max", "min")

    bits: int
    dtype: str
    max: int
    min: int

    def __new__(cls, type: DataType) -> iinfo:
        return _iinfo(_require_dtype("iinfo", type))

    def __reduce__(self) -> tuple[object, ...]:
        return iinfo, (BY_NAME[self.dtype],)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


@cache
def _finfo(type: DataType) -> finfo:
    real = type.to_real()
    if real is not type:
        return _finfo(real)  # one object, so that they are equal
    if real.name in _OF_EIGHT_BITS:
        eps, largest, smallest_normal = _OF_EIGHT_BITS[real.name]
        return finfo.make(
            bits=8,
            dtype=real.name,
            eps=eps,
            max=largest,
            min=-largest if real.is_signed else smallest_normal,
            resolution=1.0,
            smallest_normal=smallest_normal,
            tiny=smallest_normal,
        )
    if real not in _MANTISSA_AND_EXPONENT_BITS:
        if isinstance(real, NamedDtype):
            raise real.refusal()
        raise TypeError(
            f"dovetail.finfo() requires a floating point input type, not {type!r}. Use "
            "dovetail.iinfo."
        )
    mantissa, exponent = _MANTISSA_AND_EXPONENT_BITS[real]
    bias = 2 ** (exponent - 1) - 1
    largest = (2 - 2.0**-mantissa) * 2.0**bias
    smallest_normal = 2.0 ** (1 - bias)
    return finfo.make(
        bits=8 * real.itemsize,
        dtype=real.name,
        eps=2.0**-mantissa,
        max=largest,
        min=-largest,
        resolution=float(f"1e-{floor(mantissa * log10(2))}"),
        smallest_normal=smallest_normal,
        tiny=smallest_normal,
    )


@cache
def _iinfo(type: DataType) -> iinfo:
    if isinstance(type, NamedDtype):
        raise type.refusal()
    if type.category != INT:
        if type.is_floating_point or type.is_complex:
            raise TypeError(
                f"dovetail.iinfo() requires an integer input type, not {type!r}. Use "
                "dovetail.finfo."
            )
        raise TypeError(
            f"{type!r} is not supported by dovetail.iinfo; its values are False and True"
        )
    bits = 8 * type.itemsize
    smallest, largest = (
        (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if type.is_signed else (0, 2**bits - 1)
    )
    return iinfo.make(bits=bits, dtype=type.name, max=largest, min=smallest)


def _require_dtype(function: str, type: object) -> DataType:
    type = PYTHON_DTYPES.get(type, type)  # type: ignore[call-overload]
    if not isinstance(type, DataType):
        raise TypeError(
            f"{function}(): argument 'type' (position 1) must be dovetail.dtype, not "
            f"{type.__class__.__name__}; pass a dtype such as dovetail.float32"
        )
    return type
