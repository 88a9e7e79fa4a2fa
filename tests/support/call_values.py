"""What random calls are made of: tensors of every dtype with hard values, in every memory order,
described so that any library can make them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
WIDE_UNSIGNED = ("uint16", "uint32", "uint64")
"""Which PyTorch stores, but hardly computes in."""
DTYPES = ("bool", *UNSIGNED, *SIGNED, *FLOATS, *COMPLEXES)
OFTEN = (*["float32"] * 8, *["float64"] * 3, *["int64"] * 3, *["bool"] * 2, "complex64")

LAYOUTS = ("transposed", "stepped", "offset", "expanded")
SHAPES = ((), (0,), (1,), (3,), (2, 3), (2, 3), (3, 3), (2, 1, 3), (0, 3), (4, 2, 3), (5,), (17,))
_LIMITS = {
    "float16": (65504.0, 6e-8, 6.104e-05),
    "bfloat16": (3.3895314e38, 1e-40, 1.1754944e-38),
    "float32": (3.4028235e38, 1e-45, 1.1754944e-38),
    "float64": (1.7976931348623157e308, 5e-324, 2.2250738585072014e-308),
}
"""The greatest number of each dtype, the least positive one, and the least normal one."""
TOLERANCES = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 3e-5,
    "complex64": 1e-4,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}
"""How far results of a dtype may lie apart, relative to their size."""


def name_of(value: Any) -> str:
    """Return the name that a dtype, layout or memory format has in both libraries."""
    return str(value).rpartition(".")[2]


@dataclass(frozen=True)
class Name:
    """A dtype, layout or memory format, by its name; ``cpu`` is the device."""

    name: str

    def of(self, lib: Any) -> Any:
        return lib.device("cpu") if self.name == "cpu" else getattr(lib, self.name)

    def __repr__(self) -> str:
        return "'cpu'" if self.name == "cpu" else f"lib.{self.name}"


@dataclass(frozen=True)
class TensorValue:
    """A tensor; the numbers of bfloat16 are kept in float32."""

    dtype: str
    values: np.ndarray[Any, Any] = field(compare=False)
    layout: str = "contiguous"
    requires_grad: bool = False

    def of(self, lib: Any) -> Any:
        """Return the tensor of a library."""
        made = _laid_out(lib, self.values, self.layout)
        if self.dtype == "bfloat16":
            made = _laid_out(lib, self.values, self.layout, lib.bfloat16)
        return made.detach().requires_grad_(True) if self.requires_grad else made

    def __repr__(self) -> str:
        grad = ", requires_grad=True" if self.requires_grad else ""
        order = "" if self.layout == "contiguous" else f", {self.layout}"
        shape = "" if self.values.size else f", shape={self.values.shape}"
        return f"tensor({self.values.tolist()}, {self.dtype}{shape}{order}{grad})"


def described(lib: Any, value: Any) -> Any:
    """Return an argument of a library as one that any library can make."""
    if isinstance(value, lib.Tensor):
        dtype = name_of(value.dtype)
        numbers = np.array(value.detach().tolist(), carrier(dtype)).reshape(tuple(value.shape))
        return TensorValue(dtype, numbers, "contiguous", value.requires_grad)
    if isinstance(value, lib.dtype | lib.memory_format | lib.layout):
        return Name(name_of(value))
    if isinstance(value, lib.device):
        return Name("cpu")
    if isinstance(value, list | tuple):
        return type(value)([described(lib, each) for each in value])
    return value


def _laid_out(lib: Any, values: Any, layout: str, dtype: Any = None) -> Any:
    def made(array: Any) -> Any:
        tensor = lib.from_numpy(np.array(array, order="C")).clone()
        return tensor if dtype is None else tensor.to(dtype)

    if values.ndim:
        if layout == "transposed":
            return made(values.T).permute(tuple(range(values.ndim))[::-1])
        if layout == "stepped":
            return made(np.repeat(values, 2, -1))[..., ::2]
        if layout == "offset":
            return made(np.concatenate([values, values]))[len(values) :]
        if layout == "expanded" and len(values):
            return made(values[:1]).expand(values.shape)
    return made(values)


def carrier(dtype: str) -> Any:
    """Return the dtype of NumPy that holds the numbers of a dtype."""
    return np.dtype("float32" if dtype == "bfloat16" else dtype)


def as_dtype(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """Return an array in the carrier of a dtype; of bfloat16 with its numbers."""
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and not dtype.startswith("complex"):
            array = array.real
        if array.dtype.kind == "f" and carrier(dtype).kind in "iu":
            info = np.iinfo(carrier(dtype))
            array = np.clip(np.nan_to_num(array), float(info.min) / 2, float(info.max) / 2)
        made = array.astype(carrier(dtype))
        if dtype == "bfloat16":
            made = rounded_to_bfloat16(made)
    return made


def rounded_to_bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return float32 numbers whose lower half is zero."""
    bits = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
    kept = np.where(np.isnan(array.reshape(-1)), bits | 0x400000, bits) & np.uint32(0xFFFF0000)
    return kept.view(np.float32).reshape(array.shape)


