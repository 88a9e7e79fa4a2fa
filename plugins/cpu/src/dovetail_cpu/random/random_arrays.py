"""Random numbers of NumPy arrays: PyTorch's from a Mersenne Twister, or NumPy's own from its bit
generators, which are faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail_kernel import float32
from dovetail_kernel.typing import NativeDtype

from ..memory.memory import CpuMemory
from . import drawn_numbers
from .mersenne_twister import MersenneTwister
from .numpy_generators import generator_of_state, new_numpy_generator, state_of_generator

Array = np.ndarray[Any, Any]

_SINGLE: Final = np.dtype(np.float32)


class CpuRandom(CpuMemory):
    """What the array kernels draw. A method first asks what its source is."""

    bit_generators = ("MT19937", "PCG64", "PCG64DXSM", "SFC64", "Philox")

    def new_generator(self, seed: int, bit_generator: str = "MT19937") -> Any:
        """Return a source of random numbers for `seed`.

        Parameters
        ----------
        bit_generator
            ``"MT19937"`` draws PyTorch's numbers; another name of NumPy's, NumPy's.
        """
        if bit_generator == "MT19937":
            return MersenneTwister(seed)
        return new_numpy_generator(seed, bit_generator)

    def generator_state(self, native: Any, seed: int) -> bytes:
        """Return where a source of random numbers stands, and the seed that it started from."""
        if isinstance(native, MersenneTwister):
            with native.lock:
                return native.state(seed)
        return state_of_generator(native, seed)

    def restored_generator(self, state: bytes, like: Any) -> tuple[Any, int]:
        """Return a source of random numbers that stands where `generator_state` says, and the seed
        that it started from. Raises the errors of `MersenneTwister.restore`.
        """
        if isinstance(like, MersenneTwister):
            return like, like.restore(state)
        return generator_of_state(state, like)

    def bytes_as_array(self, state: bytes) -> Array:
        """Return the bytes of a state as an array of uint8."""
        return np.frombuffer(state, np.uint8).copy()

    def array_as_bytes(self, array: Array) -> bytes:
        """Return an array of uint8 as bytes."""
        return array.tobytes()

    def uniform(self, shape: Sequence[int], native_dtype: NativeDtype, generator: object) -> Any:
        """Return numbers in [0, 1); for half precision, numbers that it can represent."""
        source = self.source(generator)
        if not isinstance(source, MersenneTwister):
            return super().uniform(shape, native_dtype, generator)
        return drawn_numbers.uniform(source, tuple(shape), native_dtype)

    def normal(self, shape: Sequence[int], native_dtype: NativeDtype, generator: object) -> Any:
        """Return standard normal numbers; those of NumPy in float32 for half precision."""
        source = self.source(generator)
        if not isinstance(source, MersenneTwister):
            return super().normal(shape, native_dtype, generator)
        return drawn_numbers.normal(source, tuple(shape), native_dtype)

    def integers(self, low: int, high: int, shape: Sequence[int], generator: object) -> Any:
        source = self.source(generator)
        if not isinstance(source, MersenneTwister):
            return super().integers(low, high, shape, generator)
        return drawn_numbers.integers(source, tuple(shape), low, high)

    def permutation(self, n: int, generator: object) -> Any:
        source = self.source(generator)
        if not isinstance(source, MersenneTwister):
            return super().permutation(n, generator)
        return drawn_numbers.permutation(source, n)

    def _drawn(self, draw: Any, shape: Sequence[int], native_dtype: Any) -> Array:
        """Return NumPy's numbers in `shape`. It takes arguments by position faster than by
        keyword.
        """
        half = native_dtype.itemsize < _SINGLE.itemsize
        drawn: Array = draw(tuple(shape), self.native_dtypes[float32] if half else native_dtype)
        return drawn
