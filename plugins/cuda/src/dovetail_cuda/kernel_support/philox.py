"""`Philox`: where a stream of random numbers stands, and the kernels that compute the numbers.

Philox4x32-10 (Salmon et al., 2011) makes 128 random bits of a counter and a key. The key is the
seed; the counter is the number of the draw and the place of the element, so that every element is
computed on its own and a draw needs no memory.
"""

from __future__ import annotations

import struct
from threading import Lock
from typing import Any, Final

import cupy
import numpy as np

from dovetail_aten.typing import Array

_STATE: Final = struct.Struct("<QQ")

DEVICE_CODE: Final = """
struct philox_bits { unsigned x, y, z, w; };

__device__ inline philox_bits philox(
    unsigned long long seed, unsigned long long draw, unsigned long long place) {
  unsigned key0 = (unsigned)seed, key1 = (unsigned)(seed >> 32);
  philox_bits c = {
    (unsigned)place, (unsigned)(place >> 32), (unsigned)draw, (unsigned)(draw >> 32)};
  for (int round = 0; round < 10; ++round) {
    unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = philox_bits{high1 ^ c.y ^ key0, low1, high0 ^ c.w ^ key1, low0};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

// Numbers of [0, 1) with `bits` bits, which are as many as the dtype can hold apart.
__device__ inline float uniform_bits(unsigned random, int bits) {
  return (random >> (32 - bits)) * exp2f(-(float)bits);
}

__device__ inline double uniform_double(unsigned high, unsigned low) {
  unsigned long long both = (unsigned long long)high << 32 | low;
  return (both >> 11) * 1.1102230246251565e-16;
}
"""
"""For kernels that draw. `philox` returns the bits of an element."""

_DRAWN: Final = "const philox_bits r = philox(seed, draw, i);"
_PARAMETERS: Final = "uint64 seed, uint64 draw"

_uniform = cupy.ElementwiseKernel(
    f"{_PARAMETERS}, int32 bits",
    "T out",
    f"{_DRAWN} out = bits > 24 ? (T)uniform_double(r.x, r.y) : (T)uniform_bits(r.x, bits);",
    "dovetail_uniform",
    preamble=DEVICE_CODE,
)
# Box and Muller: the radius of a number of (0, 1], the angle of one of [0, 1).
_normal = cupy.ElementwiseKernel(
    _PARAMETERS,
    "T out",
    f"""{_DRAWN}
    if (sizeof(T) == 8) {{
      out = sqrt(-2 * log(1 - uniform_double(r.x, r.y))) * cospi(2 * uniform_double(r.z, r.w));
    }} else {{
      out = sqrtf(-2 * logf((r.x + 1.0f) * 2.3283064e-10f)) * cospif(2 * uniform_bits(r.z, 24));
    }}""",
    "dovetail_normal",
    preamble=DEVICE_CODE,
)
_integers = cupy.ElementwiseKernel(
    f"{_PARAMETERS}, int64 low, uint64 count",
    "int64 out",
    f"""{_DRAWN}
    const unsigned long long both = (unsigned long long)r.x << 32 | r.y;
    out = (long long)((unsigned long long)low + (count ? __umul64hi(both, count) : both));""",
    "dovetail_integers",
    preamble=DEVICE_CODE,
)
_BITS: Final = {np.dtype(np.float64): 53, np.dtype(np.float32): 24, np.dtype(np.float16): 11}
_BITS_OF_BFLOAT16: Final = 8


class Philox:
    """A seed and how many draws were made from it.

    Draws are in the order of the calls, also from several threads.
    """

    __slots__ = ("_lock", "offset", "seed")

    def __init__(self, seed: int, offset: int = 0) -> None:
        self.seed, self.offset = seed, offset
        self._lock = Lock()

    def draw(self) -> tuple[Any, Any]:
        """Return the seed and the number of a new draw, as arguments of a kernel."""
        with self._lock:
            offset = self.offset
            self.offset = offset + 1
        return np.uint64(self.seed), np.uint64(offset)

    def state(self) -> bytes:
        """Return the seed and the number of draws, in 16 bytes."""
        return _STATE.pack(self.seed, self.offset)

    @classmethod
    def of_state(cls, state: bytes) -> Philox:
        """Return a stream that stands where `state` says."""
        return cls(*_STATE.unpack(state))

    def __deepcopy__(self, memo: object) -> Philox:
        return Philox(self.seed, self.offset)

    def __reduce__(self) -> tuple[Any, ...]:
        return Philox, (self.seed, self.offset)

    def uniform(self, out: Array) -> Any:
        """Fill `out` with numbers of [0, 1), and return it."""
        return _uniform(*self.draw(), _BITS.get(out.dtype, _BITS_OF_BFLOAT16), out)

    def normal(self, out: Array) -> Any:
        """Fill `out` with standard normal numbers, and return it."""
        return _normal(*self.draw(), out)

    def integers(self, low: int, high: int, out: Array) -> Any:
        """Fill `out` with integers of [low, high), and return it."""
        count = np.uint64((high - low) % (1 << 64))
        return _integers(*self.draw(), np.int64(low), count, out)