def hard_numbers(dtype: str) -> list[Any]:
    """Return the numbers of a dtype at which operators are special."""
    if dtype == "bool":
        return [True, False]
    if dtype in SIGNED or dtype in UNSIGNED:
        limits = np.iinfo(dtype)
        small = [0, 1, 2, 3, 5, 7] + ([-1, -2, -3, -7] if dtype in SIGNED else [])
        return [*small, int(limits.min), int(limits.max), int(limits.max) // 2 + 1]
    if dtype in COMPLEXES:
        parts = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 2.5, -3.0]
        return [complex(a, b) for a in parts for b in parts]
    greatest, least, normal = _LIMITS[dtype]
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, greatest, -greatest, least, -least, normal]
    return [*special, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 0.25, 20.0, -90.0]


def plain_numbers(dtype: str, r: random.Random, count: int) -> list[Any]:
    """Return ordinary numbers."""
    if dtype == "bool":
        return [r.random() < 0.5 for _ in range(count)]
    if dtype in SIGNED or dtype in UNSIGNED:
        return [r.randint(0 if dtype in UNSIGNED else -4, 5) for _ in range(count)]
    reals = [round(r.uniform(-3, 3), 3) for _ in range(2 * count)]
    if dtype in COMPLEXES:
        return [complex(*reals[2 * i : 2 * i + 2]) for i in range(count)]
    return reals[:count]


def random_values(dtype: str, shape: tuple[int, ...], r: random.Random) -> np.ndarray[Any, Any]:
    """Return numbers of a dtype, a part of the time hard ones."""
    count = int(np.prod(shape, dtype=int))
    numbers = plain_numbers(dtype, r, count)
    if r.random() < 0.5:
        hard = hard_numbers(dtype)
        share = r.choice([0.3, 1.0])
        numbers = [r.choice(hard) if r.random() < share else each for each in numbers]
    made = np.empty(count, carrier(dtype))
    for place, number in enumerate(numbers):
        made[place] = number
    return as_dtype(made, dtype).reshape(shape)


def random_dtype(r: random.Random) -> str:
    return r.choice(OFTEN if r.random() < 0.5 else DTYPES)


def random_layout(r: random.Random) -> str:
    return "contiguous" if r.random() < 0.65 else r.choice(LAYOUTS)


def random_tensor(
    r: random.Random, dtype: str, shape: tuple[int, ...], *, grad: float = 0.3
) -> TensorValue:
    """Return a tensor of a dtype and shape with random numbers."""
    inexact = dtype in FLOATS or dtype in COMPLEXES
    values, layout = random_values(dtype, shape, r), random_layout(r)
    if layout == "expanded" and shape and shape[0]:
        values = np.broadcast_to(values[:1], shape)
    return TensorValue(dtype, values, layout, inexact and r.random() < grad)


NUMBERS = (
    *[0, 1, 2, -1, 3, 0.5, -2.5, 1.0, 2.0, -0.0, 0.0, 1.5, True, False, 1 + 1j, 0j, 0.3],
    *[np.nan, np.inf, -np.inf, 127, 300, -1000, 2**31, 1e10, 70000.0, 1e-3],
)


def random_scalar(r: random.Random) -> Any:
    """Return a Python number."""
    return r.choice(NUMBERS)
